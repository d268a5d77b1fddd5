"""Draws of a `Generator` that kernels make in one go: uniforms, normal numbers, ones and zeros.

Contract: the same numbers to the last bit whether a kernel makes them, the portable form, or a task for each block.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import dtype_name, floatx, is_array
from nbm_xp.namespace.compiling import current_trace

from ..parameters import Size, checked
from ..uniforms import DTYPES, HOST
from .state import FEW, GeneratorState

__all__ = ["Uniforms"]

_TABLES = ("float32", "float64")


class Uniforms(GeneratorState):
    """See `nbm_xp.rng.Generator`."""

    def random(
        self, size: Size = None, dtype: Any = None, out: Any = None, *, chunks: Any = None, bits: int | None = None
    ) -> Any:
        """Draw uniforms between 0 and 1, both excluded.

        Parameters
        ----------
        size, dtype, out, chunks, bits
            See `Generator`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).random((2, 2), "float64").round(3).tolist()
        [[0.255, 0.38], [0.971, 0.423]]
        """
        if type(size) is int and 0 < size <= FEW and out is None and bits is None and chunks is None:
            ahead, rows = self._ahead
            if ahead == dtype and current_trace() is None and (row := next(rows, None)) is not None:
                return row[:size].copy()
            if dtype in _TABLES and self._library == HOST and not self._is_leaf:
                return self._few(size, dtype)
        return self.uniform(0.0, 1.0, size, dtype, chunks=chunks, bits=bits, out=out)

    def uniform(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
        bits: int | None = None,
        out: Any = None,
    ) -> Any:
        """Draw uniforms between two bounds.

        Parameters
        ----------
        low, high : number or array
            The bounds, finite and so that their difference is; `high` is not below `low`.
        size, dtype, chunks, bits, out
            See `Generator`.

        Returns
        -------
        array
            ``u * (high - low) + low``.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).uniform(np.asarray([0.0, 10.0]), np.asarray([1.0, 20.0])).round(3).tolist()
        [0.255, 13.799]
        """
        return self._of_table("uniform", (low, high), size, dtype, chunks, out, bits=bits)

    def normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
        out: Any = None,
    ) -> Any:
        """Draw normal numbers, by the method of Box and Muller [1]_.

        Parameters
        ----------
        loc, scale : number or array
            Mean and standard deviation, which is 0 or more.
        size, dtype, chunks, out
            See `Generator`.

        Returns
        -------
        array
            Of float64 none is further from the mean than 9.3 standard deviations, which the smallest uniform, 2**-62,
            gives; of the others 6.6, of 2**-31.

        References
        ----------
        .. [1] G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", Annals of
           Mathematical Statistics 29 (1958), 610-611.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).normal(size=3, dtype="float64").round(3).tolist()
        [-0.89, -0.584, -0.003]
        """
        return self._of_table("normal", (loc, scale), size, dtype, chunks, out, pairs=True)

    def standard_normal(self, size: Size = None, dtype: Any = None, out: Any = None, *, chunks: Any = None) -> Any:
        """Draw normal numbers of mean 0 and standard deviation 1: see `normal`.

        Parameters
        ----------
        size, dtype, out, chunks
            As for `normal`.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).standard_normal(3, "float64").round(3).tolist()
        [-0.89, -0.584, -0.003]
        """
        return self.normal(0.0, 1.0, size, dtype, chunks=chunks, out=out)

    def bernoulli(self, p: Any = 0.5, size: Size = None, dtype: Any = None, *, chunks: Any = None) -> Any:
        """Draw ones with probability `p`, else zeros.

        Parameters
        ----------
        p : number or array
            The probabilities, from 0 to 1.
        size, chunks
            See `Generator`.
        dtype : str, optional
            Any dtype. By default that of `p` where it is a floating-point array, else ``floatx``.

        Returns
        -------
        array
            1 where a uniform of dtype ``floatx`` is less than `p`, else 0.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(31).bernoulli(0.5, size=8).tolist()
        [1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
        """
        if dtype is None:
            own = dtype_name(checked("p", p)) if is_array(p) else ""
            dtype = own if own in DTYPES else floatx()
        return self._ones_added(1, p, size, dtype_name(dtype), chunks)
