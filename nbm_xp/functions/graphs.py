"""Compilation and differentiation of recorded computations; updates of variables.

The names and their options are Theano's, as natural_bm and Keras use them; `nbm_xp.tape` implements them. An update is
a pair of a variable and its new value. All updates of a function are computed from the old values, after its outputs,
and set together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbm_xp import tape
from nbm_xp.namespace import asarray, host_namespace, to_numpy
from nbm_xp.tape.graph import reachable

from .sparse import SparseTensor
from .variables import as_variable

__all__ = [
    "NumpyFunction", "function", "gradients", "gradients_or_none", "moving_average_update", "update", "update_add",
    "update_sub",
]  # fmt: skip

_HARMLESS = ("accept_inplace", "allow_input_downcast", "mode", "profile", "rebuild_strict")


def function(
    inputs: Sequence[tape.Tensor], outputs: Any, updates: Any = (), name: str | None = None, **kwargs: Any
) -> tape.Function:
    """Compile a recorded computation into a function of arrays.

    Parameters
    ----------
    inputs : list of Tensor
        Placeholders, in the order of the arguments.
    outputs : Tensor, list of Tensor, or None
        Outputs. The function returns an array, a list of arrays, or, for None, an empty list.
    updates : mapping or iterable of (Variable, Tensor)
        New values of variables. All are computed from the old values and set together, after the outputs.
    name : str, optional
        Name for error messages.
    **kwargs
        ``givens`` (a mapping, or pairs, of Tensors and their replacements) and ``on_unused_input`` (``'ignore'``,
        ``'warn'`` or ``'raise'``) are supported. ``allow_input_downcast`` has no effect, as arguments are always cast
        to the dtype of their placeholder; nor do ``mode``, ``profile``, ``accept_inplace`` and ``rebuild_strict``,
        Theano's options of compilation. ``no_default_updates`` must be false: random numbers are drawn anew at every
        call.

    Returns
    -------
    Function
        Callable that accepts arrays, numbers or lists, and returns arrays of the library that it ran on.

    Raises
    ------
    TypeError
        If an option is unknown, an update is not of a variable, or the number of arguments or axes is wrong.
    ValueError
        If a placeholder is missing from `inputs`, or a variable is updated twice.

    Examples
    --------
    >>> from nbm_xp.functions.creation import placeholder, variable
    >>> x, total = placeholder(ndim=1), variable(0.0)
    >>> add = function([x], total * 1, updates=[(total, total + x[0])])
    >>> add([5.0]), add([1.0]), total.get_value()
    (array(0., dtype=float32), array(5., dtype=float32), array(6., dtype=float32))
    """
    givens = kwargs.pop("givens", None)
    unused = kwargs.pop("on_unused_input", "ignore")
    if kwargs.pop("no_default_updates", False):
        raise TypeError("no_default_updates must be false: a random draw takes its next state whenever it is drawn")
    unknown = [key for key in kwargs if key not in _HARMLESS]
    if unknown:
        known = ", ".join(("givens", "on_unused_input", "no_default_updates", *_HARMLESS))
        raise TypeError(f"function got an unexpected keyword argument {unknown[0]!r}; it takes {known}")
    return tape.function(inputs, outputs, updates or None, givens, name, unused)


def gradients(loss: tape.Tensor, variables: Any, *, keep_dtype: bool = True) -> Any:
    """Differentiate a recorded scalar with respect to Tensors that it was computed from.

    Parameters
    ----------
    loss : Tensor
        Scalar to differentiate.
    variables : Tensor, or sequence of Tensors
        Variables, placeholders or intermediate Tensors.
    keep_dtype : bool
        Whether a gradient has the dtype of its variable, even if `loss` was computed in a wider dtype.

    Returns
    -------
    Tensor, or list of Tensor
        One gradient for one variable, a list for several. They are Tensors and can be differentiated again.

    Raises
    ------
    TypeError
        If `loss` is not a scalar Tensor.
    ValueError
        If `loss` does not depend on one of the variables.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> x = variable(3.0)
    >>> gradients(x * x, x).eval()
    array(6., dtype=float32)
    """
    return tape.gradients(loss, variables, keep_dtype=keep_dtype)


def gradients_or_none(loss: tape.Tensor, variables: Any) -> list[Any]:
    """Return the gradients of a recorded scalar, or of the sum of a recorded array, with None for unrelated variables.

    Parameters
    ----------
    loss : Tensor
        Tensor to differentiate, with any number of axes.
    variables : Tensor, or sequence of Tensors
        Variables, placeholders or intermediate Tensors.

    Returns
    -------
    list of Tensor or None
        None for a variable that the loss does not depend on.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> x, y = variable([1.0, 2.0]), variable(3.0)
    >>> [None if g is None else g.eval().tolist() for g in gradients_or_none(x * x, [x, y])]
    [[2.0, 4.0], None]
    """
    wanted: list[tape.Tensor] = list(variables) if isinstance(variables, (list, tuple)) else [variables]
    for label, value in (("loss", loss), *(("variables", x) for x in wanted)):
        if not tape.is_tensor(value):
            raise TypeError(f"{label} must be recorded, a Tensor, got {type(value).__name__}")
    total = tape.namespace.sum(loss) if loss.ndim else loss
    used = set(reachable([total.node]))
    found = iter(tape.gradients(total, [x for x in wanted if x.node in used], disconnected="zero"))
    return [next(found) if x.node in used else None for x in wanted]


def _by_variable(updates: Any) -> dict[Any, Any]:
    if isinstance(updates, Mapping):
        return dict(updates)
    pairs = list(updates) if isinstance(updates, (list, tuple)) else [updates]
    for pair in pairs:
        if not (isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], tape.Variable)):
            raise TypeError(f"updates must be pairs of a variable and its new value, got {pair!r}")
    return dict(pairs)


class NumpyFunction:
    """A compiled function that takes its arguments in one list and returns a list of NumPy arrays.

    Parameters
    ----------
    inputs : list of Tensor or SparseTensor
        Placeholders.
    outputs : list of Tensor
        Outputs of the function.
    updates : sequence of pairs, optional
        Variables and their new values. If a variable occurs several times, the last value is used.
    name : str
        Name for error messages.
    **kwargs
        Other options of `function`.

    Raises
    ------
    TypeError
        If `inputs` or `outputs` is not a list or tuple, an update is not a pair, or a keyword is unknown.

    Examples
    --------
    >>> from nbm_xp.functions.creation import placeholder
    >>> x = placeholder((None,))
    >>> NumpyFunction([x], [x * 2])([[1.0, 2.0]])
    [array([2., 4.], dtype=float32)]
    """

    def __init__(self, inputs: Any, outputs: Any, updates: Any = None, name: str = "function", **kwargs: Any) -> None:
        for label, value in (("inputs", inputs), ("outputs", outputs)):
            if not isinstance(value, (list, tuple)):
                raise TypeError(f"{label} must be a list or tuple of Tensors, got {type(value).__name__}")
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        leaves = [leaf for x in self.inputs for leaf in (x.inputs if isinstance(x, SparseTensor) else [x])]
        dense = [value.to_dense() if isinstance(value, SparseTensor) else value for value in self.outputs]
        self._run = function(leaves, dense, _by_variable(updates or ()), name, **kwargs)

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Run the function on a list of arrays, one for each input."""
        if not isinstance(inputs, (list, tuple)):
            raise TypeError(f"inputs must be a list or tuple of arrays, got {type(inputs).__name__}")
        if len(inputs) != len(self.inputs):
            raise TypeError(f"{self._run.name} takes {len(self.inputs)} inputs, got {len(inputs)}")
        arrays: list[Any] = []
        for x, value in zip(self.inputs, inputs, strict=True):
            value = tape.evaluate(value) if tape.is_tensor(value) else value
            arrays += x.feed(value) if isinstance(x, SparseTensor) else [value]
        return [to_numpy(value) for value in self._run(*arrays)]


