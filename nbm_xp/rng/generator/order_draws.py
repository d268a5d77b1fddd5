"""Bytes, and the orders of rows, as draws of a `Generator`.

Contract: names, parameters and meaning of `numpy.random.Generator`.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

from nbm_xp.namespace import array_namespace, dtype_name, host_namespace, is_array, is_lazy, library_name

from ..blocks import library_of_blocks
from ..distributions.tasks import made
from ..distributions.vectors import RowOrders
from ..parameters import MOST_ELEMENTS, known_integer, shape_of
from ..rules import require, require_integer, within
from .choice_draws import ChoiceDraws, axis_of, things_of
from .filling import fill, require_writable

__all__ = ["OrderDraws"]


class OrderDraws(ChoiceDraws):
    """See `nbm_xp.rng.Generator`."""

    def bytes(self, length: int) -> builtins.bytes:
        """Draw bytes, as `integers` of 8 bits gives them on NumPy, whatever the library.

        Parameters
        ----------
        length : int
            How many.

        Returns
        -------
        bytes

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).bytes(6).hex()
        '22a0af9fe00a'
        """
        require_integer("length", length)
        length = known_integer(length)
        if not isinstance(length, int):
            raise TypeError(f"length must be an int, got {length!r}")
        require("length", length, within(0, MOST_ELEMENTS, "what a draw has"))
        if self._is_traced:
            raise NotImplementedError("bytes has no traced form: use integers(0, 256, length, 'uint8')")
        with self._taking(length) as state:
            return builtins.bytes(self._integers(host_namespace(), state, 0, 256, (length,), "uint8", None))

    def permuted(self, x: Any, *, axis: int | None = None, out: Any = None, chunks: Any = None) -> Any:
        """Bring what lies along an axis into a random order, for each place of the other axes its own.

        Parameters
        ----------
        x : array or list
            It stays as it is, unless it is `out` too; on NumPy it may hold anything.
        axis : int, optional
            The axis; None brings all elements into an order.
        out : array, optional
            Of the shape and dtype of `x`; takes the answer, and is given back.
        chunks
            See `Generator`; the axis is not split.

        Returns
        -------
        array

        Notes
        -----
        Keys of 62 bits are sorted [1]_, as for `permutation`.

        References
        ----------
        .. [1] D. E. Knuth, "The art of computer programming", volume 2, third edition, 1997, section 3.4.2.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).permuted([[0, 1, 2, 3], [4, 5, 6, 7]], axis=1).tolist()
        [[0, 1, 3, 2], [4, 6, 5, 7]]
        """
        xp, (x,) = self._alike(None, things_of("x", x))
        if not is_array(x):
            raise TypeError(f"x must be an array or a list, got {x!r}")
        along = None if axis is None else axis_of("x", x, axis)
        if out is not None:
            require_writable("out", out)
            same = library_name(array_namespace(out)) == library_name(xp) and out.dtype == x.dtype
            if not same or tuple(out.shape) != tuple(x.shape):
                raise ValueError(f"out must have the library, dtype and shape of x, {x.dtype} and {tuple(x.shape)}")
        shape = shape_of(None, x)
        if along is None:
            return fill(out, xp.reshape(self.permutation(xp.reshape(x, (-1,))), shape))
        with self._taking(math.prod(shape)) as state:
            if not is_lazy(xp):
                order = RowOrders(state, shape, "int64", library_name(xp), axis=along)((0,) * x.ndim, shape)
                return fill(out, xp.take_along_axis(x, order, axis=along))
            sizes = x.chunks if chunks is None else chunks if isinstance(chunks, tuple) else (chunks,) * x.ndim
            task = RowOrders(state, shape, dtype_name(x), library_of_blocks(xp, x), axis=along)
            return fill(out, made(xp, task, (x,), chunks=(*sizes[:along], -1, *sizes[along + 1 :])))
