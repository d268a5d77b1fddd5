"""Choices and orders, as draws of a `Generator`.

Contract: names, parameters and meaning of `numpy.random.Generator`. On Dask nothing is computed:
what is chosen from is handed to each task whole along the axis of the choice, and each makes the order anew.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

from nbm_xp.namespace import (
    Derivatives,
    array_namespace,
    concrete_int,
    dtype_name,
    dtype_of,
    from_blocks,
    get_namespace,
    host_namespace,
    is_array,
    is_lazy,
    library_name,
    running_dtype,
    wide_dtypes,
)
from nbm_xp.namespace.compiling import is_traced
from nbm_xp.namespace.mrg31k3p.integers import State

from ..blocks import library_of_blocks
from ..distributions.element_uniforms import ElementUniforms
from ..distributions.tasks import Elements, made
from ..distributions.whole_numbers import random_order
from ..parameters import MOST_ELEMENTS, Size, checked, counts_on, flag, known_integer, shape_of
from ..rules import NOT_NEGATIVE, check_weights, require, require_integer, weights_of
from .filling import fill, require_writable
from .vector_draws import VectorDraws

__all__ = ["ChoiceDraws", "axis_of", "things_of"]


@dataclass(frozen=True, slots=True)
class Ordered(Elements):
    """A random order of `population` things, or its beginning; or the things themselves in that order.

    Parameters
    ----------
    population : int
        How many things there are.
    axis : int or None
        Along which axis of an array they lie; None where they are the integers from 0 on.
    weighted : bool
        Whether probabilities are handed over.
    """

    population: int = 0
    axis: int | None = None
    weighted: bool = False

    def derivatives(self) -> Derivatives | None:
        """None in the probabilities; things that are put in order are differentiated step by step."""
        return Derivatives("a choice without replacement", ("p",)) if self.weighted else None

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *arrays: Any) -> Any:
        """Make a block, of some shape, that begins at some place."""
        host, xp = host_namespace(), get_namespace(self.library)
        things = arrays[0] if self.axis is not None else None
        if 0 in shape:
            return xp.zeros(shape, dtype=dtype_of(xp, self.dtype))
        begins, lengths = host.asarray([0]), host.asarray([self.population])
        uniforms = ElementUniforms(self.state, self.population, begins, lengths, self.library)
        with wide_dtypes(xp):
            p = None
            if self.weighted:
                check_weights("p", arrays[-1])
                _require_enough(self.population, math.prod(self.whole), [arrays[-1]])
                p = xp.astype(arrays[-1], dtype_of(xp, "float64"))
            order = random_order(uniforms, p)
            if self.axis is None:
                order = xp.reshape(order[: math.prod(self.whole)], self.whole)
                within = tuple(slice(a, a + b) for a, b in zip(offset, shape, strict=True))
                return xp.astype(order[within] if within else order, dtype_of(xp, self.dtype))
        begin = offset[self.axis]
        return xp.take(things, order[begin : begin + shape[self.axis]], axis=self.axis)


class ChoiceDraws(VectorDraws):
    """See `nbm_xp.rng.Generator`."""

    def choice(
        self,
        a: Any,
        size: Size = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
        *,
        chunks: Any = None,
    ) -> Any:
        """Choose some of many things.

        Parameters
        ----------
        a : int, array or list
            What to choose from: the integers below a number, or what lies along an axis of an array, which on NumPy
            may hold anything.
        size : int or tuple of ints
            How many, as a shape that takes the place of the axis.
        replace : bool
            Whether a thing can be chosen again.
        p : array, optional
            The probability of each thing; the same for all by default.
        axis : int
            The axis of an array `a`.
        shuffle : bool
            Of no effect: what is chosen without replacement comes in a random order at no further cost.
        chunks
            See `Generator`.

        Returns
        -------
        array

        Notes
        -----
        With replacement these are `integers` or `categorical`. Without, keys are drawn and sorted: integers of 62 bits,
        or exponential numbers over the probabilities [1]_, which gives what choosing one after the other would.

        References
        ----------
        .. [1] P. S. Efraimidis and P. G. Spirakis, "Weighted random sampling with a reservoir", Information Processing
           Letters 97 (2006), 181-185.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).choice(10, 5, replace=False).tolist()
        [9, 0, 1, 4, 3]
        >>> Generator(234).choice([1.5, 2.5], 4, p=[0.9, 0.1]).tolist()
        [1.5, 1.5, 2.5, 1.5]
        """
        things, replace = things_of("a", a), flag("replace", replace)
        xp, (a, *weights) = self._alike(None, things, *([] if p is None else [checked("p", p)]))
        a = known_integer(things) if is_array(a) and not a.ndim else a
        shape, along = shape_of(size), axis_of("a", a, axis)
        population = a.shape[along] if is_array(a) else int(a)
        if population < 1 and 0 not in shape:
            raise ValueError(f"a must hold something to choose from, got {population} things")
        if population > (most := 2**63 if replace else MOST_ELEMENTS):
            raise ValueError(f"a must be at most {most}, got {population}")
        for p in weights:
            if is_array(p) and tuple(p.shape) != (population,):
                raise ValueError(f"p must have a probability for each of {population}, got shape {tuple(p.shape)}")
            weights_of("p", p)
        if not replace:
            _require_enough(population, math.prod(shape), weights)
        with self._taking(math.prod(shape) if replace else population) as state:
            own = None if is_array(a) else chunks
            index = self._chosen(xp, state, population, shape, replace, weights, own)
            return _taken(xp, a, index, along, chunks) if is_array(a) else index

    def permutation(self, x: Any, axis: int = 0, *, chunks: Any = None) -> Any:
        """Give the integers below a number, or what lies along an axis of an array, in a random order.

        Parameters
        ----------
        x : int, array or list
            A number, or an array, which stays as it is, and on NumPy may hold anything.
        axis : int
            The axis of an array.
        chunks
            See `Generator`; the axis of an array is not split.

        Returns
        -------
        array

        Notes
        -----
        Keys of 62 bits are sorted [1]_: of a million things, two have the same key with a probability of 1e-7.

        References
        ----------
        .. [1] D. E. Knuth, "The art of computer programming", volume 2, third edition, 1997, section 3.4.2.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).permutation(5).tolist()
        [0, 1, 4, 3, 2]
        """
        return self._in_order(x, axis, chunks)

    def _in_order(self, x: Any, axis: int, chunks: Any, out: Any = None) -> Any:
        """See `permutation`; in `out`, if there is one."""
        things = things_of("x", x)
        xp, (x,) = self._alike(None, things)
        x = known_integer(things) if is_array(x) and not x.ndim else x
        if not is_array(x):
            require("x", x, NOT_NEGATIVE)
            if x > MOST_ELEMENTS:
                raise ValueError(f"x must be at most {MOST_ELEMENTS}, got {x}")
            with self._taking(int(x)) as state:
                return self._chosen(xp, state, int(x), shape_of(int(x)), False, [], chunks)
        along = axis_of("x", x, axis)
        shape, population = shape_of(None, x), x.shape[along]
        with self._taking(population) as state:
            if not is_lazy(xp):
                order = self._chosen(xp, state, population, (population,), False, [], None)
                return fill(out, xp.take(x, order, axis=along)) if 0 not in shape else x
            dtype, sizes = dtype_name(x), chunks if isinstance(chunks, tuple) else (chunks,) * len(shape)
            sizes = x.chunks if chunks is None else sizes
            chunks = (*sizes[:along], -1, *sizes[along + 1 :])
            task = Ordered(state, shape, dtype, library_of_blocks(xp, x), population=population, axis=along)
            return fill(out, made(xp, task, (x,), chunks=chunks))

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Bring what lies along an axis of an array into a random order, in place.

        Parameters
        ----------
        x : array
            It must be one that can be written to: `permutation` serves those of JAX, which cannot.
        axis : int
            The axis.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.rng import Generator
        >>> x = np.arange(5)
        >>> Generator(234).shuffle(x)
        >>> x.tolist()
        [0, 1, 4, 3, 2]
        """
        require_writable("x", x, ", use permutation instead")
        self._in_order(x, axis_of("x", x, axis), None, x)

    def _chosen(
        self,
        xp: Any,
        state: State,
        population: int,
        shape: tuple[int, ...],
        replace: bool,
        weights: list[Any],
        chunks: Any,
    ) -> Any:
        """Choose integers below a number."""
        held = counts_on(xp, "int64", 0, population)
        if replace and weights:
            return self._outcomes(xp, state, weights[0], shape, held, chunks, "p")
        if replace:
            return self._integers(xp, state, 0, population, shape, held, chunks)
        library = library_of_blocks(xp, *weights) if is_lazy(xp) else library_name(xp)
        task = Ordered(state, shape, held, library, population=population, weighted=bool(weights))
        return made(xp, task, chunks=-1 if chunks is None else chunks, args=tuple(weights))


