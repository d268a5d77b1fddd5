"""JAX: plans under ``jax.jit``, loops as ``lax.scan`` or ``lax.while_loop``, choices as ``lax.cond``, derivatives."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbm_xp.namespace.compiling import Derivatives
from nbm_xp.namespace.dtypes import wide_jax

__all__ = [
    "as_rounded", "barrier", "branch", "compiled", "current_trace", "how_run", "is_traced", "loop", "repeated",
    "strictly_rounded", "with_derivatives",
]  # fmt: skip

jax: Any = importlib.import_module("jax")
_extended: Any = importlib.import_module("jax.extend.core")

# From how many steps on a loop is compiled even the first time.
_MANY_STEPS = 32
# The bytecode of a plan, in bytes, from which on compiling takes longer than is bearable: some 5,000 operations.
_LARGE_PLAN = 200_000
_Tracer: type = jax.core.Tracer
# The operations that XLA fuses or reorders with those around them.
_FUSED = frozenset({"add", "add_any", "div", "mul", "sqrt", "sub"})

_trace_state: Any = getattr(_extended, "get_opaque_trace_state", None)
with jax.core.eval_context():
    _OUTSIDE = _trace_state and _trace_state(convention="nbm_xp")


class _UncompilableError(TypeError):
    """Raised for what JAX has no compiled form for."""


# What JAX raises where a function that it compiles asks for a value.
_NEEDS_VALUES = (
    _UncompilableError,
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.TracerIntegerConversionError,
)


def is_traced(array: Any) -> bool:
    """See `nbm_xp.namespace.compiling.is_traced`."""
    return isinstance(array, _Tracer)


def _traced(arrays: Sequence[Any]) -> bool:
    return any(isinstance(array, _Tracer) for array in arrays)


class _Compiled:
    """A plan that is compiled, for each combination of shapes and dtypes,, unless it needs values."""

    def __init__(self, plan: Callable[..., tuple[Any, ...]]) -> None:
        self.plan = plan
        self.jitted: Any = jax.jit(self._run)
        self.integers: list[int] = []
        self.how = "as it is"
        self.works = len(plan.__code__.co_code) < _LARGE_PLAN

    def __reduce__(self) -> tuple[Any, ...]:
        return _Compiled, (self.plan,)

    def _run(self, *arrays: Any) -> tuple[Any, ...]:
        results = self.plan(*arrays)
        self.integers = [position for position, value in enumerate(results) if type(value) is int]
        return results

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        if not self.works or _traced(arrays):
            return self.plan(*arrays)
        try:
            results: tuple[Any, ...] = self.jitted(*arrays)
        except _NEEDS_VALUES:
            self.works, self.how = False, "as it is, since it needs values"
            return self.plan(*arrays)
        self.how = "compiled by jax.jit"
        if self.integers:
            results = tuple(int(v) if position in self.integers else v for position, v in enumerate(results))
        return results


def compiled(plan: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """See `nbm_xp.namespace.compiling.compiled`."""
    return _Compiled(plan)


def how_run(function: _Compiled) -> str:
    """See `nbm_xp.namespace.compiling.how_run`."""
    return function.how


def as_rounded(x: Any) -> Any:
    """See `nbm_xp.namespace.compiling.as_rounded`: XLA fuses a product with a sum, but not through a bound.

    A barrier does not keep it from that, nor does a rounding to the precision that is there already.
    """
    largest = jax.numpy.finfo(x.dtype).max
    return jax.lax.clamp(-largest, x, largest) if isinstance(x, _Tracer) else x


def current_trace() -> object | None:
    """See `nbm_xp.namespace.compiling.current_trace`; ``vmap`` and ``grad`` alone compile nothing."""
    if _trace_state is not None and _trace_state(convention="nbm_xp") == _OUTSIDE:
        return None
    found: Any = jax.lax.add(np.int32(0), np.int32(0))
    return getattr(found, "_trace", None)


def repeated(
    unfinished: Callable[..., Any], step: Callable[..., tuple[Any, ...]], carries: tuple[Any, ...]
) -> tuple[Any, ...]:
    """See `nbm_xp.namespace.compiling.repeated`."""
    found: tuple[Any, ...] = jax.lax.while_loop(lambda c: unfinished(*c), lambda c: step(*c), carries)
    return found


def strictly_rounded(function: Callable[..., Any]) -> Callable[..., Any]:
    """See `nbm_xp.namespace.compiling.strictly_rounded`: operations that XLA fuses are followed by a selection."""

    @functools.wraps(function)
    def rounded(*args: Any) -> Any:
        if current_trace() is None:
            return function(*args)
        with wide_jax():
            closed, form = jax.make_jaxpr(lambda: function(*args), return_shape=True)()
            return jax.tree.unflatten(jax.tree.structure(form), _replayed(closed))

    return rounded


def _replayed(closed: Any, *args: Any) -> list[Any]:
    """The results of a traced function, of which each operation on floats that XLA might fuse is kept apart."""
    values = dict(zip([*closed.jaxpr.constvars, *closed.jaxpr.invars], [*closed.consts, *args], strict=True))

    def read(atom: Any) -> Any:
        if isinstance(atom, _extended.Literal):
            return np.asarray(atom.val, atom.aval.dtype)
        return values[atom]

    for equation in closed.jaxpr.eqns:
        primitive, params = equation.primitive, {key: _strict(value) for key, value in equation.params.items()}
        bound = primitive.get_bind_params(params)
        functions, params = bound if isinstance(bound, tuple) else ((), bound)  # a pair in older versions
        found = primitive.bind(*functions, *map(read, equation.invars), **params)
        found = found if primitive.multiple_results else [found]
        if primitive.name in _FUSED:
            found = [_kept_apart(x) for x in found]
        values.update(zip(equation.outvars, found, strict=True))
    return list(map(read, closed.jaxpr.outvars))


def _strict(param: Any) -> Any:
    """A parameter of an operation; functions of floats in it replayed likewise."""
    if isinstance(param, _extended.ClosedJaxpr) and _has_fused(param):
        return jax.make_jaxpr(functools.partial(_replayed, param))(*param.in_avals)
    return tuple(map(_strict, param)) if type(param) is tuple else param


def _has_fused(closed: Any) -> bool:
    """Whether a traced function has operations on floats that XLA might fuse."""
    for equation in closed.jaxpr.eqns:
        if equation.primitive.name in _FUSED and jax.dtypes.issubdtype(equation.outvars[0].aval.dtype, np.floating):
            return True
        for param in equation.params.values():
            inner = param if type(param) is tuple else (param,)
            if any(isinstance(each, _extended.ClosedJaxpr) and _has_fused(each) for each in inner):
                return True
    return False


def _kept_apart(x: Any) -> Any:
    """An array of floats as it is, behind bounds: see `as_rounded`."""
    if not jax.dtypes.issubdtype(x.dtype, np.floating):
        return x
    largest = np.asarray(jax.numpy.finfo(x.dtype).max)
    return jax.lax.select(jax.lax.abs(x) > largest, x, jax.lax.clamp(-largest, x, largest))


def barrier(values: Any) -> Any:
    """The values, which the compiler does not merge with equal ones that it has already."""
    return jax.lax.optimization_barrier(values)


def branch(condition: Any, taken: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """The result of one of two functions, by a condition that may be traced."""
    if not isinstance(condition, _Tracer):
        return taken() if condition else otherwise()
    try:
        return jax.lax.cond(condition, taken, otherwise)
    except TypeError as error:
        if isinstance(error, _NEEDS_VALUES):
            raise
        raise _UncompilableError(f"the branches differ in shape: {error}") from error


def loop(
    step: Callable[..., tuple[Any, ...]],
    count: int,
    sequences: Sequence[Any],
    carries: tuple[Any, ...],
    captured: tuple[Any, ...],
    reverse: bool,
    stops: bool,
    cache: dict[Any, Any],
) -> Any:
    """A loop in the library: final carried values, stacked results and the number of steps.

    `step` maps entries of the sequences, carried values and captured ones to new carried values, results and, if the
    loop `stops`, a condition. `cache` is a dict in which the loop keeps what it compiled. The result is None where the
    steps are better taken one by one.
    """
    traced = _traced((*carries, *captured)) or any(_traced(s if isinstance(s, list) else (s,)) for s in sequences)
    if not traced and (count < _MANY_STEPS or cache.get("uncompilable")):
        return None
    sequences = tuple(jax.numpy.stack(s[:count]) if isinstance(s, list) else s[:count] for s in sequences)
    if traced:
        return _loop(step, count, sequences, carries, captured, reverse, stops)
    run = cache.get("run")
    if run is None:
        whole = jax.jit(_loop, static_argnums=(0, 1, 5, 6))
        run = cache.setdefault("run", whole)
    try:
        finals, stacks, taken = run(step, count, sequences, carries, captured, reverse, stops)
    except _NEEDS_VALUES:
        cache["uncompilable"] = True
        return None
    return finals, stacks, int(taken) if stops else count


def _loop(
    step: Callable[..., tuple[Any, ...]],
    count: int,
    sequences: tuple[Any, ...],
    carries: tuple[Any, ...],
    captured: tuple[Any, ...],
    reverse: bool,
    stops: bool,
) -> Any:
    n = len(carries)
    carries = tuple(map(jax.numpy.asarray, carries))

    def one(state: tuple[Any, ...], entries: tuple[Any, ...]) -> Any:
        results = step(*entries, *state, *captured)
        return results[:n], results[n:]

    try:
        if stops:
            return _until(one, count, sequences, carries)
        finals, stacks = jax.lax.scan(one, carries, sequences, length=count, reverse=reverse)
    except TypeError as error:
        if isinstance(error, _NEEDS_VALUES):
            raise
        raise _UncompilableError(f"a carried value changes from step to step: {error}") from error
    return finals, list(stacks), count


def _until(
    one: Callable[[Any, Any], Any], count: int, sequences: tuple[Any, ...], carries: tuple[Any, ...]
) -> tuple[Any, list[Any], Any]:
    """Steps until a condition holds; what is stacked over them would have a length that depends on data."""

    def goes_on(state: Any) -> Any:
        return jax.numpy.logical_and(state[0] < count, jax.numpy.logical_not(state[1]))

    def step(state: Any) -> Any:
        t, _, values = state
        entries = tuple(jax.lax.dynamic_index_in_dim(s, t, keepdims=False) for s in sequences)
        values, (*stacked, stop) = one(values, entries)
        if stacked:
            raise _UncompilableError("how many results there are depends on data")
        return t + 1, stop, values

    taken, _, finals = jax.lax.while_loop(goes_on, step, (0, False, carries))
    return finals, [], taken


def _derivative(derivatives: Derivatives, k: int, arrays: tuple[Any, ...]) -> Any:
    if derivatives.in_argument is None:
        raise derivatives.none_in(k)
    if derivatives.constant:
        return derivatives.in_argument(k, *map(jax.lax.stop_gradient, arrays))
    once = jax.custom_jvp(functools.partial(derivatives.in_argument, k))

    def rule(primals: Any, tangents: Any) -> Any:
        raise derivatives.none_of_second_order()

    once.defjvp(rule)
    return once(*arrays)


def with_derivatives(draw: Callable[..., Any], arrays: tuple[Any, ...], derivatives: Derivatives) -> Any:
    """See `nbm_xp.namespace.compiling.with_derivatives`; the rule is there already."""
    if not any(isinstance(array, jax.core.Tracer) for array in arrays):
        return draw(*arrays)
    drawn = jax.custom_jvp(draw)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        change: Any = 0.0
        for k, tangent in enumerate(tangents):
            if not isinstance(tangent, jax.custom_derivatives.SymbolicZero):
                slope = _derivative(derivatives, k, primals)
                change = change + slope * jax.numpy.asarray(tangent, slope.dtype)
        out = drawn(*primals)
        return out, derivatives.along_simplex(out, change).astype(out.dtype)

    drawn.defjvp(rule, symbolic_zeros=True)
    return drawn(*arrays)
