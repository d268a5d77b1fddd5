"""Compiled functions: a graph with its inputs, outputs and updates, run on whatever library the arrays are of.

The library is that of the arguments, variables and constants together; NumPy arrays among arrays of another library
are converted to it, two other libraries are an error. A plan is made once for each library.
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

from nbm_xp.namespace import (
    array_namespace,
    asarray,
    brought,
    default_namespace,
    host_namespace,
    is_array,
    is_lazy,
    kernel,
    library_name,
    running_dtype,
    running_namespace,
)
from nbm_xp.namespace.compiling import at_home, compiled, how_run, is_traced
from nbm_xp.namespace.memory import unshared

from .batches import Batches, batch_axes
from .graph import CONSTANT, PLACEHOLDER, VARIABLE, Node, Result, reachable
from .lengths import Length
from .loops.run import automatic_updates
from .plans.plan import Exclusive, compile_plan, described_plan, may_share
from .plans.writer import PlanWriter
from .printing import described
from .standard.data_types import cast as as_kind
from .tensor import Tensor, as_tensor
from .variable import Variable, checked_updates, pairs_of

__all__ = ["Function", "function"]


def _checked_givens(givens: Any) -> dict[Node, Node]:
    """What is to be put in the place of what, as nodes."""
    found = {key.node: _replacement(key, value).node for key, value in pairs_of(givens, "givens")}
    _check_no_circle(found)
    return found


def _check_no_circle(givens: Mapping[Node, Node]) -> None:
    for key, value in givens.items():
        if value in reachable(value.inputs, (), givens):
            raise ValueError(f"givens must not define {key.name or key!r} by itself")


def _replacement(key: Tensor, value: Any) -> Tensor:
    tensor = as_tensor(value)
    if tensor.ndim != key.ndim:
        raise TypeError(f"givens must keep the number of axes: {key!r} has {key.ndim}, its replacement {tensor.ndim}")
    return as_kind(tensor, key.dtype)


def _report_unused(unused: Sequence[Node], action: str) -> None:
    """Warn of inputs that nothing depends on, or raise."""
    if not unused:
        return
    message = f"inputs that no output or update depends on: {', '.join(n.name or repr(n) for n in unused)}"
    if action == "raise":
        raise ValueError(message)
    warnings.warn(message, stacklevel=3)


@dataclass(slots=True)
class _Route:
    """How to run for one combination of array types: the library, its plan, and what to convert on the way.

    `executor` is what runs the plan: itself, or the library's compiler. `compiles` says that the library compiles
    functions, so that values may stand for arrays while it does; `in_blocks`, that the last call ran block by block.
    """

    xp: ModuleType
    plan: Callable[..., tuple[Any, ...]]
    executor: Callable[..., tuple[Any, ...]]
    dtypes: list[Any]
    convert: list[int]
    compiles: bool
    in_blocks: bool = False


class Function:
    """A compiled function; made by `function`."""

    def __init__(
        self,
        inputs: Sequence[Tensor],
        outputs: Any,
        updates: Sequence[tuple[Variable, Tensor]],
        givens: Mapping[Node, Node],
        name: str | None,
        axes: Mapping[int, int] | None = None,
        combine: Any = None,
    ) -> None:
        self.name = name
        self.inputs = [tensor.node for tensor in inputs]
        self._single = not isinstance(outputs, (list, tuple))
        self._nothing = outputs is None
        items = [] if outputs is None else [outputs] if self._single else list(outputs)
        self._outputs: list[Result] = [_as_result(item) for item in items]
        self._givens = givens
        roots = [*self._outputs, *(value.node for _, value in updates)]
        explicit = {variable for variable, _ in updates}
        automatic = automatic_updates(reachable(roots, self.inputs, givens))
        updates = [*updates, *((v, t) for v, t in automatic.items() if v not in explicit)]
        self._targets = [variable for variable, _ in updates]
        self._exclusive = Exclusive(variable.node for variable in self._targets)
        self._results = [*self._outputs, *(value.node for _, value in updates)]
        leaves = reachable(self._results, self.inputs, givens)
        given = set(self.inputs)
        variables = [n for n in leaves if n.op is VARIABLE and n not in given]
        constants = [n for n in leaves if n.op is CONSTANT and n not in given]
        missing = [n for n in leaves if n.op is PLACEHOLDER and n not in given]
        if missing:
            names = ", ".join(n.name or described(n, "Tensor") for n in missing)
            raise ValueError(
                f"inputs must hold every placeholder that the outputs need; missing: {names}. A value that depends on "
                "placeholders comes from function(inputs, outputs), called with arrays for them"
            )
        self._leaves = [*self.inputs, *variables, *constants]
        self._variables: list[Variable] = [node.payload for node in variables]
        self._constants = [node.payload for node in constants]
        self._default = default_namespace()
        self._routes: dict[tuple[builtins.type, ...], _Route] = {}
        self._scalars = [p for p, r in enumerate(self._results) if isinstance(r, Node) and not r.shape]
        self._shapes = [_expected(position, node) for position, node in enumerate(self.inputs)]
        count = len(self._outputs)
        shared = may_share(self._results, givens)
        self._shared = [p for p in shared if p < count or not self._targets[p - count].is_state]  # which stay at home
        self._batches = None
        if axes is not None:
            if self._targets:
                raise ValueError("batch_axis cannot be kept: a function with updates or random draws runs undivided")
            self._batches = Batches(self.inputs, axes, self._leaves, self._results, self._givens, combine)

    def __call__(self, *args: Any) -> Any:
        """Run on arrays, one for each input."""
        if not self._targets:
            return self._run(args)
        with self._exclusive:
            return self._run(args)

    def _run(self, args: Sequence[Any]) -> Any:
        route, arrays = self._prepared(args)
        if self._batches is not None:
            route.in_blocks = self._batches.applies(route.xp, arrays)
            if route.in_blocks:
                return self._finish(self._batches.run(route.xp, arrays), route, arrays)
        return self._finish(route.executor(*arrays), route, arrays)

    def _prepared(self, args: Sequence[Any]) -> tuple[_Route, list[Any]]:
        """How arguments are computed with, and all arrays that it takes, checked and converted."""
        if len(args) != len(self.inputs):
            raise TypeError(f"{self.name or 'function'} takes {len(self.inputs)} arguments, got {len(args)}")
        arrays = [
            arg if is_array(arg) else self._from_python(arg, node) for arg, node in zip(args, self.inputs, strict=True)
        ]
        for array, expected in zip(arrays, self._shapes, strict=True):
            if array.shape != expected[-1]:
                _check(array, *expected)
        arrays += [variable.value for variable in self._variables]
        arrays += self._constants
        types = tuple(map(type, arrays))
        route = self._routes.get(types)
        if route is None:
            route = self._routes[types] = self._make_route(arrays)
        for position in route.convert:
            dtype = self.inputs[position].dtype if position < len(self.inputs) else None
            arrays[position] = brought(arrays[position], route.xp, dtype)
        for position, dtype in enumerate(route.dtypes):
            if arrays[position].dtype != dtype:
                arrays[position] = asarray(arrays[position], route.xp, dtype)
        return route, arrays

    def unchecked(self, *args: Any) -> Any:
        """The function for a loop that calls it with arrays of the same types, dtypes and shapes as these.

        Where it has inputs and outputs alone, and nothing is converted, its plan is called without checks, and what it
        returns may lie in the memory of arguments; else it is the function itself.
        """
        route, arrays = self._prepared(args)
        is_plain = not (self._targets or self._scalars) and self._batches is None and len(arrays) == len(args)
        same = is_plain and not self._single and all(given is kept for given, kept in zip(args, arrays, strict=True))
        return route.executor if same else self

    def _finish(self, values: Sequence[Any], route: _Route, arrays: Sequence[Any]) -> Any:
        count, xp = len(self._outputs), route.xp
        if self._targets and route.compiles and is_traced(values):
            raise TypeError(
                f"{self.name or 'function'} updates {', '.join(map(repr, self._targets))}, which it cannot inside "
                "another function that is being compiled: give it no updates there, and draw no random numbers"
            )
        results = list(values)
        for position in self._scalars:
            results[position] = xp.asarray(results[position])
        for position in self._shared:  # an output is nobody's else, a variable's value none of the caller's arrays
            given = len(self.inputs)
            others = [*arrays[given:], *results[:position], *results[count:]] if position < count else arrays[:given]
            results[position] = unshared(results[position], [*others, *self._constants])
        for variable, value in zip(self._targets, results[count:], strict=True):
            if route.compiles and variable.is_state:
                value = at_home(value, variable.library)
            variable.replace_value(value)
        if self._nothing:
            return []
        return results[0] if self._single else results[:count]

    def source(self) -> str:
        """The Python source of what runs, with the functions of the library that variables and constants are of.

        Examples
        --------
        >>> from nbm_xp.tape import function, placeholder
        >>> x = placeholder((None,))
        >>> "a0 * a0" in function([x], x * x).source()
        True
        """
        held = [variable.value for variable in self._variables if not variable.is_state]
        xp = running_namespace([*held, *self._constants], self._default)
        return PlanWriter(self._leaves, self._results, xp, dict(self._givens), is_lazy(xp)).source()

    def explain(self) -> str:
        """Say which executor ran, a line for each combination of arrays that the function was called with.

        Returns
        -------
        str
            Empty before the first call.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.tape import function, placeholder
        >>> x = placeholder((None,), dtype="float64")
        >>> doubled = function([x], x * 2.0)
        >>> _ = doubled(np.ones(3))
        >>> print(doubled.explain())
        numpy: a plan of 1 statement
        """
        return "\n".join(map(self._explained, self._routes.values()))

    def _explained(self, route: _Route) -> str:
        library = library_name(route.xp)
        if route.in_blocks:
            return f"{library}: one task for each block of the batch"
        parts = [described_plan(route.plan), how_run(route.executor, route.xp), route.convert and "arrays converted"]
        if is_lazy(route.xp):
            parts.append("operation by operation, added to the task graph")
        return f"{library}: {'; '.join(part for part in parts if part)}"

    def _from_python(self, value: Any, node: Node) -> Any:
        if isinstance(value, Tensor):
            raise TypeError(
                f"argument {node.name or ''} must be an array, got {value!r}; use givens to put a Tensor in its place"
            )
        try:
            return asarray(value, host_namespace(), dtype=str(node.dtype))
        except (TypeError, ValueError) as error:
            error.add_note(f"given as argument {node.name or self.inputs.index(node)}")
            raise

    def _make_route(self, arrays: list[Any]) -> _Route:
        states = [array for position, array in enumerate(arrays) if self._is_state(position)]
        movable = [array for position, array in enumerate(arrays) if not self._is_state(position)]
        xp = running_namespace(movable, self._default)
        if xp is host_namespace():  # generators on another library draw there, variables of one are set there
            targets = [variable.value for variable in self._targets if not variable.is_state]
            xp = running_namespace([*targets, *states], xp)
        for variable in self._targets:
            if not variable.is_state and variable.library is not xp:
                raise TypeError(
                    f"{variable!r} is updated, but the function runs on another library than the variable's: "
                    f"make the variable of an array of {xp.__name__}"
                )
        plan = compile_plan(self._leaves, self._results, xp, givens=self._givens, lazy=is_lazy(xp))
        positions = [i for i, array in enumerate(arrays) if not self._is_state(i) and array_namespace(array) is not xp]
        dtypes = [running_dtype(xp, node.dtype) for node in self.inputs]
        return _Route(xp, plan, compiled(plan, xp), dtypes, positions, kernel("compiling.compiled", xp) is not None)

    def _is_state(self, position: int) -> bool:
        node = self._leaves[position]
        return node.op is VARIABLE and cast("bool", node.payload.is_state)

    def __repr__(self) -> str:
        return f"<Function {self.name or ''} of {len(self.inputs)} inputs and {len(self._outputs)} outputs>"


def _expected(position: int, node: Node) -> tuple[str, int, list[tuple[int, int]], tuple[int | None, ...]]:
    """What `_check` holds an argument to: its name, number of axes, lengths that are known, and shape."""
    shape = tuple(length if type(length) is int else None for length in node.shape)
    known = [(axis, length) for axis, length in enumerate(shape) if length is not None]
    return node.name or str(position), len(shape), known, shape


def _check(array: Any, name: str, ndim: int, known: list[tuple[int, int]], shape: tuple[int | None, ...]) -> None:
    actual = array.shape
    if len(actual) != ndim:
        raise TypeError(f"argument {name} must have {ndim} axes, got an array of shape {tuple(actual)}")
    for axis, length in known:
        if actual[axis] != length and actual[axis] == actual[axis]:
            raise ValueError(f"argument {name} must have shape {shape}, got {tuple(actual)}")


def _as_result(value: Any) -> Result:
    if isinstance(value, Tensor):
        return value.node
    if isinstance(value, Length):
        return value
    return as_tensor(value).node


def function(
    inputs: Sequence[Tensor],
    outputs: Any,
    updates: Any = None,
    givens: Any = None,
    name: str | None = None,
    on_unused_input: str = "ignore",
    *,
    batch_axis: int | Sequence[int | None] | None = None,
    combine: str | Sequence[str | None] | None = None,
) -> Function:
    """Compile a graph into a function of arrays.

    Parameters
    ----------
    inputs : sequence of Tensor
        Placeholders, in the order of the arguments.
    outputs : Tensor, list of Tensor, or None
        What to return: one value, a list, or an empty list.
    updates : mapping or iterable of pairs, optional
        Variables and their new values, all computed from the old ones and set together after the outputs.
    givens : mapping or iterable of pairs, optional
        Tensors and what to put in their place.
    name : str, optional
        A name for error messages.
    on_unused_input : {"ignore", "warn", "raise"}
        What to do about an input that nothing depends on.
    batch_axis : int, or sequence of int or None, optional
        The axis of the inputs along which examples lie that do not depend on each other, for lazy arrays (Dask): then
        the whole graph runs as one task for each block of examples. An int is meant for every input whose length there
        is unknown; a sequence has an axis for each input, or None for one that every block gets whole.
    combine : {"sum", "mean"}, or sequence of these or None, optional
        With `batch_axis`, what becomes of outputs that do not have the batch, such as losses and gradients of weights:
        the sum of what the blocks give, or the mean, in which each block counts by its length. One for all outputs, or
        one for each.

    Returns
    -------
    Function
        Called with one array (or number or list) for each input; returns arrays of the library it ran on.

    Raises
    ------
    TypeError
        If an input is no placeholder, or an update is none of a variable or has another number of axes.
    ValueError
        If a placeholder is missing, or a variable is updated twice; if, with `batch_axis`, there are updates or random
        draws, an output without the batch has no `combine`, or an operation is seen to need other examples than those
        of its block: one that sorts, accumulates or indexes along the batch, say. The message names it.

    Notes
    -----
    With `batch_axis`, each block of the inputs, which are changed to agree and to be whole along other axes, goes
    through the whole function by itself. Outputs that have the batch are joined of what the blocks give. Arrays that
    are not lazy run as without `batch_axis`.

    Random draws draw anew at every call: the state variable of each draw in the graph is updated by itself.

    A library that compiles (JAX) compiles the whole function when shapes and dtypes come for the second time; a
    function that needs a value on the way, for a length that depends on data, runs as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from nbm_xp.tape import Variable, function, placeholder
    >>> x, total = placeholder((None,)), Variable(0.0)
    >>> add = function([x], total, updates=[(total, total + x[0])])
    >>> _ = add(np.ones(3)), add(np.ones(3))
    >>> float(total)
    2.0

    A mean over a batch in three blocks, one task for each:

    >>> from nbm_xp.namespace import compute, convert, get_namespace
    >>> from nbm_xp.tape import namespace as xp
    >>> rows = placeholder((None, 2))
    >>> mean = function([rows], xp.mean(rows, axis=0), batch_axis=0, combine="mean")
    >>> lazy = convert(np.ones((6, 2), dtype="float32"), get_namespace("dask")).rechunk((2, 2))
    >>> compute(mean(lazy)).tolist()
    [1.0, 1.0]
    """
    if on_unused_input not in ("ignore", "warn", "raise"):
        raise ValueError(f"on_unused_input must be 'ignore', 'warn' or 'raise', got {on_unused_input!r}")
    for tensor in inputs:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"inputs must hold Tensors, got {type(tensor).__name__}")
    replaced = _checked_givens(givens)
    axes = None if batch_axis is None else batch_axes([tensor.node for tensor in inputs], batch_axis)
    compiled = Function(inputs, outputs, checked_updates(updates), replaced, name, axes, combine)
    if on_unused_input != "ignore":
        used = set(reachable(compiled._results, (), replaced))
        _report_unused([n for n in compiled.inputs if n not in used], on_unused_input)
    return compiled
