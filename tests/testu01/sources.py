"""The numbers that are tested: made by the package as its users get them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nbm_xp.namespace import get_namespace
from nbm_xp.rng import Generator, draw, substreams

__all__ = ["SOURCES"]

Numbers = Iterator[np.ndarray[Any, np.dtype[np.float64]]]

AT_ONCE = 2**20


def stepped(seed: int, streams: int) -> Numbers:
    """One draw without an end: its streams go on where they are."""
    xp, states = get_namespace("numpy"), substreams((seed,) * 6, streams)
    while True:
        numbers, states = draw(xp, states, (AT_ONCE,), "float64")
        yield numbers


def raw(seed: int) -> Numbers:
    """The recurrence itself: one stream, number after number."""
    yield from stepped(seed, 1)


def interleaved(seed: int) -> Numbers:
    """Streams side by side: number ``i`` is the next one of stream ``i mod 1024``."""
    yield from stepped(seed, 1024)


def drawn(seed: int) -> Numbers:
    """Draw after draw of a `Generator`, each in the order of its elements, from streams of its own."""
    generator = Generator(seed, "numpy")
    while True:
        yield generator.random(1_000_000, "float64")


SOURCES: dict[str, Callable[[int], Numbers]] = {"raw": raw, "drawn": drawn, "interleaved": interleaved}
