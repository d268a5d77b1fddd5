"""`Generator`: random arrays, with the method names of `numpy.random.Generator`.

Contract: the same seed and the same calls give the same numbers, on every library and for every chunking; a shorter
draw is a prefix of a longer one; generators made by hashing a state are independent of it and of one another. The
methods are grouped in base classes that share the state.
"""

from __future__ import annotations

import operator
from typing import Any, Final, Self

from nbm_xp.namespace import array_namespace, dtype_name, dtype_of, host_namespace, is_integer, wide_dtypes
from nbm_xp.namespace.compiling import current_trace, is_traced
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS

from ..parameters import count_of
from ..recurrence import jumped
from ..seeds import hashed
from .choices import Choices
from .counts import Counts
from .real_numbers import RealNumbers
from .tailed_numbers import TailedNumbers
from .vectors import Vectors

__all__ = ["Generator"]

_WORKER_STEPS: Final = 2**160  # steps between consecutive generators of `substreams`
_MOST_BITS: Final = 25  # log2 of the largest number of generators: 2**25 `substreams` fit the period, close to 2**185
# Tags hashed with the state: an integer or a text of `fold_in`, a child of `spawn`, a part of `split`.
_NUMBER, _TEXT, _CHILD, _PART = range(4)


class Generator(RealNumbers, TailedNumbers, Counts, Vectors, Choices):
    """A generator of random arrays.

    Parameters
    ----------
    seed : int, six ints, a state, a SeedSequence, or None
        Non-negative integer of any size; or the six integers of a state, with or without its counter; or a
        ``SeedSequence`` of NumPy. None takes a state from the operating system.
    library : str or namespace, optional
        Array library of the results: a name that `nbm_xp.set_backend` accepts, or a namespace. By default the library
        of the array parameters, else the default library.
    threads : int or None
        Number of threads that compute a NumPy array, except in `multinomial`, `categorical` and random orders; None for
        one per core. The numbers do not depend on it.

    Notes
    -----
    The numbers are outputs of MRG31k3p [1]_. Its period is divided into streams 2**72 steps apart, of which a draw uses
    15360, the most that Theano's ``MRG_RandomStreams`` [2]_ uses: element ``i``, in C order, comes from stream
    ``i mod 15360`` at step ``i div 15360`` after the state. A draw of ``n`` elements advances the state by
    ``n / 15360`` steps, rounded up; a draw of normal numbers, which are made in pairs of steps, by an even number of
    steps. So a draw is a prefix of any longer one from the same state, and its numbers depend neither on the library
    nor on the chunks. If an element needs several outputs, they lie 2**56 steps apart.

    An integer seed is hashed by NumPy's ``SeedSequence``, so that consecutive seeds give independent numbers.
    `RandomStreams` repeats it six times instead, as Theano does: its seed 234 is the state ``(234,) * 6``.

    Parameters that several methods share:

    size : int or tuple of ints
        Shape of the result. By default the shape that the parameters broadcast to, ``()`` if all of them are numbers.
    dtype : str
        dtype of the result. By default ``floatx``, promoted with the dtypes of the array parameters.
    chunks
        Chunks of the result, in any form that Dask, or another lazy library with blocks, accepts. By default each axis
        has the chunks of the first parameter with that axis, else the library's choice. Other libraries ignore it.
    out : array
        Writable array that receives the numbers and is returned. It belongs to the library of the draw; `size` and
        `dtype` default to its shape and dtype, and must equal them if given.
    bits : {31, 53}
        Number of random bits of a uniform. Defaults to 53, from two outputs, in float64, where 31 can be requested
        instead; 31 in the other dtypes, of which float32 keeps 24.

    A parameter out of range raises `ValueError`, one of a wrong type `TypeError`; the message names the parameter, and
    the state does not change. Values in a Dask array are checked when the array is computed.

    Real numbers have first derivatives with respect to their parameters on PyTorch and JAX, and for Tensors, where the
    draw is recorded with the uniforms of the call. Derivatives are taken at a fixed probability, for rejection methods
    by implicit reparametrisation [3]_, so that the mean derivative of a function is the derivative of its mean. Counts
    and choices have none: a parameter that requires a gradient raises `ValueError`, a Tensor `TypeError`.

    References
    ----------
    .. [1] P. L'Ecuyer and R. Touzin, "Fast combined multiple recursive generators with multipliers of the form
       a = ±2^q ± 2^r", Proceedings of the 2000 Winter Simulation Conference, 683-689.
    .. [2] Theano documentation, ``theano.sandbox.rng_mrg``.
    .. [3] M. Figurnov, S. Mohamed and A. Mnih, "Implicit reparameterization gradients", Advances in Neural Information
       Processing Systems 31 (2018).
    .. [4] L. Devroye, "Non-uniform random variate generation", Springer, 1986.
    .. [5] N. L. Johnson, S. Kotz and N. Balakrishnan, "Continuous univariate distributions", volume 1, second edition,
       Wiley, 1994; volume 2, 1995.
    .. [6] D. E. Knuth, "The art of computer programming", volume 2, third edition, 1997.

    Examples
    --------
    >>> rng = Generator(234)
    >>> rng.uniform(-1.0, 1.0, size=3, dtype="float64").round(3).tolist()
    [-0.49, -0.24, 0.943]
    >>> Generator(234).uniform(-1.0, 1.0, size=2, dtype="float64").round(3).tolist()  # it begins as the longer draw
    [-0.49, -0.24]
    >>> Generator(rng.state) == rng
    True
    """

    def jumped(self, jumps: int = 1) -> Self:
        """Return a generator that is `jumps` times 2**134 steps ahead; this generator does not change.

        Parameters
        ----------
        jumps : int
            Number of jumps, 0 or more.

        Returns
        -------
        Generator

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator((1, 1, 1, 1, 1, 1)).jumped() == Generator((1, 1, 1, 1, 1, 1)).advance(2**134)
        True
        """
        return self._at(jumped(self._state, count_of("jumps", jumps) * DRAW_STEPS))

    def advance(self, n: int) -> Self:
        """Advance the state by `n` steps of the recurrence, in time that grows with the logarithm of `n`.

        Parameters
        ----------
        n : int
            Number of steps, 0 or more.

        Returns
        -------
        Generator
            This generator.

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
            self._state = jumped(self._settled(), steps)
        return self

    def fold_in(self, data: int | str) -> Self:
        """Return a generator derived from this generator's state and `data`; this generator does not change.

        Parameters
        ----------
        data : int, array or str
            Any integer, which JAX may trace, or any text. Different data give different generators, equal data equal
            generators.

        Returns
        -------
        Generator

        Notes
        -----
        The new state is the hash of both by the method of NumPy's ``SeedSequence``, with 128 bits. Streams of
        generators made this way overlap only by chance: among 2**20 generators, with a probability below 2**-88.

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
        """Return generators that are independent of this generator and of one another.

        Parameters
        ----------
        n : int
            Number of generators, at most 2**25.

        Returns
        -------
        list of Generators
            Each is derived from the hash of this generator's state and the number of generators spawned before it, as
            in `fold_in`. Spawning increases the counter of this generator and does not change its draws.

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
        """Return generators derived from the state alone; this generator does not change and should not be used again.

        Parameters
        ----------
        n : int
            Number of generators, at most 2**25.

        Returns
        -------
        list of Generators
            Equal states give equal generators, unlike with `spawn`.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> rng = Generator(234)
        >>> rng.split(2) == rng.split(3)[:2], rng == Generator(234)
        (True, True)
        """
        return [self._hashed(_PART, part) for part in range(count_of("n", n, bits=_MOST_BITS))]

    def substreams(self, n: int) -> list[Self]:
        """Return generators for parallel workers, 2**160 steps apart: they share no numbers.

        Parameters
        ----------
        n : int
            Number of generators, at most 2**25.

        Returns
        -------
        list of Generators
            Generator ``i`` starts ``i * 2**160`` steps after this generator, which does not change.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> first, second = Generator(234).substreams(2)
        >>> first == Generator(234), second == Generator(234).jumped(2**26)
        (True, True)
        """
        made, state = [], self._state
        for _ in range(count_of("n", n, bits=_MOST_BITS)):
            made.append(self._at(state))
            state = jumped(state, _WORKER_STEPS)
        return made

    def _hashed(self, *data: int) -> Self:
        """Return a generator whose state is the hash of this generator's state and of some numbers."""
        state = self._state
        with wide_dtypes(array_namespace(state[0]) if is_traced(state) else host_namespace()):
            return self._at(hashed([*state, *_words(*data)]))

    def _folded(self, data: Any) -> Self:
        """Return the generator of `fold_in` for a traced integer, of one or two 32-bit words."""
        if data.ndim or not is_integer(data):
            raise TypeError(f"data must be an int or a str, got an array of {dtype_name(data)} and shape {data.shape}")
        xp = array_namespace(data)
        with wide_dtypes(xp):
            wide = xp.astype(data, dtype_of(xp, "int64"))
            is_negative = data < 0
            size = xp.where(is_negative, -wide, wide)
            low, high = size & (2**32 - 1), size >> 32 & (2**32 - 1)
            words = [*self._state, *_words(_NUMBER), 1, xp.astype(is_negative, wide.dtype)]
            one, two = hashed([*words, 1, low]), hashed([*words, 2, low, high])
            made = self._at(tuple(xp.where(high == 0, short, long) for short, long in zip(one, two, strict=True)))
        made._trace = current_trace()
        return made


def _words(*data: int) -> list[int]:
    """Return numbers as 32-bit words, each number preceded by its number of words."""
    words = []
    for number in data:
        shifts = range(0, max(1, number.bit_length()), 32)
        words += [len(shifts), *(number >> shift & (2**32 - 1) for shift in shifts)]
    return words
