"""Compiled functions: a graph with its inputs, outputs and updates, run on the library of its arrays.

A function runs on the common library of its arguments, variables and constants: NumPy arrays are converted to the
other library if there is one; two other libraries are an error. Each combination of array types has a plan of its own.
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
from .plans.plan import Exclusive, compile_plan, described_plan, may_share
from .plans.writer import PlanWriter
from .printing import described
from .standard.data_types import cast as as_kind
from .tensor import Tensor, as_tensor
from .variable import Variable, automatic_updates, checked_updates, pairs_of


def _checked_givens(givens: Any) -> dict[Node, Node]:
    """Return the mapping from replaced nodes to their replacements."""
    found = {key.node: _replacement(key, value).node for key, value in pairs_of(givens, "givens")}
    for key, value in found.items():
        if value in reachable(value.inputs, (), found):
            raise ValueError(f"givens must not define {key.name or key!r} by itself")
    return found


def _replacement(key: Tensor, value: Any) -> Tensor:
    tensor = as_tensor(value)
    if tensor.ndim != key.ndim:
        raise TypeError(f"givens must keep the number of axes: {key!r} has {key.ndim}, its replacement {tensor.ndim}")
    return as_kind(tensor, key.dtype)


def _report_unused(unused: Sequence[Node], action: str) -> None:
    """Warn about unused inputs, or raise."""
    if not unused:
        return
    message = f"inputs that no output or update depends on: {', '.join(n.name or repr(n) for n in unused)}"
    if action == "raise":
        raise ValueError(message)
    warnings.warn(message, stacklevel=3)


@dataclass(slots=True)
class _Route:
    """The library, plan and conversions for one combination of array types.

    `executor` runs the plan: the plan itself or its version compiled by the library. `compiles` is whether the library
    compiles functions, so that values may be tracers; `in_blocks`, whether the last call ran block by block.
    """

    xp: ModuleType
    plan: Callable[..., tuple[Any, ...]]
    executor: Callable[..., tuple[Any, ...]]
    dtypes: list[Any]
    convert: list[int]
    compiles: bool
    in_blocks: bool = False


class Function:
    """A compiled function, created by `function`."""

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
        self._shared = [p for p in shared if p < count or not self._targets[p - count].is_state]  # states stay in place
        self._batches = None
        if axes is not None:
            if self._targets:
                raise ValueError("batch_axis cannot be kept: a function with updates or random draws runs undivided")
            self._batches = Batches(self.inputs, axes, self._leaves, self._results, self._givens, combine)

    def __call__(self, *args: Any) -> Any:
        """Run the function on arrays, one for each input."""
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
        """Return the route for the arguments, and all arrays of the plan, checked and converted."""
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
        """Return a callable for repeated calls with arrays of the same types, dtypes and shapes as `args`.

        Without updates, scalar outputs and conversions this is the plan itself, called without checks; its results may
        share memory with its arguments. Otherwise it is this function.
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
        for position in self._shared:  # outputs are the caller's alone; variables share no memory with arguments
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
        """Return the Python source of the plan for the library of the variables and constants.

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
        """Describe how the function ran: one line for each combination of array types of its calls.

        Returns
        -------
        str
            The description; empty before the first call.

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
        if xp is host_namespace():  # generators and updated variables may be of another library
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
    """Return the arguments of `_check` for an input: its name, number of axes, known lengths and shape."""
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
        Inputs of the function, usually placeholders, in the order of its arguments.
    outputs : Tensor, list of Tensor, or None
        Outputs; with None the function returns an empty list.
    updates : mapping or iterable of pairs, optional
        Variables and their new values. All are computed from the old values and set together after the outputs.
    givens : mapping or iterable of pairs, optional
        Tensors and their replacements.
    name : str, optional
        Name of the function in error messages.
    on_unused_input : {"ignore", "warn", "raise"}
        Action for inputs on which no output or update depends. Defaults to ``"ignore"``.
    batch_axis : int, or sequence of int or None, optional
        Axis of independent examples in the inputs, for lazy arrays (Dask): the whole graph then runs as one task for
        each block of examples. An int applies to every input whose length along that axis is unknown; a sequence has
        one axis for each input, or None for an input that every block receives whole.
    combine : {"sum", "mean"}, or sequence of these or None, optional
        Reduction over blocks, with `batch_axis`, of outputs without the batch axis, such as losses and gradients: the
        sum, or the mean weighted by the lengths of the blocks. One for all outputs, or one for each.

    Returns
    -------
    Function
        Compiled function. It takes one array (or number or list) for each input and returns arrays of the library on
        which it ran.

    Raises
    ------
    TypeError
        If an input is not a Tensor, or the target of an update is not a Variable or its new value has another number
        of axes.
    ValueError
        If a placeholder is missing, or a variable is updated twice; if, with `batch_axis`, there are updates or random
        draws, an output without the batch axis has no `combine`, or an operation mixes examples of different blocks,
        for example by sorting, accumulating or indexing along the batch axis. The message names the operation.

    Notes
    -----
    With `batch_axis`, the inputs are rechunked to the same blocks along the batch axis and to one block along all other
    axes; the whole function runs on each block, and outputs with the batch axis are concatenated. Arrays that are not
    lazy run as without `batch_axis`.

    Every call draws new random numbers: the state variable of each draw in the graph is updated automatically.

    A library with a compiler (JAX) compiles the whole function for each combination of shapes and dtypes; a function
    that needs intermediate values, for a length that depends on data, runs uncompiled.

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
