"""Uniforms between bounds, normal numbers, ones and zeros: what kernels make in one go, and tasks for each block.

Contract: what `tasks` promises; the numbers are those of the dtype asked for from the beginning, not rounded to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbm_xp.namespace import Derivatives, dtype_name, dtype_of, get_namespace, is_array, promote_types

from ..parameters import as_scale_and_shift, line_between, rounded, scaled_and_shifted
from ..rules import FINITE, NOT_NEGATIVE, PROBABILITY, Rule, finite_in, require
from ..trials import less, trials
from .tasks import Elements

__all__ = ["Normals", "Successes", "Uniforms"]


@dataclass(frozen=True, slots=True)
class _Scaled(Elements):
    """Standard numbers times a scale, plus a shift; `out` takes them where a kernel can fill it."""

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *blocks: Any, out: Any = None) -> Any:
        """Make the block of some shape that begins at some place."""
        xp, waiting = get_namespace(self.library), iter(blocks)
        shift, scale = self.line(xp, *(next(waiting) if number is None else number for number in self.numbers))
        line = as_scale_and_shift(shift, scale, self.dtype)
        x = self.standard(offset, shape, line or (), out if line is not None else None)
        if x is out:
            return out
        x = xp.reshape(x, shape)
        if line is not None:
            return x
        return xp.reshape(scaled_and_shifted(xp, x, shift, scale, self.dtype), shape)  # NumPy's may be a scalar

    def line(self, xp: Any, first: Any, second: Any) -> tuple[Any, Any]:
        """The shift and the scale that the parameters stand for."""
        raise NotImplementedError(f"{type(self).__name__} is what tasks have in common")

    def standard(self, offset: tuple[int, ...], shape: tuple[int, ...], line: Any, out: Any) -> Any:
        """The numbers of shape (count,), scaled and shifted by a line, if there is one."""
        raise NotImplementedError(f"{type(self).__name__} is what tasks have in common")

    def checked(self, name: str, value: Any, rule: Rule) -> Any:
        """A parameter; a block of one is held to a rule, and to be finite in the dtype."""
        if is_array(value):
            require(name, value, rule)
            if promote_types(dtype_name(value), self.dtype) != self.dtype:
                require(f"{name} in {self.dtype}", value, finite_in(self.dtype))
        return value


@dataclass(frozen=True, slots=True)
class Uniforms(_Scaled):
    """Uniforms between two bounds; `bits` is 53 where each takes two outputs, else 31."""

    bits: int = 31

    def line(self, xp: Any, first: Any, second: Any) -> tuple[Any, Any]:
        """The lower bound, and how far the upper one is from it."""
        low, high = self.checked("low", first, FINITE), self.checked("high", second, FINITE)
        base, width = line_between(xp, low, high, self.dtype)
        require(f"high - low in {self.dtype}", width, NOT_NEGATIVE)
        return base, width

    def standard(self, offset: tuple[int, ...], shape: tuple[int, ...], line: Any, out: Any) -> Any:
        """Uniforms between 0 and 1."""
        dtype = "wide" if self.bits == 53 else self.dtype
        return self.uniforms(offset, shape).drawn(dtype, 0, line, self.threads, out)


class Normals(_Scaled):
    """Normal numbers of some mean and standard deviation."""

    __slots__ = ()

    def line(self, xp: Any, first: Any, second: Any) -> tuple[Any, Any]:
        """The mean and the standard deviation."""
        loc, scale = self.checked("loc", first, FINITE), self.checked("scale", second, NOT_NEGATIVE)
        return rounded(xp, loc, self.dtype), rounded(xp, scale, self.dtype)

    def standard(self, offset: tuple[int, ...], shape: tuple[int, ...], line: Any, out: Any) -> Any:
        """Numbers of mean 0 and standard deviation 1."""
        return self.uniforms(offset, shape).normals(self.dtype, line, self.threads, out)


@dataclass(frozen=True, slots=True)
class Successes(Elements):
    """How many of some outputs of each element are below a probability.

    Parameters
    ----------
    count : int
        How many outputs.
    precision : str
        The dtype of the uniforms that are compared.
    """

    count: int = 1
    precision: str = "float32"

    def derivatives(self) -> Derivatives:
        """None there are."""
        return Derivatives("the binomial distribution", ("p",))

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *blocks: Any) -> Any:
        """Make the block of some shape that begins at some place."""
        xp, (p,) = get_namespace(self.library), blocks or self.numbers
        kind = "int64" if self.dtype == "bool" and self.count > 1 else self.dtype
        uniforms, total = self.uniforms(offset, shape), xp.zeros(shape, dtype=dtype_of(xp, kind))
        if not self.count or 0 in shape:
            require("p", p, PROBABILITY)
        for output in range(self.count):
            sample, wrong = self._compared(xp, uniforms, p, shape, kind, output)
            if not output and is_array(p) and wrong != 0:  # the kernel found some, or nobody looked
                require("p", p, PROBABILITY)
            total = xp.asarray(total + sample) if output else sample  # NumPy's sum of arrays without axes is none
        return xp.asarray(total, dtype=dtype_of(xp, self.dtype))

    def _compared(
        self, xp: Any, uniforms: Any, p: Any, shape: tuple[int, ...], dtype: str, output: int
    ) -> tuple[Any, int | None]:
        """Ones and zeros, and how many probabilities are none where that was looked at."""
        if uniforms.is_whole:
            states = uniforms.states_at(output)
            sample, _, wrong = trials(xp, states, p, shape, dtype, self.precision, threads=self.threads)
            return sample, wrong
        u = xp.reshape(uniforms.drawn(self.precision, output), shape)
        return less(xp, u, p, dtype), None
