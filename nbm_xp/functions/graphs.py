"""What turns a recorded computation into a function of arrays, and into its gradients.

The names and their options are Theano's, as natural_bm and Keras use them; the work is the tape's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp import tape

__all__ = ["function", "gradients"]

_HARMLESS = ("accept_inplace", "allow_input_downcast", "mode", "profile", "rebuild_strict")


def function(
    inputs: Sequence[tape.Tensor],
    outputs: Any,
    updates: Any = (),
    name: str | None = None,
    **kwargs: Any,
) -> tape.Function:
    """Compile a recorded computation into a function of arrays.

    Parameters
    ----------
    inputs : list of Tensor
        Placeholders, in the order of the arguments.
    outputs : Tensor, list of Tensor, or None
        What it returns: an array, a list of them, or an empty list.
    updates : mapping or iterable of (Variable, Tensor)
        New values for variables. All are computed from the old ones and set together, after the outputs.
    name : str, optional
        A name for error messages.
    **kwargs
        ``givens`` (a mapping or pairs: Tensors and what to put in their place) and ``on_unused_input``
        (``'ignore'``, ``'warn'`` or ``'raise'``) are honoured. Arguments are always cast to the dtype of their
        placeholder, so ``allow_input_downcast`` changes nothing; nor do ``mode``, ``profile``, ``accept_inplace`` and
        ``rebuild_strict``, which say how Theano compiles. ``no_default_updates`` is taken if it is false: random draws
        draw anew at every call.

    Returns
    -------
    Function
        It takes arrays, numbers or lists, and returns arrays of the library that it ran on.

    Raises
    ------
    TypeError
        For an option that is not known, an update of what is no variable, a wrong number of arguments or of axes.
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
    """Differentiate a recorded number with respect to Tensors it was computed from.

    Parameters
    ----------
    loss : Tensor
        Without axes.
    variables : Tensor, or sequence of Tensors
        Variables, placeholders, or anything recorded on the way.
    keep_dtype : bool
        Whether a gradient has the dtype of its variable, even where `loss` was computed in a wider one.

    Returns
    -------
    Tensor, or list of Tensor
        One gradient for one variable, a list for several. Gradients are Tensors: they can be differentiated again.

    Raises
    ------
    TypeError
        If `loss` is no Tensor without axes.
    ValueError
        If it does not depend on a variable.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> x = variable(3.0)
    >>> gradients(x * x, x).eval()
    array(6., dtype=float32)
    """
    return tape.gradients(loss, variables, keep_dtype=keep_dtype)
