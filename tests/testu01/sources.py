"""The numbers that are tested, made by the package as its users get them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nbm_xp.namespace import get_namespace
from nbm_xp.rng import MAX_STREAMS, Generator, draw, substreams

__all__ = ["FEW", "SOURCES"]

Numbers = Iterator[np.ndarray[Any, np.dtype[np.float64]]]

AT_ONCE = 64 * MAX_STREAMS
"""Numbers of a draw: whole steps of all streams, so that the draws together are one long draw."""

FEW = 20
"""Numbers of a small draw."""


def ordered(seed: int) -> Numbers:
    """Uniforms of one output each, in the order of a draw: number ``i`` is of stream ``i mod 15360``."""
    generator = Generator(seed, "numpy")
    while True:
        yield generator.random(AT_ONCE, "float64", bits=31)


def lower(seed: int) -> Numbers:
    """Bits 23 to 53 of uniforms of 53 bits: the last of one output, and those of the output 2**56 steps further."""
    generator = Generator(seed, "numpy")
    while True:
        scaled = generator.random(AT_ONCE, "float64") * 2.0**22
        yield scaled - np.floor(scaled)


def small(seed: int) -> Numbers:
    """Draws of 20 uniforms one after the other, which take the first 20 streams, a step each."""
    yield from _stepped(seed, FEW)


def stream(seed: int) -> Numbers:
    """The recurrence itself: one stream, number after number."""
    yield from _stepped(seed, 1)


def _stepped(seed: int, streams: int) -> Numbers:
    xp, states = get_namespace("numpy"), substreams(Generator(seed).state[:6], streams)
    while True:
        numbers, states = draw(xp, states, (AT_ONCE,), "float64")
        yield numbers


SOURCES: dict[str, Callable[[int], Numbers]] = {"ordered": ordered, "lower": lower, "small": small, "stream": stream}
