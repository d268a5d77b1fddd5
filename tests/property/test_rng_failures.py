"""A call that fails leaves a generator as it was: every method, every argument, every library.

What is passed for each argument in turn is wrong for most of them; where a call takes it, nothing is asked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pytest

from nbm_xp.namespace import use_backend
from nbm_xp.rng import Generator, RandomStreams
from nbm_xp.rng.distributions import DISTRIBUTIONS
from tests.helpers.libraries import AGAIN, Library, libraries

Call: TypeAlias = tuple[str, dict[str, Any]]

ROW = [0.25, 0.75]
SOME = libraries("numpy", "dask-halves", "array_api_strict", "torch", *AGAIN, without=("numpy-readonly",))

GENERATOR: dict[str, dict[str, Any]] = {
    name: {**dict(zip(found.rules, found.example, strict=True)), "size": 3} for name, found in DISTRIBUTIONS.items()
} | {
    **{key: {"size": 3} for key in ("random", "standard_normal", "standard_exponential")},
    "bernoulli": {"p": 0.5, "size": 3}, "standard_gamma": {"shape": 2.0, "size": 3},
    "dirichlet": {"alpha": ROW, "size": 3},
    "multivariate_normal": {"mean": ROW, "cov": [[1.0, 0.0], [0.0, 1.0]], "size": 3},
    "multivariate_hypergeometric": {"colors": [3, 4], "nsample": 5, "size": 3}, "permuted": {"x": np.arange(5.0)},
    "bytes": {"length": 5}, "integers": {"low": 0, "high": 9, "size": 3},
    "multinomial": {"n": 5, "pvals": ROW, "size": 3}, "categorical": {"pvals": ROW, "size": 3},
    "choice": {"a": 5, "size": 3}, "permutation": {"x": 5}, "shuffle": {"x": np.arange(5.0)}, "jumped": {"jumps": 1},
    **{key: {"n": 1} for key in ("split", "advance", "spawn", "substreams")}, "fold_in": {"data": 1},
}  # fmt: skip
FURTHER: list[Call] = [
    ("choice", {"a": np.arange(12.0).reshape(3, 4), "size": 2}),
    ("choice", {"a": np.arange(12.0).reshape(3, 4), "size": 2, "axis": 1, "replace": False}),
    ("choice", {"a": 2, "size": 2, "p": ROW}), ("choice", {"a": np.arange(2.0), "size": 2, "p": ROW, "replace": False}),
    ("permutation", {"x": np.arange(12.0).reshape(3, 4), "axis": 1}),
    ("permuted", {"x": np.arange(12.0).reshape(3, 4), "axis": 1, "out": np.zeros((3, 4))}),
    ("binomial", {"n": 3, "p": 0.5, "size": 3}), ("random", {"size": 3, "dtype": "float64", "bits": 31}),
    ("uniform", {"low": np.zeros(3), "high": np.ones(3)}), ("normal", {"loc": np.zeros(3), "scale": np.ones(3)}),
    ("gamma", {"shape": np.ones(3), "scale": np.ones(3)}),
    ("integers", {"low": np.zeros(3, "int64"), "high": np.full(3, 9)}),
]  # fmt: skip

STREAMS: list[Call] = [
    ("uniform", {"size": (3,), "low": 0.0, "high": 1.0}),
    ("normal", {"size": (3,), "avg": 0.0, "std": 1.0, "nstreams": 4}), ("binomial", {"size": (3,), "p": 0.5}),
    ("multinomial", {"n": 2, "pvals": [ROW], "nstreams": 4}), ("choice", {"size": 2, "a": 5, "nstreams": 4}),
    ("choice", {"size": 2, "a": np.arange(2.0), "p": ROW, "nstreams": 4}),
    ("choice", {"size": 2, "p": [ROW], "replace": False, "nstreams": 4}),
    ("multinomial_wo_replacement", {"n": 2, "pvals": [ROW], "nstreams": 4}),
    ("get_substream_rstates", {"n_streams": 2, "dtype": "float32"}), ("set_rstate", {"seed": 3}), ("seed", {"seed": 3}),
]  # fmt: skip

BAD: list[Any] = [
    None, "x", "complex64", -1, 0, 2.5, 2**60, 2**64, 10**400, float("nan"), 1j, [], object(), [1, -1], [[1], [2, 3]],
    np.asarray([0.5, np.nan, 3.0]), np.asarray(["a", "b", "c"]), np.asarray([1j, 0, 0]), np.full(3, 2**63, "uint64"),
    np.ones((2, 3, 4, 5)),
]  # fmt: skip


FEW = ["x", 10**400, np.asarray([0.5, np.nan, 3.0])]
"""For the libraries that share what NumPy's arrays are checked by; there is hardly a call that takes one of them."""


