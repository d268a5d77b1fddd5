"""The tails beyond what 31 bits reach, by importance: elements whose leading output is an extreme one, and no others.

The recurrence can be run backwards: from a state whose newest output is the one that is wanted, and whose other numbers
are any, over the whole period less the steps to that output. A draw from there is one of those, one in ``2**31``, that
begin so, and all its further outputs are those of the recurrence. So the probability of ``x`` or more, given that
output, is ``2**31`` times its probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from nbm_xp.namespace.mrg31k3p.integers import OUTPUT_STEPS
from nbm_xp.rng import M1, M2, Generator, jump

N = 2000
SHAPE, D = 2.5, 2.5 - 1 / 3
ACCEPTED = math.exp(D) * math.gamma(SHAPE) * D ** (0.5 - SHAPE) / math.sqrt(2 * math.pi)
"""How often an attempt at a gamma number of that shape is accepted; of those far out it is the first attempt."""
FIRST_NORMAL = math.sqrt(2 * 31 * math.log(2))  # not all normal numbers of an extreme uniform are beyond it
LAST_GAMMA = D * (1 + stats.norm.isf(2.0**-31) / math.sqrt(9 * D)) ** 3


def gamma_beyond(x: Any) -> Any:
    return ACCEPTED * stats.gamma(SHAPE).sf(x)


Tail = tuple[Callable[[Generator], Any], Callable[[Any], Any], int, int, float]
TAILS: dict[str, Tail] = {
    "random": (lambda g: g.random(1, "float64"), lambda x: x, 1, 0, 2.0**-31),
    "normal": (lambda g: g.normal(size=1, dtype="float64"), lambda x: 2 * stats.norm.sf(abs(x)), 1, 0, FIRST_NORMAL),
    "exponential": (lambda g: g.exponential(size=1, dtype="float64"), stats.expon.sf, 1, 0, 31 * math.log(2)),
    "laplace": (lambda g: g.laplace(size=1, dtype="float64"), stats.laplace.cdf, 1, 0, -30 * math.log(2)),
    "logistic": (lambda g: g.logistic(size=1, dtype="float64"), stats.logistic.sf, M1, 0, 31 * math.log(2)),
    "gamma": (lambda g: g.gamma(SHAPE, size=1, dtype="float64"), gamma_beyond, M1, 2, LAST_GAMMA),
}
"""A draw, the probability of what is as far out, the extreme output, which one it is, and where the tail begins."""


@cache
def states_before(z: int, output: int) -> list[tuple[int, ...]]:
    """States from which an output of the first element is `z`."""
    random = np.random.default_rng(1)
    period = (M1**3 - 1) * (M2**3 - 1) // 2
    x, y = random.integers(1, M1, (N, 2)).tolist(), random.integers(1, M2, (N, 3)).tolist()
    newest = [((y1 + z) % M1, *older, y1, *others) for older, (y1, *others) in zip(x, y, strict=True)]
    return [tuple(jump(state, period - output * OUTPUT_STEPS - 1)) for state in newest]


def check(draw: Callable[[Generator], Any], beyond: Callable[[Any], Any], z: int, output: int, begin: float) -> None:
    """Hold the numbers beyond where the tail begins to their number, and to their distribution."""
    x = np.concatenate([draw(Generator(state)) for state in states_before(z, output)]).astype("float64")
    p = beyond(x) * 2.0**31
    expected = float(beyond(np.asarray(begin))) * 2.0**31
    inside = p[p < expected]
    assert stats.binomtest(len(inside), N, min(expected, 1.0)).pvalue > 1e-6
    assert stats.kstest(inside / expected, "uniform").pvalue > 1e-6


@pytest.mark.parametrize("name", TAILS)
def test_tails_beyond_31_bits(name: str) -> None:
    check(*TAILS[name])


COARSE: dict[str, Callable[[Generator], Any]] = {
    "random": lambda g: g.random(1, "float64", bits=31),
    "normal": lambda g: g.normal(size=1, dtype="float32"),
    "exponential": lambda g: -np.log(g.random(1, "float64", bits=31)),
}


@pytest.mark.parametrize("name", COARSE)
def test_numbers_of_31_bits_have_no_such_tails(name: str) -> None:
    with pytest.raises(AssertionError):
        check(COARSE[name], *TAILS[name][1:])
