"""The state of a `Generator`: where it is, how it moves on, and other generators made from it.

What this chapter must satisfy: the state is six integers and a counter, that can be looked at, set, compared, copied,
written down and read again; each draw takes a state of its own, in whatever thread; a call that fails takes none.
"""

from __future__ import annotations

import hashlib
import operator
import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Self

from nbm_xp.namespace import array_namespace, convert, get_namespace, is_array, library_name
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, State, jump

from ..parameters import checked, known_integer
from ..seeds import check_seed, fresh_seed, from_words

__all__ = ["GeneratorState", "WORKER_DRAWS"]

WORKER_DRAWS: Final = 2**26
"""How many draws lie between one of `substreams` and the next."""

_MOST_WORKERS: Final = 2**25  # of them fit the period, which is close to 2**185


class GeneratorState:
    """What a `Generator` knows about its state; see there."""

    def __init__(self, seed: object = None, library: str | None = None, *, threads: int | None = 1) -> None:
        self._state, self._spawned = _checked_state(fresh_seed() if seed is None else seed)
        self._library = None if library is None else library_name(get_namespace(library))
        self._threads = _checked_threads(threads)
        self._lock = threading.Lock()

    @classmethod
    def seed_from_entropy(cls, library: str | None = None, *, threads: int | None = 1) -> Self:
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
        return cls(from_words([secrets.randbits(64) for _ in range(6)]), library, threads=threads)

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
            return self._hashed(self.state, f"text {data}")
        try:
            number = operator.index(data)
        except TypeError:
            raise TypeError(f"data must be an int or a str, got {data!r}") from None
        return self._hashed(self.state, f"number {number}")

    def spawn(self, n: int) -> list[Self]:
        """Make generators that have nothing to do with this one or with each other.

        Parameters
        ----------
        n : int
            How many.

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
        >>> first == second, first == Generator(234).spawn(1)[0], rng.state
        (False, True, (234, 234, 234, 234, 234, 234, 2))
        """
        count = _count("n", n)
        with self._lock:
            state, first = self._state, self._spawned
            self._spawned += count
        return [self._hashed(state, f"child {child}") for child in range(first, first + count)]

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
        count, state = _count("n", n), self._state
        if count > _MOST_WORKERS:
            raise ValueError(f"n must be at most 2**25, which fill the period; got {count}")
        workers = []
        for _ in range(count):
            workers.append(type(self)(state, self._library, threads=self._threads))
            state = jump(state, WORKER_DRAWS * DRAW_STEPS)
        return workers

    def _hashed(self, state: Sequence[int], text: str) -> Self:
        """A generator from a hash."""
        digest = hashlib.blake2b(
            f"{' '.join(map(str, state))} {text}".encode("utf-8", "surrogatepass"), digest_size=48
        ).digest()
        words = [int.from_bytes(digest[i : i + 8], "little") for i in range(0, 48, 8)]
        return type(self)(from_words(words), self._library, threads=self._threads)

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
        return xp, [convert(value, xp) if is_array(value) else value for value in values]


def _remade(kind: Any, state: Any, library: str | None, threads: int) -> Any:
    return kind(state, library, threads=threads)


def _checked_state(seed: Any) -> tuple[State, int]:
    """The six integers and the counter of a seed, or of a state."""
    if isinstance(seed, (tuple, list)) and len(seed) == 7:
        return check_seed(seed[:6]), _count("the counter of the state", seed[6])
    return check_seed(seed), 0


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