def cases(methods: Any, calls: list[Call], values: list[Any]) -> Iterator[Call]:
    """Each call with each of its arguments in turn replaced by each bad value; without one; and with one too many."""
    for name, good in calls:
        parameters = [p for p in inspect.signature(getattr(methods, name)).parameters if p != "self"]
        for parameter in parameters:
            for bad in values:
                yield name, good | {parameter: bad}
            if values is BAD:  # most that is left out has a default, and numbers are drawn
                yield name, {key: value for key, value in good.items() if key != parameter}
        yield name, good | {"nothing_of_the_kind": 1}


def failures(make: Callable[[], Any], look: Callable[[Any], Any], calls: Any) -> tuple[int, list[str]]:
    """How many calls failed, and which of those left something else behind than was there."""
    count, moved = 0, []
    for name, arguments in calls:
        subject = make()
        before = look(subject)
        try:
            getattr(subject, name)(**arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is
            count += 1
            if look(subject) != before:
                moved.append(f"{name}({arguments}): {error!r}")
    return count, moved


@pytest.mark.parametrize("library", SOME)
@pytest.mark.at_night("array_api_strict")
def test_generators_stay_where_they_are(library: Library) -> None:
    assert set(GENERATOR) == {name for name in dir(Generator) if not name.startswith("_")} - {"state", "library"}
    calls = cases(Generator, [*GENERATOR.items(), *FURTHER], BAD if library.name == "numpy" else FEW)
    count, moved = failures(lambda: Generator(5, library.name), lambda g: g.state, calls)
    assert moved == []
    assert count > 300


@pytest.mark.parametrize("library", SOME)
def test_streams_stay_where_they_are(library: Library) -> None:
    def make() -> RandomStreams:
        streams = RandomStreams(5)
        streams.uniform((2,))
        return streams

    def look(streams: RandomStreams) -> Any:
        return streams.rstate.tolist(), len(streams.updates())

    calls = cases(RandomStreams, STREAMS, BAD if library.name == "numpy" else FEW)
    with use_backend(library.name):
        count, moved = failures(make, look, calls)
    assert moved == []
    assert count > 80


def test_what_a_double_holds_is_no_error() -> None:
    want = RandomStreams(5).uniform((3,), high=2.0**64).eval()
    np.testing.assert_array_equal(RandomStreams(5).uniform((3,), high=2**64).eval(), want)
    np.testing.assert_array_equal(Generator(5).uniform(0, 2**64, 3), Generator(5).uniform(0, 2.0**64, 3))


@pytest.mark.parametrize("flag", [2, "yes", 1.0, None, 2**64, np.ones(2)])
def test_what_is_neither_true_nor_false(flag: Any) -> None:
    with pytest.raises(TypeError, match="endpoint must be True or False, got"):
        Generator(5).integers(0, 9, 3, endpoint=flag)
    with pytest.raises(TypeError, match="replace must be True or False, got"):
        Generator(5).choice(9, 3, replace=flag)
    with pytest.raises(TypeError, match="replace must be True or False, got"):
        RandomStreams(5).choice(3, a=5, replace=flag)
    assert (Generator(5).integers(0, 9, 3, endpoint=np.True_) == Generator(5).integers(0, 9, 3, endpoint=1)).all()
