"""Draws of a `Generator`: choices, random orders and bytes.

Contract: names, parameters and meaning of `numpy.random.Generator`. On Dask nothing is computed: each task receives the
population whole along the axis of the choice, and computes the order again.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nbm_xp.namespace import array_namespace, dtype_name, from_blocks, host_namespace, is_array, is_lazy, library_name
from nbm_xp.namespace.errors import check_flag

from ..distributions.integers import integers_of_draw, order_of_rows, random_order
from ..parameters import Size, checked, count_of, counts_on, fill, known_integer, require_writable, shape_of
from ..rules import integer, require_enough, require_weights
from ..uniforms import Shape
from .state import GeneratorState


class Choices(GeneratorState):
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
        """Draw a sample from a population.

        Parameters
        ----------
        a : int, array or list
            The population: the integers from 0 to ``a - 1``, or the entries along an axis of an array, which on NumPy
            may have any dtype.
        size : int or tuple of ints
            Shape of the sample, which replaces the axis.
        replace : bool
            Whether an entry can be chosen more than once.
        p : array, optional
            Probability of each entry. By default all are equal.
        axis : int
            Axis along which the entries of an array `a` lie.
        shuffle : bool
            Ignored: a sample without replacement is always in random order, at no further cost.
        chunks
            See `Generator`.

        Returns
        -------
        array

        Notes
        -----
        With replacement, the method is that of `integers` or `categorical`. Without, keys are drawn and sorted: 62-bit
        integers, or exponential numbers over the probabilities [1]_, which is equivalent to sequential choice.

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
        check_flag("replace", replace)
        things = _things_of("a", a)
        xp, (a, *weights) = self._alike(None, things, *([] if p is None else [checked("p", p)]))
        a = known_integer(things) if is_array(a) and not a.ndim else a
        shape, along = shape_of(size), _axis_of("a", a, axis)
        population = a.shape[along] if is_array(a) else int(a)
        if population < 1 and 0 not in shape:
            raise ValueError(f"a must hold something to choose from, got {population} things")
        count_of("a", population, bits=63 if replace else 55)
        for p in weights:
            if is_array(p) and tuple(p.shape) != (population,):
                raise ValueError(f"p must have a probability for each of {population}, got shape {tuple(p.shape)}")
            require_weights("p", p)
        if not replace:
            require_enough(population, math.prod(shape), *weights)
        if is_array(a):
            then = partial(_taken, xp, a, along, chunks)
            return self._chosen(xp, population, shape, replace, weights, then=then)
        return self._chosen(xp, population, shape, replace, weights, chunks=chunks)

    def permutation(self, x: Any, axis: int = 0, *, chunks: Any = None) -> Any:
        """Return the integers from 0 to ``x - 1``, or the entries along an axis of an array, in random order.

        Parameters
        ----------
        x : int, array or list
            An integer, or an array, which does not change and on NumPy may have any dtype.
        axis : int
            Axis along which the entries of an array lie.
        chunks
            See `Generator`; the axis of an array is not split.

        Returns
        -------
        array

        Notes
        -----
        Keys of 62 bits are sorted (Knuth 1997, section 3.4.2): among a million keys, two are equal with a probability
        of 1e-7.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).permutation(5).tolist()
        [0, 1, 4, 3, 2]
        """
        return self._in_order(x, axis, chunks)

    def _in_order(self, x: Any, axis: int, chunks: Any, out: Any = None) -> Any:
        """Return the permutation of `permutation`, in `out` if given."""
        things = _things_of("x", x)
        xp, (x,) = self._alike(None, things)
        x = known_integer(things) if is_array(x) and not x.ndim else x
        if not is_array(x):
            population = count_of("x", x, bits=55)
            return self._chosen(xp, population, shape_of(population), chunks=chunks)
        along = _axis_of("x", x, axis)
        shape, population = shape_of(None, x), x.shape[along]
        if not is_lazy(xp):
            how: dict[str, Any] = {"then": lambda order: x if 0 in shape else fill(out, xp.take(x, order, axis=along))}
            return self._chosen(xp, population, (population,), **how)
        how = {"chunks": _uncut(x, chunks, along), "population": population, "axis": along}
        return self._draw(xp, random_order, (x,), shape, dtype_name(x), n=population, out=out, **how)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Shuffle the entries along an axis of an array, in place.

        Parameters
        ----------
        x : array
            Writable array. For arrays of JAX, which are not writable, use `permutation`.
        axis : int
            Axis along which the entries lie.

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
        self._in_order(x, _axis_of("x", x, axis), None, x)

    def _chosen(
        self,
        xp: Any,
        population: int,
        shape: Shape,
        replace: bool = False,
        weights: Sequence[Any] = (),
        *,
        chunks: Any = None,
        then: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Draw a sample from the integers from 0 to ``population - 1``."""
        dtype = counts_on(xp, "int64", 0, population)
        if not replace:
            how: dict[str, Any] = {"chunks": -1 if chunks is None else chunks, "population": population, "then": then}
            return self._draw(xp, random_order, (), shape, dtype, n=population, args=tuple(weights), **how)
        if weights:
            return self._outcomes(xp, weights[0], shape, dtype, chunks, name="p", then=then)
        how = {"chunks": chunks, "bounds": None, "then": then}
        return self._draw(xp, integers_of_draw, (0, population), shape, dtype, **how)

    def bytes(self, length: int) -> builtins.bytes:
        """Draw bytes: those of `integers` of 8 bits on NumPy, on every library.

        Parameters
        ----------
        length : int
            Number of bytes.

        Returns
        -------
        bytes

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).bytes(6).hex()
        '22a0af9fe00a'
        """
        length = count_of("length", integer("length", length), bits=55)
        if self._is_traced:
            raise NotImplementedError("bytes has no traced form: use integers(0, 256, length, 'uint8')")
        return builtins.bytes(self._draw(host_namespace(), integers_of_draw, (0, 256), (length,), "uint8", bounds=None))

    def permuted(self, x: Any, *, axis: int | None = None, out: Any = None, chunks: Any = None) -> Any:
        """Permute the entries along an axis of an array, independently for each index of the other axes.

        Parameters
        ----------
        x : array or list
            Does not change, unless it is also `out`; on NumPy it may have any dtype.
        axis : int, optional
            Axis along which entries are permuted; None permutes all elements.
        out : array, optional
            Array of the shape and dtype of `x` that receives the result and is returned.
        chunks
            See `Generator`; the axis is not split.

        Returns
        -------
        array

        Notes
        -----
        Keys of 62 bits are sorted (Knuth 1997, section 3.4.2), as in `permutation`.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).permuted([[0, 1, 2, 3], [4, 5, 6, 7]], axis=1).tolist()
        [[0, 1, 3, 2], [4, 6, 5, 7]]
        """
        xp, (x,) = self._alike(None, _things_of("x", x))
        if not is_array(x):
            raise TypeError(f"x must be an array or a list, got {x!r}")
        along = None if axis is None else _axis_of("x", x, axis)
        if out is not None:
            require_writable("out", out)
            same = library_name(array_namespace(out)) == library_name(xp) and out.dtype == x.dtype
            if not same or tuple(out.shape) != tuple(x.shape):
                raise ValueError(f"out must have the library, dtype and shape of x, {x.dtype} and {tuple(x.shape)}")
        shape = shape_of(None, x)
        if along is None:
            return fill(out, xp.reshape(self.permutation(xp.reshape(x, (-1,))), shape))
        if not is_lazy(xp):
            how: dict[str, Any] = {"then": lambda order: fill(out, xp.take_along_axis(x, order, axis=along))}
            return self._draw(xp, order_of_rows, (), shape, "int64", axis=along, **how)
        chunks = _uncut(x, chunks, along)
        return self._draw(xp, order_of_rows, (x,), shape, dtype_name(x), out=out, axis=along, chunks=chunks)


def _uncut(x: Any, chunks: Any, axis: int) -> Any:
    """Return the given chunks, or the chunks of an array, with one axis in a single chunk."""
    if not hasattr(x, "chunks"):
        return None
    sizes = x.chunks if chunks is None else chunks if isinstance(chunks, tuple) else (chunks,) * x.ndim
    return (*sizes[:axis], -1, *sizes[axis + 1 :])


def _axis_of(name: str, x: Any, axis: Any) -> int:
    """Return an axis as an index from 0 on."""
    ndim = x.ndim if is_array(x) else 1
    if not ndim:
        raise ValueError(f"{name} must have an axis, got an array without any")
    place = count_of("axis", axis, -ndim)
    if not -ndim <= place < ndim:
        raise ValueError(f"axis must be from {-ndim} to {ndim - 1}, got {place}")
    return place % ndim


def _things_of(name: str, x: Any) -> Any:
    """Return a population: a number, or an array of any dtype."""
    if isinstance(x, (list, tuple)):
        try:
            return host_namespace().asarray(x)
        except ValueError as error:
            raise ValueError(f"{name} must be an int or hold things of one shape, got {x!r}") from error
    if not is_array(x) or not x.ndim:
        integer(name, x)
    return checked(name, x) if is_array(x) and is_lazy(array_namespace(x)) else x


def _taken_of_block(axis: int, axes: int, offset: Shape, shape: Shape, index: Any, x: Any) -> Any:
    """Take the entries at some indices along an axis, for one block."""
    xp = array_namespace(x)
    spans = [slice(begin, begin + length) for begin, length in zip(offset, shape, strict=True)]
    x = x[(*spans[:axis], slice(None), *spans[axis + axes :])]
    return xp.reshape(xp.take(x, xp.reshape(index, (-1,)), axis=axis), shape)


def _taken(xp: Any, x: Any, axis: int, chunks: Any, index: Any) -> Any:
    """Take the entries at some indices along an axis; the axes of `index` replace it."""
    spread_axes = index.ndim
    task = partial(_taken_of_block, axis, index.ndim)
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    spread = (1,) * axis + tuple(index.shape) + (1,) * (x.ndim - axis - 1)
    index = xp.reshape(index, spread)
    if not is_lazy(xp):
        return task((0,) * len(shape), shape, index, x)
    own = (*x.chunks[:axis], *index.chunks[axis : axis + spread_axes], *x.chunks[axis + 1 :])
    chunks = own if chunks is None else chunks
    meta = getattr(x, "_meta", None)
    return from_blocks(xp, task, shape, dtype_name(x), chunks, blocks=(index,), args=(x,), name="taken", meta=meta)
