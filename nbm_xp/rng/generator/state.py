"""The state of a `Generator`: where it is, how it moves on, and other generators made from it.

Contract: the state is six integers and a counter, that can be looked at, set, compared, copied,
written down and read again; each draw takes steps of its own, in whatever thread; a call that fails takes none. In a
function that JAX compiles or maps, the integers are an array whose values are not known.
"""

from __future__ import annotations

import operator
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from operator import length_hint
from typing import Any, Final, Self

from nbm_xp.namespace import (
    array_namespace,
    asarray,
    dtype_name,
    dtype_of,
    get_namespace,
    host_namespace,
    is_array,
    is_integer,
    library_name,
    running_dtype,
    to_numpy,
    wide_dtypes,
)
from nbm_xp.namespace.compiling import current_trace, is_traced
from nbm_xp.namespace.libraries import imported
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, MAX_STREAMS, Followed, State, jump
from nbm_xp.namespace.pytrees import register_pytree, register_waiting

from ..parameters import checked, known_integer
from ..recurrence import join, jumped, split, starts
from ..seeds import from_words, hashed, hashed_seed
from ..uniforms import numbers, substreams, wide_numbers

__all__ = ["FEW", "GeneratorState"]

FEW: Final = 64
"""So many numbers at most are taken from a table that is made ahead."""

MOST_AHEAD: Final = 512
"""The largest number of steps that such a table has."""

_WORKER_STEPS: Final = 2**160
"""How many steps lie between one of `substreams` and the next."""

_MOST_AT_ONCE: Final = 2**25
"""So many generators are made at once: of `substreams`, as many as fit the period, which is close to 2**185."""

_NUMBER, _TEXT, _CHILD, _PART = range(4)
"""What is hashed with the state: data of `fold_in`, the number of a child of `spawn` or of a part of `split`."""


_NOTHING: Final[tuple[str, Iterator[Any]]] = ("", iter(()))
"""No table of numbers made ahead, for no dtype."""