def axis_of(name: str, x: Any, axis: Any) -> int:
    """An axis, counted from the front."""
    ndim = x.ndim if is_array(x) else 1
    if not ndim:
        raise ValueError(f"{name} must have an axis, got an array without any")
    try:
        place = operator.index(axis)
    except TypeError:
        raise TypeError(f"axis must be an int, got {axis!r}") from None
    if not -ndim <= place < ndim:
        raise ValueError(f"axis must be from {-ndim} to {ndim - 1}, got {place}")
    return place % ndim


def things_of(name: str, x: Any) -> Any:
    """What to choose from, or to bring into an order: a number, or an array of anything."""
    if isinstance(x, (list, tuple)):
        try:
            return host_namespace().asarray(x)
        except ValueError as error:
            raise ValueError(f"{name} must be an int or hold things of one shape, got {x!r}") from error
    if not is_array(x) or not x.ndim:
        require_integer(name, x)
    return checked(name, x) if is_array(x) and is_lazy(array_namespace(x)) else x


def _require_enough(population: int, count: int, weights: list[Any]) -> None:
    """Refuse more choices without replacement than there are things."""
    if count > population:
        raise ValueError(f"size must be at most {population} without replacement, got {count}")
    for p in weights:
        xp = array_namespace(p)
        if is_lazy(xp):
            continue
        possible = xp.sum(xp.astype(p > 0, running_dtype(xp, "int64")))
        if not is_traced([possible]) and count > (possible := concrete_int(possible)):
            raise ValueError(f"size must be at most {possible}, as many as have a probability in p; got {count}")


