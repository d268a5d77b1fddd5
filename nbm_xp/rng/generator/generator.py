"""`Generator`: random arrays at once, with the method names of `numpy.random.Generator`.

Contract: the same seed and the same calls give the same numbers, on every library and for every
chunking, and those of `RandomStreams` where that has them.

The methods stand in rooms, each built on the ones before: `uniform_draws`; `real_draws`, `ratio_draws`, `tail_draws`;
`count_draws`, `tally_draws`, `vector_draws`, `choice_draws` and `order_draws`. They share the state of `state`.
"""

from __future__ import annotations

from .order_draws import OrderDraws

__all__ = ["Generator"]


class Generator(OrderDraws):
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
    The numbers are those of MRG31k3p [1]_ in the layout of Theano's ``MRG_RandomStreams`` [2]_, bit for bit: each call
    takes `nstreams` streams, 2**72 steps apart, deals the elements out to them in turn, and moves the state on by
    2**134 steps. So what one call gives depends on the calls before it, but neither on their sizes nor on the library
    nor on how Dask splits the array. Where an element needs several uniforms, they are those that as many draws of the
    same size from the same streams give for it, however many other elements need.

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
    nstreams : int
        How many streams to take. By default a sixth of the number of elements, at most 15360.
    out : array
        Takes the numbers, and is given back: an array that can be written to, of the library, shape and dtype of the
        draw, both of which it says where they are not given.
    resolution : {31, 53}
        How many bits a float64 has; with 53 each takes two draws.

    A parameter out of range is a ValueError that names it, one of a wrong kind a TypeError, and the state stays as it
    was. Values in a Dask array are not known before it is computed, and are refused then.

    References
    ----------
    .. [1] P. L'Ecuyer and R. Touzin, "Fast combined multiple recursive generators with multipliers of the form
       a = ±2^q ± 2^r", Proceedings of the 2000 Winter Simulation Conference, 683-689.
    .. [2] Theano documentation, ``theano.sandbox.rng_mrg``.

    Examples
    --------
    >>> rng = Generator(234)
    >>> rng.uniform(-1.0, 1.0, size=3, dtype="float64").round(3).tolist()
    [-0.49, -0.24, 0.943]
    >>> rng
    Generator((514645935, 1365741631, 1335374371, 1923568490, 2105946628, 981233701))
    >>> Generator(rng.state) == rng
    True
    """
