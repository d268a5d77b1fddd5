"""Draws of a `Generator` begin as longer ones do, on every library and for every division into blocks."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp.rng import Generator
from tests.helpers.distributions import LONG
from tests.testu01.sources import FEW, SOURCES

STREAMS = 15_360
PAIRED = {"normal/float32", "standard_normal/float64"}
LENGTHS = st.one_of(st.integers(0, 60), st.integers(STREAMS - 2, STREAMS + 2), st.integers(0, 4 * STREAMS))


@pytest.mark.parametrize("name", LONG)
@given(lengths=st.tuples(LENGTHS, LENGTHS), seed=st.integers(0, 2**70))
@settings(max_examples=5)
def test_a_draw_begins_as_a_longer_one_does(name: str, lengths: tuple[int, int], seed: int) -> None:
    short, long = (LONG[name](Generator(seed, "numpy"), n) for n in sorted(lengths))
    np.testing.assert_array_equal(long[: len(short)], short, strict=True)
    rows: Any = (2, len(short) // 2)
    drawn = LONG[name](Generator(seed, "numpy"), rows)
    np.testing.assert_array_equal(drawn.reshape(-1, *short.shape[1:]), short[: math.prod(rows)], strict=True)


@pytest.mark.parametrize("name", LONG)
@given(steps=st.integers(0, 2), rest=st.integers(0, STREAMS), seed=st.integers(0, 2**70))
@settings(max_examples=3)
def test_two_draws_of_whole_steps_are_one(name: str, steps: int, rest: int, seed: int) -> None:
    first = STREAMS * steps * (2 if name in PAIRED else 1)
    whole, parts = Generator(seed, "numpy"), Generator(seed, "numpy")
    once = LONG[name](whole, first + rest)
    twice = np.concatenate([LONG[name](parts, n) for n in (first, rest)])
    np.testing.assert_array_equal(twice, once, strict=True)
    assert whole == parts


def test_what_testu01_is_fed_are_the_draws_that_it_is_said_to_be() -> None:
    generator = Generator(7)
    small = np.concatenate([generator.random(FEW, "float64", bits=31) for _ in range(50)])
    np.testing.assert_array_equal(next(SOURCES["small"](7))[: small.size], small)
    ordered = np.concatenate(list(itertools.islice(SOURCES["ordered"](7), 2)))
    np.testing.assert_array_equal(ordered, Generator(7).random(ordered.size, "float64", bits=31))
    stream = [Generator(7).advance(k).random(1, "float64", bits=31)[0] for k in range(9)]
    np.testing.assert_array_equal(next(SOURCES["stream"](7))[:9], stream)
