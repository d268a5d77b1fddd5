"""Uniforms between bounds, normal numbers, ones and zeros on Dask: one task for each block, its parameters and all.

Contract: the numbers are those that a kernel makes of the whole, to the last bit; parameters that
are arrays come block by block and are held to their rules there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from nbm_xp.namespace import dtype_name, dtype_of, get_namespace, is_array, promote_types

from ..blocks import Uniforms, lazily
from ..parameters import line_between, scaled_and_shifted
from ..rules import FINITE, NOT_NEGATIVE, PROBABILITY, Rule, finite_in, require
from ..trials import less

__all__ = ["BetweenBounds", "OfMean", "Successes", "made_of"]


@dataclass(frozen=True, slots=True)
class _OfDraw:
    """A task that makes the numbers of another and does something to them.

    Parameters
    ----------
    draw : Uniforms
        What makes them.
    numbers : tuple
        The parameters that are numbers; None for those that come as blocks.
    """

    draw: Uniforms
    numbers: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole draw."""
        return self.draw.shape

    @property
    def library(self) -> str:
        """The library of the blocks."""
        return self.draw.library

    @property
    def dtype(self) -> str:
        """The dtype of the answer."""
        return self.draw.dtype

    def parameters(self, blocks: tuple[Any, ...]) -> Iterator[Any]:
        """The parameters of a block."""
        waiting = iter(blocks)
        return (next(waiting) if number is None else number for number in self.numbers)

    def held(self, name: str, value: Any, rule: Rule) -> Any:
        """A parameter; a block of one is held to a rule, and to be finite in the dtype."""
        if is_array(value):
            require(name, value, rule)
            if promote_types(dtype_name(value), self.dtype) != self.dtype:
                require(f"{name} in {self.dtype}", value, finite_in(self.dtype))
        return value


class BetweenBounds(_OfDraw):
    """Uniforms between two bounds."""

    __slots__ = ()

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *blocks: Any) -> Any:
        """Make the block of some shape that begins at some place."""
        xp, (low, high) = get_namespace(self.library), self.parameters(blocks)
        low, high = self.held("low", low, FINITE), self.held("high", high, FINITE)
        base, width = line_between(xp, low, high, self.dtype)
        if is_array(width):
            require(f"high - low in {self.dtype}", width, NOT_NEGATIVE)
        return xp.asarray(scaled_and_shifted(xp, self.draw(offset, shape), base, width, self.dtype))


class OfMean(_OfDraw):
    """Normal numbers of some mean and standard deviation."""

    __slots__ = ()

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *blocks: Any) -> Any:
        """Make the block of some shape that begins at some place."""
        xp, (loc, scale) = get_namespace(self.library), self.parameters(blocks)
        loc, scale = self.held("loc", loc, FINITE), self.held("scale", scale, NOT_NEGATIVE)
        return xp.asarray(scaled_and_shifted(xp, self.draw(offset, shape), loc, scale, self.dtype))


@dataclass(frozen=True, slots=True)
class Successes(_OfDraw):
    """The sum of the ones of some draws from the same streams, one after the other.

    Parameters
    ----------
    count : int
        How many draws, 1 or more.
    dtype_of_sum : str
        The dtype of the answer.
    """

    count: int = 1
    dtype_of_sum: str = ""

    @property
    def dtype(self) -> str:
        """The dtype of the answer."""
        return self.dtype_of_sum

    def __call__(self, offset: tuple[int, ...], shape: tuple[int, ...], *blocks: Any) -> Any:
        """Make the block of some shape that begins at some place."""
        xp, (p,) = get_namespace(self.library), self.parameters(blocks)
        if is_array(p):
            require("p", p, PROBABILITY)
        kind = "int64" if self.dtype == "bool" and self.count > 1 else self.dtype
        draws = (replace(self.draw, trial=trial)(offset, shape) for trial in range(self.count))
        total = less(xp, next(draws), p, kind)
        for u in draws:
            total = total + less(xp, u, p, kind)
        return xp.asarray(total, dtype=dtype_of(xp, self.dtype))


def made_of(xp: Any, kind: type[_OfDraw], draw: Uniforms, parameters: tuple[Any, ...], chunks: Any, **more: Any) -> Any:
    """Make the Dask array of a draw with its parameters, numbers and Dask arrays.

    Parameters
    ----------
    xp : namespace
        Dask's.
    kind : type
        `BetweenBounds`, `OfMean` or `Successes`.
    draw : Uniforms
        What makes the numbers.
    parameters : tuple of numbers and arrays
        Of the draw.
    chunks : optional
        Any form that Dask takes; its own choice where None.
    **more
        Further fields of the task.
    """
    blocks = [parameter for parameter in parameters if is_array(parameter)]
    numbers = tuple(None if is_array(parameter) else parameter for parameter in parameters)
    return lazily(xp, kind(draw, numbers, **more), chunks, parts=blocks)
