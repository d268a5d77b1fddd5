"""`Generator`: random arrays at once, with the method names of `numpy.random.Generator`.

Contract: the same seed and the same calls give the same numbers, on every library and for every chunking; a shorter
draw begins as a longer one does; generators made by hashing a state are independent of it and of one another. The
draws stand in chapters, all over the one state.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final, Self

from nbm_xp.namespace import array_namespace, dtype_name, dtype_of, is_integer, wide_dtypes
from nbm_xp.namespace.compiling import current_trace, is_traced
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, Followed

from ..parameters import count_of
from ..recurrence import jumped
from ..seeds import hashed
from .choices import Choices
from .counts import Counts
from .real_numbers import RealNumbers
from .tailed_numbers import TailedNumbers
from .vectors import Vectors

__all__ = ["Generator"]

_WORKER_STEPS: Final = 2**160  # steps between one of `substreams` and the next
_MOST_BITS: Final = 25  # of how many generators: of `substreams`, as many as fit the period, which is close to 2**185
_NUMBER, _TEXT, _CHILD, _PART = range(4)
"""What is hashed with the state: data of `fold_in`, the number of a child of `spawn` or of a part of `split`."""


class Generator(RealNumbers, TailedNumbers, Counts, Vectors, Choices):
    """A source of random arrays.

    Parameters
    ----------
    seed : int, six ints, a state, a SeedSequence, or None
        0 or more, of any size; or the six integers of a state, or those and its counter; or a ``SeedSequence`` of
        NumPy. None takes a state from the operating system.
    library : str or namespace, optional
        The library of the arrays, as `nbm_xp.set_backend` knows it, or its namespace. Without it each array is of the
        library of the parameters that are arrays, else of the default library.
    threads : int or None
        How many threads make a NumPy array, other than of `multinomial`, `categorical` or random orders; None for as
        many as there are cores. It changes no number.

    Notes
    -----
    The numbers are those of MRG31k3p [1]_. Its period is divided into streams 2**72 steps apart, of which a draw takes
    15360, as Theano's ``MRG_RandomStreams`` [2]_ does at most: element ``i``, in C order, comes from stream
    ``i mod 15360`` at step ``i div 15360`` after the state, and ``n`` elements move the state on by ``n / 15360``
    steps, rounded up; normal numbers, which are made in pairs of steps, by an even number. So a draw begins as any
    longer one from the same state does, and its numbers depend neither on the library nor on how Dask splits the
    array. Where an element needs several outputs, they lie 2**56 steps apart.

    An integer is hashed by NumPy's ``SeedSequence``, so that seeds may follow one another. `RandomStreams` repeats it
    six times, as Theano does: its numbers for seed 234 are those of ``Generator((234,) * 6)``.

    Where methods have parameters in common, they mean the same:

    size : int or tuple of ints
        The shape. Without it, that of the parameters together, and no axes where all of them are numbers.
    dtype : str
        The dtype. Without it, ``floatx``, or more where a parameter is an array of more.
    chunks
        How Dask, or another lazy library in blocks, is to split the array, in any form that it takes. By default each
        axis is split as the first parameter that has it, else as the library likes. Other libraries take no notice.
    out : array
        Takes the numbers, and is given back: an array that can be written to, of the library, shape and dtype of the
        draw, both of which it says where they are not given.
    bits : {31, 53}
        How many bits a uniform has: 53, of two outputs, where it is float64, unless 31 are asked for; 31 otherwise, of
        which float32 keeps 24.

    A parameter out of range is a ValueError that names it, one of a wrong kind a TypeError, and the state stays as it
    was. Values in a Dask array are not known before it is computed, and are an error then.

    Real numbers have first derivatives in their parameters on PyTorch and JAX, and where parameters are Tensors, of
    which the draw is recorded then, with the uniforms of the call. They are derivatives at a fixed probability, by
    implicit reparametrisation [3]_ where rejection makes the numbers, so that the mean derivative of a function is that
    of its mean. Counts and choices have none: parameters that require a gradient are a ValueError, Tensors a TypeError.

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
        return self._at(jumped(self._state, count_of("jumps", jumps) * DRAW_STEPS))

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
        made, state = [], self._state
        for _ in range(count_of("n", n, bits=_MOST_BITS)):
            made.append(self._at(state))
            state = jumped(state, _WORKER_STEPS)
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
