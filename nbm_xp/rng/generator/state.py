"""State of a `Generator`: how it is stored, how a draw takes its steps, and how a draw is made.

Contract: the state is six integers and a counter; it can be read, set, compared, copied and saved. Each draw takes its
own steps, in any thread; a call that fails takes none. In a function that JAX compiles or maps, the integers are an
array whose values are unknown.
"""

from __future__ import annotations

import math
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import length_hint
from typing import Any, Final, Self

from nbm_xp.namespace import (
    array_namespace,
    asarray,
    dtype_of,
    floatx,
    get_namespace,
    host_namespace,
    is_array,
    is_lazy,
    library_name,
    running_dtype,
    to_numpy,
    wide_dtypes,
)
from nbm_xp.namespace.compiling import current_trace, is_traced, register_pytree, register_waiting, require_eager
from nbm_xp.namespace.libraries import HOST, imported
from nbm_xp.namespace.mrg31k3p.integers import MAX_STREAMS, Followed, jump

from ..distributions import DISTRIBUTIONS, derivatives, independent, line_of
from ..distributions.integers import outcomes, successes
from ..parameters import (
    Size,
    any_tensor,
    checked,
    chunks_of,
    count_of,
    counting_dtype,
    counts_on,
    fill,
    form_of,
    is_number,
    known_integer,
    real_dtype,
    shape_of,
)
from ..recurrence import join, jumped, split
from ..rules import PROBABILITY, require
from ..seeds import from_words, hashed_seed
from ..tasks import Draw, library_of_blocks, made
from ..uniforms import Shape, numbers, substreams

# Largest number of elements of a draw from a table made in advance.
FEW: Final = 64

_MOST_AHEAD: Final = 512  # largest number of steps in such a table
_NOTHING: Final[tuple[str, Iterator[Any]]] = ("", iter(()))  # no table, for no dtype


