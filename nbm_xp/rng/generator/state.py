"""The state of a `Generator`: where it is, how it moves on, and other generators made from it.

Contract: the state is six integers and a counter, that can be looked at, set, compared, copied,
written down and read again; each draw takes a state of its own, in whatever thread; a call that fails takes none.
"""

from __future__ import annotations

import hashlib
import operator
import os
import secrets
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, State, jump

from ..parameters import checked, known_integer
from ..recurrence import starts
from ..seeds import from_words, hashed_seed

__all__ = ["GeneratorState", "WORKER_DRAWS"]

WORKER_DRAWS: Final = 2**26
"""How many draws lie between one of `substreams` and the next."""

_MOST_AT_ONCE: Final = 2**25
"""So many generators are made at once: of `substreams`, as many as fit the period, which is close to 2**185."""


_SIX_WORDS: Final = struct.Struct("<6Q")


class GeneratorState:
    """What a `Generator` knows about its state; see there."""

    def __init__(self, seed: object = None, library: Any = None, *, threads: int | None = 1) -> None:
        self._state, self._spawned = (_fresh_state(), 0) if seed is None else _checked_state(seed)
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

    def jump(self, times: int = 1) -> Self:
        """Move on by 2**134 steps, as a draw does, without drawing.

        Parameters
        ----------
        times : int
            How often.

        Returns
        -------
        Generator
            This one.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> rng = Generator(234)
        >>> u = rng.random(3)
        >>> rng == Generator(234).jump()
        True
        """
        return self.advance(_count("times", times) * DRAW_STEPS)

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
        >>> Generator((1, 1, 1, 1, 1, 1)).advance(1)
        Generator((4194433, 1, 1, 65537, 1, 1))
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
        Its state is the BLAKE2b hash [1]_ of both. The streams of two generators made so could only overlap by chance:
        of 2**20 generators that draw 2**40 numbers each, with a probability below 2**-60.

        References
        ----------
        .. [1] M.-J. Saarinen and J.-P. Aumasson, "The BLAKE2 cryptographic hash and message authentication code",
           RFC 7693, 2015.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> rng = Generator(234)
        >>> rng.fold_in("weights") == rng.fold_in("weights"), rng.fold_in("weights") == rng.fold_in("biases")
        (True, False)
        """
        if isinstance(data, str):
            return self._at(_ended(_hash_of(self.state, "text "), data))
        try:
            number = operator.index(data)
        except TypeError:
            raise TypeError(f"data must be an int or a str, got {data!r}") from None
        return self._at(_ended(_hash_of(self.state, "number "), str(number)))

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
            counts them and draws on as if nothing had been.

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
            begun = _hash_of(self._state, "child ")
            children = range(self._spawned, self._spawned + count)
            made = [self._at(_ended(begun, str(child))) for child in children]
            self._spawned += count
        return made

    def substreams(self, n: int) -> list[Self]:
        """Make generators for so many workers, which surely share no number for 2**26 draws each.

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
        >>> first == Generator(234), second == Generator(234).jump(2**26)
        (True, True)
        """
        count = _count_of_generators(n)
        if not count:
            return []
        states = starts(host_namespace(), self._state, count, WORKER_DRAWS * DRAW_STEPS)
        return [self._at((a, b, c, d, e, f)) for a, b, c, d, e, f in states.tolist()]

    def _at(self, state: State) -> Self:
        """A generator like this one, at a state."""
        made = object.__new__(type(self))
        made._state, made._spawned, made._lock = state, 0, threading.Lock()
        made._library, made._threads = self._library, self._threads
        return made

    def _take(self) -> State:
        """The state for one call, moving on to the next."""
        with self._lock:
            state = self._state
            self._state = jump(state, DRAW_STEPS)
        return state

    @contextmanager
    def _taking(self) -> Iterator[State]:
        """The state for one call; it is given back if the call fails, unless another call came after it."""
        state = self._take()
        try:
            yield state
        except BaseException:
            with self._lock:
                if self._state == jump(state, DRAW_STEPS):
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


def _hash_of(state: Sequence[int], text: str) -> Any:
    """The hash of a state and the beginning of a text, to be ended."""
    return hashlib.blake2b(f"{' '.join(map(str, state))} {text}".encode(), digest_size=48)


def _ended(begun: Any, text: str) -> State:
    """The state that a hash stands for when it has the rest of its text."""
    hashed = begun.copy()
    hashed.update(text.encode("utf-8", "surrogatepass"))
    return from_words(_SIX_WORDS.unpack(hashed.digest()))


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