class GeneratorState:
    """What a `Generator` knows about its state; see there."""

    def __init__(self, seed: object = None, library: Any = None, *, threads: int | None = 1) -> None:
        self._state, self._spawned = (_fresh_state(), 0) if seed is None else _checked_state(seed)
        self._trace = None if seed is None else current_trace()
        register_waiting()
        self._library = None if library is None else library_name(get_namespace(library))
        self._threads = _checked_threads(threads)
        self._lock = threading.Lock()

    @classmethod
    def seed_from_entropy(cls, library: Any = None, *, threads: int | None = 1) -> Self:
        """Make a generator whose state is all from the operating system's entropy: 186 bits of it.

        Parameters
        ----------
        library, threads
            See `Generator`.

        Returns
        -------
        Generator

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator.seed_from_entropy() == Generator.seed_from_entropy()
        False
        """
        return cls(None, library, threads=threads)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        register_pytree(cls, cls._flattened, cls._unflattened)

    def _flattened(self) -> tuple[tuple[Any], Any]:
        """The state as one int32 array of shape (6,), and what is static."""
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
        """Whether the state is what JAX put there: an array that may be traced, or anything else in its place."""
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
        a, b, c, d, e, f = to_numpy(origin).tolist()
        self._state = state = (a, b, c, d, e, f)
        return state

    @_state.setter
    def _state(self, state: Followed) -> None:
        self._place: tuple[Any, Any] = (state, 0) if isinstance(state[0], int) else (_packed(state), None)
        self._ahead: tuple[str, Iterator[Any]] = _NOTHING

    def _settled(self) -> Followed:
        """The state, of which no thread takes any more steps by itself."""
        (origin, length), (_, rows), self._ahead = self._place, self._ahead, _NOTHING
        if length:
            self._state = jump(origin, length - len(list(rows)))
        return self._state

    def _require_own_trace(self) -> None:
        """Refuse to draw in a function that is being compiled, unless the generator came into it."""
        trace = current_trace()
        if trace is not None and trace is not self._trace:
            raise RuntimeError(
                "the generator must be an argument of the function that JAX compiles, and one of its results: "
                "closed over, it would give the same numbers at every call"
            )

    def _few(self, n: int, dtype: str) -> Any:
        """A draw of so few uniforms that most of its time would go into finding the state.

        It comes from a table of the uniforms of the first streams for some steps. The next ones take its rows without
        a lock, until anything else is drawn: a row is handed out once, to whatever thread.
        """
        self._require_own_trace()
        with self._lock:
            length = min(8 * (self._place[1] or 1), MOST_AHEAD)
            state = self._settled()
            make = wide_numbers if dtype == "float64" else partial(numbers, dtype=dtype)
            table = make(host_namespace(), substreams(state, FEW), n=FEW * length)
            rows = iter(list(table.reshape(length, FEW)))
            first = next(rows)
            self._place, self._ahead = (state, length), (dtype, rows)
        return first[:n].copy()

    @property
    def state(self) -> tuple[int, ...]:
        """The six integers from which the next call starts, and how many generators were spawned.

        It may be set to whatever may be a seed. As a tuple of ints it can be compared, pickled and written as JSON; in
        a function that JAX compiles or maps, the six are arrays without axes.
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
        """The name of the library of the arrays, or None where the parameters and the configuration say."""
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

    def jumped(self, jumps: int = 1) -> Self:
        """Make a generator whose state is so many times 2**134 steps after this one's, which stays where it is.

        Parameters
        ----------
        jumps : int
            How often, 0 or more.

        Returns
        -------
        Generator

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator((1, 1, 1, 1, 1, 1)).jumped() == Generator((1, 1, 1, 1, 1, 1)).advance(2**134)
        True
        """
        return self._at(jumped(self._state, _count("jumps", jumps) * DRAW_STEPS))

    def advance(self, n: int) -> Self:
        """Move on by any number of steps of the recurrence, in time that grows with the digits of the number.

        Parameters
        ----------
        n : int
            How many steps, 0 or more.

        Returns
        -------
        Generator
            This one.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> rng = Generator((1, 1, 1, 1, 1, 1))
        >>> u = rng.random(20000)  # of 15360 streams, two steps
        >>> rng
        Generator((4194433, 4194433, 1, 86606, 65537, 1))
        >>> rng == Generator((1, 1, 1, 1, 1, 1)).advance(2)
        True
        """
        steps = _count("n", n)
        self._require_own_trace()
        with self._lock:
            self._state = jumped(self._settled(), steps)
        return self

    def fold_in(self, data: int | str) -> Self:
        """Make a generator from this one's state and a number or a name; this one stays as it is.

        Parameters
        ----------
        data : int, array or str
            Any integer, which may be traced by JAX, or any text. Different data give different generators, the same
            data the same one.

        Returns
        -------
        Generator

        Notes
        -----
        Its state is the hash of both by the method of NumPy's ``SeedSequence``, of 128 bits. The streams of two
        generators made so could only overlap by chance: of 2**20 generators, with a probability below 2**-88.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> rng = Generator(234)
        >>> rng.fold_in("weights") == rng.fold_in("weights"), rng.fold_in("weights") == rng.fold_in("biases")
        (True, False)
        """
        if isinstance(data, str):
            encoded = data.encode("utf-8", "surrogatepass")
            return self._hashed(_TEXT, len(encoded), int.from_bytes(encoded, "little"))
        if is_traced([data]):
            return self._folded(data)
        try:
            number = operator.index(data)
        except TypeError:
            raise TypeError(f"data must be an int or a str, got {data!r}") from None
        return self._hashed(_NUMBER, int(number < 0), abs(number))

    def spawn(self, n: int) -> list[Self]:
        """Make generators that have nothing to do with this one or with each other.

        Parameters
        ----------
        n : int
            How many, at most 2**25.

        Returns
        -------
        list of Generators
            Each from the hash of this one's state and of how many were spawned before it, as for `fold_in`. This one
            counts them and draws on as before.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> rng = Generator(234)
        >>> first, second = rng.spawn(2)
        >>> first == second, first == Generator(234).spawn(1)[0], rng.state[-1]
        (False, True, 2)
        """
        count = _count_of_generators(n)
        with self._lock:
            children = range(self._spawned, self._spawned + count)
            made = [self._hashed(_CHILD, child) for child in children]
            self._spawned += count
        return made

    def split(self, n: int = 2) -> list[Self]:
        """Make generators from this one's state alone; this one stays as it is, and is best not used any more.

        Parameters
        ----------
        n : int
            How many, at most 2**25.

        Returns
        -------
        list of Generators
            The same whenever the state is the same, unlike those of `spawn`.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> rng = Generator(234)
        >>> rng.split(2) == rng.split(3)[:2], rng == Generator(234)
        (True, True)
        """
        return [self._hashed(_PART, part) for part in range(_count_of_generators(n))]

    def substreams(self, n: int) -> list[Self]:
        """Make generators for so many workers, which surely share no number: each has 2**160 steps of its own.

        Parameters
        ----------
        n : int
            How many, at most 2**25.

        Returns
        -------
        list of Generators
            Number ``i`` starts ``i * 2**160`` steps after this one, which stays where it is; number 0 starts there.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> first, second = Generator(234).substreams(2)
        >>> first == Generator(234), second == Generator(234).jumped(2**26)
        (True, True)
        """
        count = _count_of_generators(n)
        if self._is_traced:
            return [self._at(jumped(self._state, k * _WORKER_STEPS)) for k in range(count)]
        if not count:
            return []
        states = starts(host_namespace(), self._state, count, _WORKER_STEPS)
        return [self._at((a, b, c, d, e, f)) for a, b, c, d, e, f in states.tolist()]

    def _at(self, state: Followed) -> Self:
        """A generator like this one, at a state."""
        made = object.__new__(type(self))
        made._state, made._spawned, made._lock = state, 0, threading.Lock()
        made._library, made._threads, made._trace = self._library, self._threads, self._trace
        register_waiting()
        return made

    def _hashed(self, *data: int) -> Self:
        """A generator whose state is the hash of this one's and of some numbers."""
        with self._hashing() as entropy:
            return self._at(hashed([*entropy, *_words(*data)]))

    def _folded(self, data: Any) -> Self:
        """What `fold_in` gives for a traced integer, of one word of 32 bits or of two."""
        if data.ndim or not is_integer(data):
            raise TypeError(f"data must be an int or a str, got an array of {dtype_name(data)} and shape {data.shape}")
        xp = array_namespace(data)
        with wide_dtypes(xp), self._hashing() as entropy:
            wide = xp.astype(data, dtype_of(xp, "int64"))
            is_negative = data < 0
            size = xp.where(is_negative, -wide, wide)
            low, high = size & (2**32 - 1), size >> 32 & (2**32 - 1)
            words = [*entropy, *_words(_NUMBER), 1, xp.astype(is_negative, wide.dtype)]
            one, two = hashed([*words, 1, low]), hashed([*words, 2, low, high])
            a, b, c, d, e, f = (xp.where(high == 0, short, long) for short, long in zip(one, two, strict=True))
            made = self._at((a, b, c, d, e, f))
        made._trace = current_trace()
        return made

    @contextmanager
    def _hashing(self) -> Iterator[Followed]:
        """The state, and a context in which it can be hashed."""
        state = self._state
        with nullcontext() if isinstance(state[0], int) else wide_dtypes(array_namespace(state[0])):
            yield state

    @contextmanager
    def _taking(self, n: int, *, pairs: bool = False) -> Iterator[Followed]:
        """Take the steps of one draw of `n` elements; given back if it fails, unless another draw came after it."""
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

    def _parameters(self, out: Any = None, /, **parameters: Any) -> tuple[Any, list[Any]]:
        """The library of an answer, which may go to `out`, and the parameters as numbers and arrays of it."""
        return self._alike(out, *(checked(name, value) for name, value in parameters.items()))

    def _alike(self, out: Any, *values: Any) -> tuple[Any, list[Any]]:
        """The library of an answer, and numbers and arrays, the arrays of that library."""
        arrays = [out] if is_array(out) else [value for value in values if is_array(value)]
        if self._is_traced:
            xp = array_namespace(self._place[0])
        else:
            xp = array_namespace(*arrays) if self._library is None else get_namespace(self._library)
        return xp, [_brought(value, xp) if is_array(value) else value for value in values]


