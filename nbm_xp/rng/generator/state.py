"""The state of a `Generator`: where it is, how it moves on, and other generators made from it.

Contract: the state is six integers and a counter, that can be looked at, set, compared, copied,
written down and read again; each draw takes steps of its own, in whatever thread; a call that fails takes none.
"""

from __future__ import annotations

import operator
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Self

from nbm_xp.namespace import (
    array_namespace,
    asarray,
    get_namespace,
    host_namespace,
    is_array,
    library_name,
    running_dtype,
)
from nbm_xp.namespace.libraries import imported
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, MAX_STREAMS, State, jump

from ..parameters import checked, known_integer
from ..recurrence import starts
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


class GeneratorState:
    """What a `Generator` knows about its state; see there."""

    def __init__(self, seed: object = None, library: Any = None, *, threads: int | None = 1) -> None:
        self._state, self._spawned = (_fresh_state(), 0) if seed is None else _checked_state(seed)
        self._ahead: tuple[str, Any] | None = None
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

    @property
    def _state(self) -> State:
        origin, steps = self._place
        return jump(origin, steps) if steps else origin

    @_state.setter
    def _state(self, state: State) -> None:
        self._place = state, 0
        self._ahead = None

    def _few(self, n: int, dtype: str) -> Any:
        """A draw of so few uniforms that most of its time would go into finding the state: rows of a table.

        The table has the uniforms of the first streams for some steps after an origin; it is there until anything else
        is drawn.
        """
        with self._lock:
            origin, step = self._place
            ahead = self._ahead
            if ahead is None or ahead[0] != dtype or step >= ahead[1].shape[0]:
                length = 8 if ahead is None else min(8 * ahead[1].shape[0], MOST_AHEAD)
                origin, step = self._state, 0
                states = substreams(origin, FEW)
                make = wide_numbers if dtype == "float64" else partial(numbers, dtype=dtype)
                table = make(host_namespace(), states, n=FEW * length)
                ahead = self._ahead = dtype, table.reshape(length, FEW)
            self._place = origin, step + 1
            return ahead[1][step, :n].copy()

    @property
    def state(self) -> tuple[int, ...]:
        """The six integers from which the next call starts, and how many generators were spawned.

        It may be set to whatever may be a seed. As a tuple of ints it can be compared, pickled and written as JSON.
        """
        return (*self._state, self._spawned)

    @state.setter
    def state(self, state: object) -> None:
        found = _checked_state(state)
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
        return self._at(jump(self._state, _count("jumps", jumps) * DRAW_STEPS))

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
        with self._lock:
            self._state = jump(self._state, steps)
        return self

    def fold_in(self, data: int | str) -> Self:
        """Make a generator from this one's state and a number or a name; this one stays as it is.

        Parameters
        ----------
        data : int or str
            Any integer, or any text. Different data give different generators, the same data the same one.

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
        if not count:
            return []
        states = starts(host_namespace(), self._state, count, _WORKER_STEPS)
        return [self._at((a, b, c, d, e, f)) for a, b, c, d, e, f in states.tolist()]

    def _at(self, state: State) -> Self:
        """A generator like this one, at a state."""
        made = object.__new__(type(self))
        made._state, made._spawned, made._lock = state, 0, threading.Lock()
        made._library, made._threads = self._library, self._threads
        return made

    def _hashed(self, *data: int) -> Self:
        """A generator whose state is the hash of this one's and of some numbers."""
        entropy = [*self._state]
        for number in data:
            words = range(0, max(1, number.bit_length()), 32)
            entropy += [len(words), *(number >> shift & (2**32 - 1) for shift in words)]
        return self._at(hashed(entropy))

    @contextmanager
    def _taking(self, n: int, *, pairs: bool = False) -> Iterator[State]:
        """Take the steps of one draw of `n` elements; given back if it fails, unless another draw came after it."""
        steps = -(-n // MAX_STREAMS)
        steps += pairs and steps % 2
        with self._lock:
            state = self._state
            after = self._state = jump(state, steps)
        try:
            yield state
        except BaseException:
            with self._lock:
                if self._state == after:
                    self._state = state
            raise

    def _parameters(self, out: Any = None, /, **parameters: Any) -> tuple[Any, list[Any]]:
        """The library of an answer, which may go to `out`, and the parameters as numbers and arrays of it."""
        return self._alike(out, *(checked(name, value) for name, value in parameters.items()))

    def _alike(self, out: Any, *values: Any) -> tuple[Any, list[Any]]:
        """The library of an answer, and numbers and arrays, the arrays of that library."""
        arrays = [out] if is_array(out) else [value for value in values if is_array(value)]
        xp = array_namespace(*arrays) if self._library is None else get_namespace(self._library)
        return xp, [_brought(value, xp) if is_array(value) else value for value in values]


def _brought(value: Any, xp: Any) -> Any:
    """An array as it is, one of NumPy's on the library, where JAX without its 64-bit types has it in 32."""
    if library_name(value) == library_name(xp):
        return value
    return asarray(value, xp, running_dtype(xp, value.dtype))


def _remade(kind: Any, state: Any, library: str | None, threads: int) -> Any:
    return kind(state, None if library is None else imported(library), threads=threads)


def _checked_state(seed: Any) -> tuple[State, int]:
    """The six integers and the counter of a seed, or of a state."""
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
