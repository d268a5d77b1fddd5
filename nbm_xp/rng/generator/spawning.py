"""Generators made from a `Generator`'s state, which stays where it is, and steps that are passed over.

Contract: the same generators from the same state; those made by hashing it have nothing to do with one another.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final, Self

from nbm_xp.namespace import array_namespace, dtype_name, dtype_of, host_namespace, is_integer, wide_dtypes
from nbm_xp.namespace.compiling import current_trace, is_traced
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, Followed

from ..parameters import count_of
from ..recurrence import jumped as _jumped
from ..recurrence import starts
from ..seeds import hashed
from .state import GeneratorState

__all__ = ["Spawning"]

_WORKER_STEPS: Final = 2**160  # steps between one of `substreams` and the next
_MOST_BITS: Final = 25  # of how many generators: of `substreams`, as many as fit the period, which is close to 2**185
_NUMBER, _TEXT, _CHILD, _PART = range(4)
"""What is hashed with the state: data of `fold_in`, the number of a child of `spawn` or of a part of `split`."""


class Spawning(GeneratorState):
    """See `nbm_xp.rng.Generator`."""

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
        return self._at(_jumped(self._state, count_of("jumps", jumps) * DRAW_STEPS))

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
        steps = count_of("n", n)
        self._require_own_trace()
        with self._lock:
            self._state = _jumped(self._settled(), steps)
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
        count = count_of("n", n, bits=_MOST_BITS)
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
        return [self._hashed(_PART, part) for part in range(count_of("n", n, bits=_MOST_BITS))]

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
        count = count_of("n", n, bits=_MOST_BITS)
        if self._is_traced:
            return [self._at(_jumped(self._state, k * _WORKER_STEPS)) for k in range(count)]
        if not count:
            return []
        states = starts(host_namespace(), self._state, count, _WORKER_STEPS)
        return [self._at(tuple(state)) for state in states.tolist()]

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
            made = self._at(tuple(xp.where(high == 0, short, long) for short, long in zip(one, two, strict=True)))
        made._trace = current_trace()
        return made

    @contextmanager
    def _hashing(self) -> Iterator[Followed]:
        """The state, and a context in which it can be hashed."""
        state = self._state
        with nullcontext() if isinstance(state[0], int) else wide_dtypes(array_namespace(state[0])):
            yield state


def _words(*data: int) -> list[int]:
    """Numbers as words of 32 bits, each after how many it has."""
    words = []
    for number in data:
        shifts = range(0, max(1, number.bit_length()), 32)
        words += [len(shifts), *(number >> shift & (2**32 - 1) for shift in shifts)]
    return words
