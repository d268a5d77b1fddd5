"""Real numbers of the distributions in the table, as draws of a `Generator`.

Contract: names, parameters and meaning of `numpy.random.Generator`. Numbers are made in float64
and rounded once to the dtype asked for, so that those of one dtype are those of another, rounded.
"""

from __future__ import annotations

import math
from typing import Any

from nbm_xp.namespace import dtype_of, is_array, is_lazy, library_name

from ..blocks import library_of_blocks
from ..distributions.table import DISTRIBUTIONS
from ..distributions.tasks import Independent, made
from ..parameters import Size, any_tensor, chunks_of, counts_on, real_dtype, shape_of
from ..rules import finite_in, require, require_together
from .filling import fill, form_of
from .state import GeneratorState

__all__ = ["RealDraws"]


class RealDraws(GeneratorState):
    """See `nbm_xp.rng.Generator`."""

    def exponential(
        self,
        scale: Any = 1.0,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
        out: Any = None,
    ) -> Any:
        """Draw exponential numbers, by inversion [1]_: ``-log(u) * scale``.

        Parameters
        ----------
        scale : number or array
            The mean, 0 or more.
        size, dtype, chunks, out
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, section 2.2.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).exponential(2.0, 3, "float64").round(3).tolist()
        [2.734, 1.936, 0.058]
        """
        return self._independent("exponential", size, dtype, chunks, out, scale=scale)

    def standard_exponential(
        self,
        size: Size = None,
        dtype: Any = None,
        method: str = "inv",
        out: Any = None,
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw exponential numbers of mean 1: see `exponential`.

        Parameters
        ----------
        size, dtype, out, chunks
            See `Generator`.
        method : {"inv"}
            Inversion, the one method there is: it takes one uniform for each number, whatever that is.

        Returns
        -------
        array

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).standard_exponential(3, "float64").round(3).tolist()
        [1.367, 0.968, 0.029]
        """
        if str(method) != "inv":
            raise ValueError(f"method must be 'inv', inversion, got {method!r}")
        return self.exponential(1.0, size, dtype, chunks=chunks, out=out)

    def laplace(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw numbers of Laplace's distribution, by inversion [1]_.

        Parameters
        ----------
        loc, scale : number or array
            Mean, and the mean distance from it, 0 or more.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, section 2.2.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).laplace(size=3, dtype="float64").round(3).tolist()
        [-0.674, -0.275, 2.857]
        """
        return self._independent("laplace", size, dtype, chunks, loc=loc, scale=scale)

    def logistic(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw numbers of the logistic distribution, by inversion [1]_: ``log(u / (1 - u)) * scale + loc``.

        Parameters
        ----------
        loc, scale : number or array
            Mean and scale, 0 or more.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, section 2.2.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).logistic(size=3, dtype="float64").round(3).tolist()
        [-1.073, -0.49, 3.521]
        """
        return self._independent("logistic", size, dtype, chunks, loc=loc, scale=scale)

    def gumbel(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw numbers of Gumbel's distribution of largest values, by inversion [1]_: ``-log(-log(u)) * scale + loc``.

        Parameters
        ----------
        loc, scale : number or array
            Mode and scale, 0 or more.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] L. Devroye, "Non-uniform random variate generation", Springer, 1986, section 2.2.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).gumbel(size=3, dtype="float64").round(3).tolist()
        [-0.312, 0.033, 3.536]
        """
        return self._independent("gumbel", size, dtype, chunks, loc=loc, scale=scale)

    def truncated_normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw normal numbers within two standard deviations, by inversion [1]_.

        Parameters
        ----------
        loc, scale : number or array
            Mean and standard deviation, 0 or more, of the normal distribution.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics
           37 (1988), 477-484.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).truncated_normal(size=3, dtype="float64").round(3).tolist()
        [-0.625, -0.292, 1.643]
        """
        return self._independent("truncated_normal", size, dtype, chunks, loc=loc, scale=scale)

    def gamma(
        self,
        shape: Any,
        scale: Any = 1.0,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw gamma numbers, by the rejection method of Marsaglia and Tsang [1]_.

        Parameters
        ----------
        shape, scale : number or array
            0 or more; the mean is their product.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on
           Mathematical Software 26 (2000), 363-372.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).gamma(2.0, 3.0, 3, "float64").round(3).tolist()
        [2.56, 4.938, 4.194]
        """
        return self._independent("gamma", size, dtype, chunks, shape=shape, scale=scale)

    def beta(
        self,
        a: Any,
        b: Any,
        size: Size = None,
        dtype: Any = None,
        *,
        chunks: Any = None,
    ) -> Any:
        """Draw beta numbers, from two gamma numbers [1]_ each: ``x / (x + y)``.

        Parameters
        ----------
        a, b : number or array
            More than 0; the mean is ``a / (a + b)``.
        size, dtype, chunks
            See `Generator`.

        Returns
        -------
        array

        References
        ----------
        .. [1] G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on
           Mathematical Software 26 (2000), 363-372.

        Examples
        --------
        >>> from nbm_xp.rng import Generator
        >>> Generator(234).beta(2.0, 3.0, 3, "float64").round(3).tolist()
        [0.476, 0.341, 0.26]
        """
        return self._independent("beta", size, dtype, chunks, a=a, b=b)

    def _independent(
        self,
        name: str,
        size: Size,
        dtype: Any,
        chunks: Any,
        out: Any = None,
        *,
        counts: bool = False,
        **parameters: Any,
    ) -> Any:
        """Draw from the distribution of some name; of counts, `dtype` was checked."""
        if not counts and out is None and any_tensor(*parameters.values()):
            from .tensor_draws import independent_of_tensors

            return independent_of_tensors(self, name, size, dtype, parameters)
        xp, values = self._parameters(out, **parameters)
        size, dtype = form_of(xp, out, size, dtype)
        shape = shape_of(size, *values)
        dtype = counts_on(xp, dtype) if counts else real_dtype(dtype, *values)
        for parameter, value in zip(parameters, values, strict=True):
            require(parameter, value, DISTRIBUTIONS[name].rules[parameter])
            if DISTRIBUTIONS[name].kind == "real":
                require(f"{parameter} in {dtype}", value, finite_in(dtype))
        together = DISTRIBUTIONS[name].together
        if together is not None and not any(map(is_array, values)):
            require_together(dict(zip(parameters, values, strict=True)), together)
        xp.empty((0,), dtype=dtype_of(xp, dtype))  # refused where the library, as it is set now, lacks the dtype
        library = library_of_blocks(xp, *values) if is_lazy(xp) else library_name(xp)
        numbers = tuple(None if is_array(value) else float(value) for value in values)
        with self._taking(math.prod(shape)) as state:
            threads = 1 if is_lazy(xp) else self._threads
            task = Independent(state, shape, dtype, library, numbers, threads, name)
            return fill(out, made(xp, task, tuple(values), chunks=chunks_of(chunks, shape, *values)))
