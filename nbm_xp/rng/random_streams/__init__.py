"""`RandomStreams`: recorded draws, which give new numbers each time they are evaluated.

Contract: the names, parameters and numbers of Theano's ``MRG_RandomStreams``, and sizes that may be unknown until a
graph runs.

References
----------
.. [1] Theano documentation, ``theano.sandbox.rng_mrg.MRG_RandomStreams``.
"""

from __future__ import annotations

import math
from typing import Any

from nbm_xp.namespace import dtype_name, floatx, is_complex, promote_types
from nbm_xp.namespace.errors import check_flag
from nbm_xp.namespace.mrg31k3p.integers import MAX_STREAMS
from nbm_xp.tape import Tensor
from nbm_xp.tape import namespace as recorded

from .. import recorded as operations
from ..parameters import bounds_of, count_of, line_between, real_dtype, scaled_and_shifted
from ..recorded import as_parameter, equal_chances, recorded_count, recorded_shape, things_of
from .states import StreamStates

__all__ = ["RandomStreams"]


class RandomStreams(StreamStates):
    """A generator of random draws that are Tensors.

    Parameters
    ----------
    seed : int or six ints
        Default seed: an int from 1 to 2147462578, which is repeated six times; or six ints, the first three below
        2147483647 and not all 0, the last three below 2147462579 and not all 0.
    use_cuda : optional
        Ignored: a draw is computed where its graph runs.

    Attributes
    ----------
    state_updates : list of tuples
        For each draw its state, the state after its next evaluation, its size, and `nstreams` as passed.

    Notes
    -----
    An int is repeated, not hashed, as in Theano: the numbers of similar seeds are correlated, and those of seed 2 are
    twice those of seed 1 modulo 1. For several independent streams use one object, or seeds made by `hashed_seed`.

    Parameters that several methods share:

    size : tuple of ints, or Tensor
        Shape. Its lengths may be ints, unknown lengths of Tensors (``x.shape[0]``) or integer Tensors; the whole size
        may be an integer Tensor with one axis. None is the shape that the parameters broadcast to; at least one of them
        must then be an array or a Tensor.
    ndim : int, optional
        Number of axes; required if `size` is a Tensor of unknown length.
    dtype : str
        dtype of the draw.
    nstreams : int, optional
        Number of streams. Defaults to a sixth of the number of elements, at most 15360, and to 15360 if the size is
        unknown. At each evaluation the elements are assigned to the streams in turn.

    Examples
    --------
    >>> rng = RandomStreams(234)
    >>> u = rng.uniform((4,), dtype="float64")
    >>> u.eval().round(3).tolist(), u.eval().round(3).tolist()
    ([0.45, 0.306, 0.79, 0.826], [0.448, 0.078, 0.862, 0.461])
    """

    def uniform(
        self,
        size: Any,
        low: Any = 0.0,
        high: Any = 1.0,
        ndim: int | None = None,
        dtype: Any = None,
        nstreams: int | None = None,
    ) -> Tensor:
        """Draw samples from the uniform distribution between two bounds.

        Parameters
        ----------
        size, ndim, nstreams
            See `RandomStreams`.
        low, high : number, array or Tensor
            Bounds, excluded.
        dtype : str, optional
            Defaults to ``floatx``, promoted with the dtypes of bounds that are arrays or Tensors.

        Returns
        -------
        Tensor
            ``u * (high - low) + low``.

        Examples
        --------
        >>> RandomStreams(234).uniform((2, 2), -1.0, 1.0, dtype="float64").eval().round(3).tolist()
        [[-0.1, -0.388], [0.58, 0.651]]
        """
        low, high = as_parameter("low", low), as_parameter("high", high)
        name = real_dtype(dtype, low, high)
        size, shape = recorded_shape(size, ndim, low=low, high=high)
        with self.recording():
            u = self._drawn(operations.uniform, size, shape, nstreams, dtype=name)
            low, scale = line_between(recorded, low, high, name)
            drawn: Tensor = scaled_and_shifted(recorded, u, low, scale, name, operations.rounded_product)
            return drawn

    def binomial(
        self,
        size: Any = None,
        n: int = 1,
        p: Any = 0.5,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: int | None = None,
    ) -> Tensor:
        """Draw samples from the binomial distribution: the number of successes of `n` trials.

        Parameters
        ----------
        size, ndim, nstreams
            See `RandomStreams`.
        n : int
            Number of trials: `n` draws from the same streams, one after the other, are added up.
        p : number, array or Tensor
            Probability of success.
        dtype : str
            dtype of the counts.

        Returns
        -------
        Tensor
            Number of uniforms of dtype ``floatx`` that are less than `p`.

        Examples
        --------
        >>> RandomStreams(31).binomial((8,), p=0.5).eval().tolist()
        [1, 1, 0, 0, 1, 1, 0, 1]
        """
        p = as_parameter("p", p)
        trials = count_of("n", n, 1)
        _require_room(trials, dtype_name(dtype))
        size, shape = recorded_shape(size, ndim, p=p)
        how = {"n": trials, "dtype": dtype_name(dtype), "precision": floatx()}
        return self._drawn(operations.binomial, size, shape, nstreams, p, **how)

    def normal(
        self,
        size: Any,
        avg: Any = 0.0,
        std: Any = 1.0,
        ndim: int | None = None,
        dtype: Any = None,
        nstreams: int | None = None,
    ) -> Tensor:
        """Draw samples from the normal distribution, by the method of Box and Muller.

        Parameters
        ----------
        size, ndim
            See `RandomStreams`.
        avg, std : number, array or Tensor
            Mean and standard deviation.
        dtype : str, optional
            Defaults to ``floatx``, promoted with the dtypes of `avg` and `std` if these are arrays or Tensors. A dtype
            narrower than ``floatx`` is the precision of the draw; the result then has dtype ``floatx``, as in Theano.
        nstreams : int, optional
            Number of streams. Defaults to 15360.

        Returns
        -------
        Tensor

        Examples
        --------
        >>> RandomStreams(234).normal((3,), dtype="float64").eval().round(3).tolist()
        [0.313, 0.703, -1.225]
        """
        avg, std = as_parameter("avg", avg), as_parameter("std", std)
        name = real_dtype(dtype, avg, std)
        size, shape = recorded_shape(size, ndim, avg=avg, std=std)
        nstreams, wide = MAX_STREAMS if nstreams is None else nstreams, promote_types(name, floatx())
        with self.recording():
            z = self._drawn(operations.normal, size, shape, nstreams, dtype=name)
            drawn: Tensor = scaled_and_shifted(
                recorded, recorded.astype(z, wide), avg, std, wide, operations.rounded_product
            )
            return drawn

    def multinomial(
        self,
        size: Any = None,
        n: Any = 1,
        pvals: Any = None,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: int | None = None,
    ) -> Tensor:
        """Draw samples from the multinomial distribution, one for each row of probabilities.

        Parameters
        ----------
        size, ndim
            Must not be given: there is one sample for each row of `pvals`.
        n : int or integer Tensor
            Number of trials.
        pvals : array or Tensor
            Probabilities of the outcomes along the last axis. They are not checked: if they add up to less than a
            uniform, that trial is not counted.
        dtype : str
            dtype of the counts.
        nstreams : int, optional
            Number of streams. Defaults to 15360.

        Returns
        -------
        Tensor
            Counts of the outcomes, of the shape of `pvals`.

        Examples
        --------
        >>> import numpy as np
        >>> pvals = np.asarray([[0.98, 0.01, 0.01], [0.01, 0.49, 0.50]])
        >>> RandomStreams(31).multinomial(n=2, pvals=pvals).eval().tolist()
        [[2, 0, 0], [0, 0, 2]]
        """
        if pvals is None:
            raise TypeError("pvals must be given")
        if size is not None:
            raise ValueError(f"size must not be given, the rows of pvals say how many; got {size!r}")
        if ndim is not None:
            raise ValueError(f"ndim must not be given, it is that of pvals; got {ndim!r}")
        rows, count = as_parameter("pvals", pvals, axes=1), recorded_count("n", n)
        _require_room(count, dtype_name(dtype))
        with self.recording():
            u = self._for_each_row(rows, count, nstreams)
            sample: Tensor = operations.multinomial(rows, u, n=count, dtype=dtype_name(dtype))
            return sample

    def choice(
        self,
        size: Any = 1,
        a: Any = None,
        replace: bool = True,
        p: Any = None,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: int | None = None,
    ) -> Tensor:
        """Draw a sample of outcomes, or a sample without replacement for each row of probabilities.

        Parameters
        ----------
        size : int or integer Tensor
            Number of outcomes to choose.
        a : int, array or Tensor, optional
            The population: the integers from 0 to ``a - 1``, or the elements of a vector. Without it, the result is the
            indices of outcomes; `p` must be given and `replace` must be False, as in Theano.
        replace : bool
            Whether an outcome can be chosen more than once; True requires `a`.
        p : array or Tensor, optional
            Probabilities of the outcomes along the last axis. They are not checked. By default all are equal.
        ndim : None
            Must not be given.
        dtype : str
            dtype of the result if it holds indices of outcomes; elements of `a` keep their dtype.
        nstreams : int, optional
            Number of streams. Defaults to 15360.

        Returns
        -------
        Tensor
            Chosen outcomes in order, of shape (..., size).

        Notes
        -----
        Without replacement, the probability of each chosen outcome is set to 0 and the row is normalised before the
        next choice.

        Examples
        --------
        >>> import numpy as np
        >>> p = np.asarray([[0.98, 0.01, 0.01], [0.01, 0.49, 0.50]])
        >>> RandomStreams(31).choice(size=2, replace=False, p=p).eval().tolist()
        [[0, 2], [2, 1]]
        >>> RandomStreams(31).choice(4, a=[1.5, 2.5]).eval().tolist()
        [1.5, 2.5, 2.5, 2.5]
        """
        check_flag("replace", replace)
        if replace and a is None:
            raise NotImplementedError("replace must be False where a is not given: a says what there is to choose from")
        if a is not None and p is not None and not replace:
            raise TypeError(f"a must be None where p is given and replace is False, outcomes are numbered; got {a!r}")
        if ndim is not None:
            raise ValueError(f"ndim must not be given, it is that of p; got {ndim!r}")
        count, things = recorded_count("size", size), things_of("a", a)
        if p is None and a is None:
            raise TypeError("p must be given")
        rows = equal_chances(things) if p is None else as_parameter("p", p, axes=1)
        outcomes = rows.shape[-1]
        if not replace and isinstance(count, int) and isinstance(outcomes, int) and count > outcomes:
            raise ValueError(f"size must be at most {outcomes}, the number of outcomes, got {count}")
        length = things if a is None or isinstance(things, int) else things.shape[0]
        if isinstance(length, int) and isinstance(outcomes, int) and length != outcomes:
            raise ValueError(f"p must have a probability for each of {length}, got shape {rows.shape}")
        with self.recording():
            u = self._for_each_row(rows, count, nstreams)
            sample: Tensor = operations.choice(rows, u, size=count, dtype=dtype_name(dtype), replace=replace)
            if a is None or isinstance(things, int):
                return sample
            flat = recorded.take(things, recorded.reshape(recorded.astype(sample, recorded.int64), (-1,)), axis=0)
            taken: Tensor = recorded.reshape(flat, sample.shape)
            return taken

    def multinomial_wo_replacement(
        self,
        size: Any = None,
        n: Any = 1,
        pvals: Any = None,
        ndim: int | None = None,
        dtype: Any = "int64",
        nstreams: int | None = None,
    ) -> Tensor:
        """Choose `n` different outcomes from each row of probabilities: as `choice` without replacement.

        Parameters
        ----------
        size : None
            Must not be given.
        n, pvals, ndim, dtype, nstreams
            See `choice`; `n` is its `size`, `pvals` its `p`.

        Returns
        -------
        Tensor

        Examples
        --------
        >>> RandomStreams(31).multinomial_wo_replacement(n=2, pvals=[[0.0, 1.0]]).eval().tolist()
        [[1, 0]]
        """
        if size is not None:
            raise ValueError(f"size must not be given, the rows of pvals say how many; got {size!r}")
        p = as_parameter("pvals", pvals, axes=1)
        return self.choice(size=n, replace=False, p=p, ndim=ndim, dtype=dtype, nstreams=nstreams)

    def _for_each_row(self, p: Tensor, count: Any, nstreams: int | None) -> Tensor:
        """Draw `count` uniforms for each row of probabilities."""
        size = math.prod(p.node.shape[:-1]) * count
        return self.uniform((size,), nstreams=MAX_STREAMS if nstreams is None else nstreams)


def _require_room(n: Any, dtype: str) -> None:
    """Raise `ValueError` if a dtype cannot hold the number of trials; ``bool`` holds whether any trial succeeded."""
    if isinstance(n, int) and dtype != "bool" and not is_complex(dtype) and n > bounds_of(dtype)[1]:
        raise ValueError(f"n must be at most {bounds_of(dtype)[1]}, which {dtype} holds; got {n}")
