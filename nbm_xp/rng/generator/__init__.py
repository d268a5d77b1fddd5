"""`Generator`: random arrays at once, with the method names of `numpy.random.Generator`.

Contract: the same seed and the same calls give the same numbers, on every library and for every chunking; a shorter
draw begins as a longer one does. The methods stand in chapters, all over the one state.
"""

from __future__ import annotations

from typing import Any, Self

from .choices import Choices
from .counts import Counts
from .real_numbers import RealNumbers
from .spawning import Spawning
from .tailed_numbers import TailedNumbers
from .vectors import Vectors

__all__ = ["Generator"]


class Generator(RealNumbers, TailedNumbers, Counts, Vectors, Choices, Spawning):
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
