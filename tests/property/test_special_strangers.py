"""The special functions on libraries without an entry: SciPy's values and ours of NumPy, derivatives, lazily."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nbm_xp import special
from nbm_xp.tape import Variable, evaluate, gradients
from nbm_xp.tape import namespace as recorded
from tests.helpers.strangers import IN_BLOCKS, STRANGERS, Stranger, met, on_strangers, strangers
from tests.property.test_special import ANY, DOMAINS, ELEMENTWISE, called, wanted

KNOWN: list[tuple[str, str, str]] = [
    ("ndonnx", "test_numbers_and_dtypes-*", "SciPy, which computes them, cannot read arrays of ndonnx"),
]
"""What a library cannot do, as data: its name, which functions (a pattern of their names), and why."""

SUMS = ("log_softmax", "logsumexp", "softmax")
EVERY = (*STRANGERS, *IN_BLOCKS)
READ_BY_SCIPY = tuple(each for each in EVERY if each.name != "ndonnx")


def is_long(name: str, library: str) -> bool:
    return name == "stdtrit"


@pytest.fixture(params=strangers(among=EVERY))
def stranger(request: pytest.FixtureRequest) -> Iterator[Stranger]:
    """Each library without an entry in turn."""
    with met(request, KNOWN) as found:
        yield found


def arguments(name: str, count: int = 6) -> tuple[np.ndarray, ...]:
    """Numbers in the function's domain; of several arguments, those after the first are a row to its column."""
    random = np.random.default_rng(5)
    domains = DOMAINS.get(name, (ANY,))
    columns = [random.uniform(low, high, size=count) for low, high in domains]
    return tuple(column.reshape((-1, 1) if place and place % 2 else (1, -1)) for place, column in enumerate(columns))


@pytest.mark.parametrize(("name", "stranger"), on_strangers(ELEMENTWISE, is_long, READ_BY_SCIPY), indirect=["stranger"])
def test_values(name: str, stranger: Stranger) -> None:
    arrays = arguments(name)
    result = called(special, name, tuple(map(stranger.array, arrays)))
    np.testing.assert_allclose(stranger.numpy(result), wanted(name, arrays), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(
    ("name", "stranger"), on_strangers(ELEMENTWISE, is_long, READ_BY_SCIPY, ("cubed",)), indirect=["stranger"]
)
def test_gradients(name: str, stranger: Stranger) -> None:
    def slopes(make: Any) -> list[Any]:
        variables = [Variable(make(array)) for array in arguments(name, 3)]
        loss = recorded.sum(called(special, name, tuple(variables)))
        return [evaluate(slope) for slope in gradients(loss, variables)]

    for got, want in zip(slopes(stranger.array), slopes(np.asarray), strict=True):
        np.testing.assert_allclose(stranger.numpy(got), want, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("axis", [None, 1])
def test_sums_of_exponentials(name: str, axis: int | None, stranger: Stranger) -> None:
    x = np.asarray([[1000.0, 999.0, -3.0], [0.0, -700.0, 2.0]])
    got = getattr(special, name)(stranger.array(x), axis)
    np.testing.assert_allclose(stranger.numpy(got), getattr(special, name)(x, axis), rtol=1e-12, atol=1e-300)


def test_weighted_sums_of_exponentials(stranger: Stranger) -> None:
    x, b = np.asarray([[1000.0, 999.0], [0.0, 2.0]]), np.asarray([[1.0, -0.5], [0.0, 3.0]])
    got = special.logsumexp(stranger.array(x), 1, stranger.array(b), return_sign=True)
    for found, want in zip(got, special.logsumexp(x, 1, b, return_sign=True), strict=True):
        np.testing.assert_allclose(stranger.numpy(found), want, rtol=1e-12)


def test_numbers_and_dtypes(stranger: Stranger) -> None:
    """Beside arrays of float32 and integers, without axes, and of orders in an array."""
    host = np.asarray([0.25, 0.5], "float32")
    got = special.betainc(2.0, 3, stranger.array(host, "float32"))
    np.testing.assert_allclose(stranger.numpy(got), special.betainc(2.0, 3, host), rtol=1e-6)
    np.testing.assert_allclose(stranger.numpy(special.gammaln(stranger.array([3, 4]))), np.log([2.0, 6.0]), rtol=1e-6)
    np.testing.assert_allclose(stranger.numpy(special.erf(stranger.array(0.5))), special.erf(0.5))
    orders, places = np.asarray([0.0, 1.0, 2.0]), np.asarray([0.7, 1.0, 3.0])
    got = special.polygamma(stranger.array(orders), stranger.array(places))
    np.testing.assert_allclose(stranger.numpy(got), special.polygamma(orders, places), rtol=1e-10)


@pytest.mark.parametrize("stranger", strangers("ndonnx"), indirect=True)
def test_a_library_that_scipy_cannot_read(stranger: Stranger) -> None:
    with pytest.raises(TypeError, match="erf is computed by SciPy, which cannot read arrays of ndonnx"):
        special.erf(stranger.array([1.0, 2.0]))


@pytest.mark.parametrize("stranger", strangers("cubed", among=IN_BLOCKS), indirect=True)
def test_blocks_are_made_whole(stranger: Stranger) -> None:
    """A function is one step of the plan, however many its portable form has."""
    x = stranger.array(np.linspace(0.1, 0.9, 5))
    result = special.stdtrit(2.5, x)
    assert result.chunks == x.chunks
    assert result.plan().num_tasks < 20