@dataclass(frozen=True, slots=True)
class _Taken:
    """What lies at some places along an axis, as a block."""

    axis: int
    axes: int

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], index: Any, x: Any) -> Any:
        xp, after = array_namespace(x), self.axis + self.axes
        spans = [slice(begin, begin + length) for begin, length in zip(offset, shape, strict=True)]
        x = x[(*spans[: self.axis], slice(None), *spans[after:])]
        return xp.reshape(xp.take(x, xp.reshape(index, (-1,)), axis=self.axis), shape)


def _taken(xp: Any, x: Any, index: Any, axis: int, chunks: Any) -> Any:
    """Take what lies at some places along an axis; the axes of `index` take its place."""
    task = _Taken(axis, index.ndim)
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    spread = (1,) * axis + tuple(index.shape) + (1,) * (x.ndim - axis - 1)
    index = xp.reshape(index, spread)
    if not is_lazy(xp):
        return task((0,) * len(shape), shape, index, x)
    own = (*x.chunks[:axis], *index.chunks[axis : axis + task.axes], *x.chunks[axis + 1 :])
    chunks = own if chunks is None else chunks
    meta = getattr(x, "_meta", None)
    return from_blocks(xp, task, shape, dtype_name(x), chunks, blocks=(index,), args=(x,), name="taken", meta=meta)