class GeneratorState:
    """State of a `Generator`; see there."""

    def __init__(self, seed: object = None, library: Any = None, *, threads: int | None = 1) -> None:
        require_eager("a Generator")
        if seed is None:
            self._state, self._spawned = from_words([secrets.randbits(64) for _ in range(6)]), 0
        else:
            self._state, self._spawned = _checked_state(seed)
        self._trace = None if seed is None else current_trace()
        register_waiting()
        self._library = None if library is None else library_name(get_namespace(library))
        self._threads = _checked_threads(threads)
        self._lock = threading.Lock()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        register_pytree(cls, cls._flattened, cls._unflattened)

    def _flattened(self) -> tuple[tuple[Any], Any]:
        """Return the state as one int32 array of shape (6,), and the static data."""
        leaf = self._place[0] if self._is_leaf else asarray(self._state, host_namespace(), "int32")
        return (leaf,), (self._library, self._threads, self._spawned)

    @classmethod
    def _unflattened(cls, static: Any, leaves: Any) -> Self:
        made = object.__new__(cls)
        (leaf,), made._lock = leaves, threading.Lock()
        made._place, made._ahead = (leaf, None), _NOTHING
        made._library, made._threads, made._spawned = static
        made._trace = current_trace()
        return made

    @property
    def _is_leaf(self) -> bool:
        """Whether the state is a leaf set by JAX: an array, which may be traced, or any other object."""
        return self._place[1] is None

    @property
    def _is_traced(self) -> bool:
        return self._is_leaf and is_traced([self._place[0]])

    @property
    def _state(self) -> Followed:
        origin, length = self._place
        if length is not None:
            steps = length - length_hint(self._ahead[1])
            return jump(origin, steps) if steps else origin
        if getattr(origin, "shape", None) != (6,):
            shape = tuple(getattr(origin, "shape", ()))
            raise ValueError(
                f"the state of one generator has shape (6,), got {shape}: many generators in one draw inside jax.vmap"
            )
        if is_traced([origin]):
            xp = array_namespace(origin)
            with wide_dtypes(xp):
                return split(xp, origin)
        self._state = state = tuple(to_numpy(origin).tolist())
        return state

    @_state.setter
    def _state(self, state: Followed) -> None:
        self._place: tuple[Any, Any] = (state, 0) if isinstance(state[0], int) else (_packed(state), None)
        self._ahead: tuple[str, Iterator[Any]] = _NOTHING

    def _settled(self) -> Followed:
        """Return the state after discarding the table of numbers, so that no thread takes further steps from it."""
        (origin, length), (_, rows), self._ahead = self._place, self._ahead, _NOTHING
        if length:
            self._state = jump(origin, length - len(list(rows)))
        return self._state

    def _require_own_trace(self) -> None:
        """Raise an error in a function that is being compiled, unless the generator is one of its arguments."""
        trace = current_trace()
        if trace is not None and trace is not self._trace:
            raise RuntimeError(
                "the generator must be an argument of the function that JAX compiles, and one of its results: "
                "closed over, it would give the same numbers at every call"
            )

    def _few(self, n: int, dtype: str) -> Any:
        """Draw a few uniforms, for which computing the state would take most of the time.

        They come from a table of the uniforms of the first streams for some steps. Later draws take its rows without a
        lock, each row once, in any thread, until a draw of another kind discards the table.
        """
        self._require_own_trace()
        with self._lock:
            length = min(8 * (self._place[1] or 1), _MOST_AHEAD)
            state = self._settled()
            kind = "wide" if dtype == "float64" else dtype
            table = numbers(host_namespace(), substreams(state, FEW), FEW * length, kind)
            rows = iter(list(table.reshape(length, FEW)))
            first = next(rows)
            self._place, self._ahead = (state, length), (dtype, rows)
        return first[:n].copy()

    @property
    def state(self) -> Shape:
        """The six integers from which the next call starts, and the number of spawned generators.

        Any seed can be assigned. As a tuple of ints, the state can be compared, pickled and written as JSON; in a
        function that JAX compiles or maps, the six integers are arrays without axes.
        """
        six = (self._place[0][k] for k in range(6)) if self._is_traced else self._state
        return (*six, self._spawned)

    @state.setter
    def state(self, state: object) -> None:
        found = _checked_state(state)
        self._require_own_trace()
        with self._lock:
            self._state, self._spawned = found

    @property
    def library(self) -> str | None:
        """Name of the array library, or None if the parameters and the configuration determine it."""
        return self._library

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GeneratorState):
            return NotImplemented
        return (self.state, self._library) == (other.state, other._library)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), self.state, self._library, self._threads)

    def __repr__(self) -> str:
        library = "" if self._library is None else f", library={self._library!r}"
        threads = "" if self._threads == 1 else f", threads={self._threads}"
        if self._is_traced or (self._is_leaf and getattr(self._place[0], "shape", None) != (6,)):
            return f"{type(self).__name__}({self._place[0]!r}{library}{threads})"
        return f"{type(self).__name__}({self.state if self._spawned else self._state}{library}{threads})"

    def _at(self, state: Followed) -> Self:
        """Return a generator like this one, with another state."""
        made = object.__new__(type(self))
        made._state, made._spawned, made._lock = state, 0, threading.Lock()
        made._library, made._threads, made._trace = self._library, self._threads, self._trace
        register_waiting()
        return made

    @contextmanager
    def _taking(self, n: int, *, pairs: bool = False) -> Iterator[Followed]:
        """Take the steps of a draw of `n` elements; restore them if it fails, unless another draw came after it."""
        steps = -(-n // MAX_STREAMS)
        steps += pairs and steps % 2
        self._require_own_trace()
        with self._lock:
            state = self._settled()
            before = self._place
            self._state = jumped(state, steps)
            after = self._place
        try:
            yield state
        except BaseException:
            with self._lock:
                if self._place is after:
                    self._place = before
            raise

    def _draw(
        self,
        xp: Any,
        make: Callable[..., Any],
        parameters: Sequence[Any],
        shape: Shape,
        dtype: str,
        *,
        n: int | None = None,
        pairs: bool = False,
        chunks: Any = None,
        args: tuple[Any, ...] = (),
        out: Any = None,
        then: Callable[[Any], Any] | None = None,
        recorded: bool = False,
        **options: Any,
    ) -> Any:
        """Make a draw from validated parameters: see `nbm_xp.rng.tasks.made`.

        It takes the steps of `n` elements, by default those of `shape`. It is recorded if `recorded`, or if any
        parameter is a Tensor. The numbers are written to `out`, if given, or passed to `then`. `options` are keyword
        arguments of `make`.
        """
        with self._taking(math.prod(shape) if n is None else n, pairs=pairs) as state:
            recorded = recorded or any_tensor(*parameters)
            numbers = tuple(value if is_number(value) else None for value in parameters)
            lazy, library, threads = is_lazy(xp), HOST, 1 if recorded else self._threads
            if lazy:
                library, threads = library_of_blocks(xp, *parameters, *args), 1
            elif xp is not host_namespace() and not recorded:
                library = library_name(xp)
                xp.empty((0,), dtype=dtype_of(xp, dtype))  # raises if the library, as configured now, lacks the dtype
            draw = Draw(make, state, shape, dtype, library, numbers, threads, tuple(options.items()))
            if recorded:
                from ..recorded import recorded_draw

                return recorded_draw(draw, parameters)
            into = out if make is line_of and not lazy else None
            drawn = made(xp, draw, parameters, chunks=chunks, args=args, derivatives=derivatives, out=into)
            return fill(out, drawn) if then is None else then(drawn)

    def _of_table(
        self,
        name: str,
        values: tuple[Any, ...],
        size: Size,
        dtype: Any,
        chunks: Any,
        out: Any = None,
        *,
        pairs: bool = False,
        **how: Any,
    ) -> Any:
        """Draw from the distribution of this name, with these values of its parameters."""
        distribution = DISTRIBUTIONS[name]
        is_count = distribution.kind == "count"
        xp, found = self._parameters(dict(zip(distribution.rules, values, strict=True)), out, recordable=not is_count)
        size, dtype = form_of(xp, out, size, dtype)
        shape = shape_of(size, *found)
        dtype = counting_dtype(xp, dtype) if is_count else real_dtype(dtype, *found)
        distribution.check(found, dtype, apart=not all(map(is_number, found)))
        if distribution.line is None:
            make, found = independent, [float(value) if is_number(value) else value for value in found]
        else:
            make = line_of
            distribution.line(xp, *found, dtype, **how)  # raises if a parameter is invalid
        return self._draw(xp, make, found, shape, dtype, pairs=pairs, chunks=chunks, out=out, name=name, **how)

    def _ones_added(self, n: int, p: Any, size: Size, dtype: str, chunks: Any) -> Any:
        """Draw the sum of the ones and zeros of `n` outputs of each element."""
        xp, (p,) = self._parameters({"p": p})
        shape, dtype = shape_of(size, p), counts_on(xp, dtype)
        if dtype == "bool" and n > 1:
            xp.empty((0,), dtype=dtype_of(xp, counts_on(xp, "int64")))
        if is_lazy(xp) or not is_array(p) or not n or 0 in shape:  # else the draw itself checks them
            require("p", p, PROBABILITY)
        return self._draw(xp, successes, (p,), shape, dtype, chunks=chunks, count=n, precision=floatx())

    def _outcomes(self, xp: Any, p: Any, shape: Shape, dtype: str, chunks: Any, **how: Any) -> Any:
        """Draw outcomes with validated probabilities."""
        chunks = chunks_of(chunks, shape, *([p[..., 0]] if p.ndim > 1 else []))
        return self._draw(xp, outcomes, (), shape, dtype, args=(p,), chunks=chunks, **how)

    def _parameters(
        self, parameters: dict[str, Any], out: Any = None, *, recordable: bool = False
    ) -> tuple[Any, list[Any]]:
        """Return the library of the result, which may go to `out`, and the parameters as numbers and arrays of it.

        If any is a Tensor and the draw is `recordable`, the library is the tape, and arrays become Tensors.
        """
        if recordable and out is None and any_tensor(*parameters.values()):
            from ..recorded import as_parameters

            return as_parameters(parameters)
        require_eager("a random draw", parameters.values())
        return self._alike(out, *(checked(name, value) for name, value in parameters.items()))

    def _alike(self, out: Any, *values: Any) -> tuple[Any, list[Any]]:
        """Return the library of the result, and values with their arrays converted to that library."""
        arrays = [out] if is_array(out) else [value for value in values if is_array(value)]
        if self._is_traced:
            xp = array_namespace(self._place[0])
        else:
            xp = array_namespace(*arrays) if self._library is None else get_namespace(self._library)
        return xp, [_brought(value, xp) if is_array(value) else value for value in values]


def _brought(value: Any, xp: Any) -> Any:
    """Return an array converted to a library, in 32 bits on JAX without its 64-bit types."""
    if library_name(value) == library_name(xp):
        return value
    return asarray(value, xp, running_dtype(xp, value.dtype))


def _remade(kind: Any, state: Any, library: str | None, threads: int) -> Any:
    return kind(state, None if library is None else imported(library), threads=threads)


def _packed(state: Followed) -> Any:
    """Return a state of six arrays as one array."""
    xp = array_namespace(state[0])
    with wide_dtypes(xp):
        return join(xp, state)


def _checked_state(seed: Any) -> tuple[Followed, int]:
    """Return the six integers and the counter of a seed or a state."""
    if not isinstance(seed, (tuple, list)) or len(seed) not in (6, 7):
        return hashed_seed(seed), 0
    spawned = count_of("the counter of the state", seed[6]) if len(seed) == 7 else 0
    if not is_traced(seed):
        return hashed_seed(seed[:6]), spawned
    xp = array_namespace(*(number for number in seed[:6] if is_array(number)))
    with wide_dtypes(xp):
        return tuple(asarray(number, xp, "int64") for number in seed[:6]), spawned


def _checked_threads(threads: Any) -> int:
    if threads is None:
        return os.cpu_count() or 1
    count = None if isinstance(threads, bool) else known_integer(threads)
    if isinstance(count, int) and count > 0:
        return count
    raise ValueError(f"threads must be an int of 1 or more, or None for as many as there are cores; got {threads!r}")