def _brought(value: Any, xp: Any) -> Any:
    """An array as it is, one of NumPy's on the library, where JAX without its 64-bit types has it in 32."""
    if library_name(value) == library_name(xp):
        return value
    return asarray(value, xp, running_dtype(xp, value.dtype))


def _remade(kind: Any, state: Any, library: str | None, threads: int) -> Any:
    return kind(state, None if library is None else imported(library), threads=threads)


def _packed(state: Followed) -> Any:
    """A state of six arrays as one."""
    xp = array_namespace(state[0])
    with wide_dtypes(xp):
        return join(xp, state)


def _words(*data: int) -> list[int]:
    """Numbers as words of 32 bits, each after how many it has."""
    words = []
    for number in data:
        shifts = range(0, max(1, number.bit_length()), 32)
        words += [len(shifts), *(number >> shift & (2**32 - 1) for shift in shifts)]
    return words


def _checked_state(seed: Any) -> tuple[Followed, int]:
    """The six integers and the counter of a seed, or of a state."""
    if isinstance(seed, (tuple, list)) and len(seed) in (6, 7) and is_traced(seed):
        xp = array_namespace(*(number for number in seed[:6] if is_array(number)))
        with wide_dtypes(xp):
            a, b, c, d, e, f = (asarray(number, xp, "int64") for number in seed[:6])
        return (a, b, c, d, e, f), _count("the counter of the state", seed[6]) if len(seed) == 7 else 0
    if isinstance(seed, (tuple, list)) and len(seed) == 7:
        return hashed_seed(seed[:6]), _count("the counter of the state", seed[6])
    return hashed_seed(seed), 0


def _fresh_state() -> State:
    return from_words([secrets.randbits(64) for _ in range(6)])


def _count_of_generators(n: Any) -> int:
    count = _count("n", n)
    if count > _MOST_AT_ONCE:
        raise ValueError(f"n must be at most 2**25, got {count}")
    return count


def _count(name: str, value: Any) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, got {value!r}") from None
    if count < 0:
        raise ValueError(f"{name} must be 0 or more, got {count}")
    return count


def _checked_threads(threads: Any) -> int:
    if threads is None:
        return os.cpu_count() or 1
    count = None if isinstance(threads, bool) else known_integer(threads)
    if isinstance(count, int) and count > 0:
        return count
    raise ValueError(f"threads must be an int of 1 or more, or None for as many as there are cores; got {threads!r}")
