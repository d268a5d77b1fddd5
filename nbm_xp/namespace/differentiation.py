"""Functions of arrays whose derivatives are given, for libraries that differentiate: PyTorch and JAX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .dispatch import array_namespace
from .kernels import kernel, register_kernel

__all__ = ["Derivatives", "with_derivatives"]

for _library in ("jax", "torch"):
    register_kernel("with_derivatives", _library, f"nbm_xp.namespace.compat.{_library}_derivatives:with_derivatives")


@dataclass(frozen=True)
class Derivatives:
    """The derivatives of an array in the arrays that it is computed from.

    Parameters
    ----------
    title : str
        What the array is, for errors.
    names : tuple of str
        What the arrays that it is computed from are called.
    in_argument : callable, optional
        ``in_argument(k, *arrays)``: the derivative of each element in the element of array `k` that broadcasts to it.
        Without it, a request for a gradient is an error.
    constant : bool
        Whether the derivatives depend on none of the arrays, so that they may be differentiated again.
    simplex : bool
        Whether the elements along the last axis are divided by their sum: what `in_argument` gives is then the
        derivative of each before that, over the sum.
    """

    title: str
    names: tuple[str, ...]
    in_argument: Callable[..., Any] | None = None
    constant: bool = False
    simplex: bool = False

    def none_in(self, k: int) -> ValueError:
        """The error where a gradient is asked for and there is none."""
        return ValueError(
            f"{self.names[k]} must not require a gradient, for {self.title} has none in it: detach it, or stop its "
            "gradient"
        )

    def none_of_second_order(self) -> NotImplementedError:
        """The error where a derivative is to be differentiated again."""
        return NotImplementedError(f"{self.title} has first derivatives in {', '.join(self.names)}, but no second ones")

    def along_simplex(self, out: Any, change: Any) -> Any:
        """How the elements change with their sum held at 1, from how they change by themselves."""
        xp = array_namespace(out)
        return change - out * xp.sum(change, axis=-1, keepdims=True) if self.simplex else change

    def before_simplex(self, out: Any, cotangent: Any) -> Any:
        """The transpose of `along_simplex`."""
        xp = array_namespace(out, cotangent)
        return cotangent - xp.sum(out * cotangent, axis=-1, keepdims=True) if self.simplex else cotangent


def with_derivatives(
    draw: Callable[..., Any], arrays: tuple[Any, ...], derivatives: Callable[[], Derivatives | None]
) -> Any:
    """The result of a function, differentiated by a rule of its own in place of by its steps.

    Parameters
    ----------
    draw : callable
        ``draw(*arrays)`` gives an array of a floating-point dtype, or of any where there are no derivatives.
    arrays : tuple of arrays
        Of one library. One that PyTorch or JAX differentiates counts if its dtype is of floating-point numbers.
    derivatives : callable
        Gives the rule, or None where `draw` is differentiated step by step; called where a library differentiates.

    Returns
    -------
    array

    Raises
    ------
    ValueError
        If a gradient is asked for in an array and there is none.

    Examples
    --------
    >>> import numpy as np
    >>> scaled = Derivatives("a product", ("x",), lambda k, x: np.full_like(x, 3.0), constant=True)
    >>> with_derivatives(lambda x: 3.0 * x, (np.ones(2),), lambda: scaled)
    array([3., 3.])
    """
    own = kernel("with_derivatives", array_namespace(*arrays)) if arrays else None
    rule = None if own is None else derivatives()
    return draw(*arrays) if own is None or rule is None else own(draw, arrays, rule)