def update(x: tape.Variable, new_x: Any) -> tuple[tape.Variable, Any]:
    """Return an update that sets a variable, for the `updates` of `function`.

    Parameters
    ----------
    x : Variable
        Variable to update.
    new_x : Tensor, array or number
        New value, computed from the old values.

    Returns
    -------
    tuple
        The variable and its new value.

    Raises
    ------
    TypeError
        If `x` is not a variable.

    Examples
    --------
    >>> from nbm_xp.tape import function
    >>> from nbm_xp.functions.creation import variable
    >>> x = variable(1.0)
    >>> _ = function([], [], updates=[update(x, 5.0)])()
    >>> x.get_value()
    array(5., dtype=float32)
    """
    return as_variable(x, "update"), new_x


def update_add(x: tape.Variable, increment: Any) -> tuple[tape.Variable, Any]:
    """Return an update that adds to a variable; see `update`.

    Parameters
    ----------
    x : Variable
        Variable to update.
    increment : Tensor, array or number
        Value to add.

    Returns
    -------
    tuple
        The variable and its new value.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> update_add(variable(1.0), 2.0)[1].eval()
    array(3., dtype=float32)
    """
    return as_variable(x, "update_add"), x + increment


def update_sub(x: tape.Variable, decrement: Any) -> tuple[tape.Variable, Any]:
    """Return an update that subtracts from a variable; see `update`.

    Parameters
    ----------
    x : Variable
        Variable to update.
    decrement : Tensor, array or number
        Value to subtract.

    Returns
    -------
    tuple
        The variable and its new value.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> update_sub(variable(1.0), 2.0)[1].eval()
    array(-1., dtype=float32)
    """
    return as_variable(x, "update_sub"), x - decrement


def moving_average_update(
    x: tape.Variable, value: Any, momentum: float, *, precision: str = "float64"
) -> tuple[tape.Variable, Any]:
    """Return an update of an exponential moving average; see `update`.

    Parameters
    ----------
    x : Variable
        Moving average.
    value : Tensor, array or number
        New value to average.
    momentum : float
        Weight of the old average.
    precision : str
        Dtype to which ``1 - momentum`` is rounded.

    Returns
    -------
    tuple
        The variable and its new value, ``x + (value - x) * (1 - momentum)``.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> moving_average_update(variable(1.0), 2.0, momentum=0.75)[1].eval()
    array(1.25, dtype=float32)
    """
    share = float(asarray(1.0 - momentum, host_namespace(), precision))
    average = as_variable(x, "moving_average_update")
    return average, average - (average - value) * share  # average first: some arrays do not defer to a Tensor
