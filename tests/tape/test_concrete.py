"""Functions whose result has a shape that depends on data look at their arguments now, or say why they cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import use_backend
from nbm_xp.rng import RandomStreams
from nbm_xp.tape import Variable, evaluate, gradients, placeholder
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library, guard, libraries

LOOKING: dict[str, Callable[[Any], Any]] = {
    "nonzero": lambda x: xp.nonzero(x),
    "unique_all": lambda x: xp.unique_all(x),
    "unique_counts": lambda x: xp.unique_counts(x),
    "unique_inverse": lambda x: xp.unique_inverse(x),
    "unique_values": lambda x: xp.unique_values(x),
    "mask": lambda x: x[x > 0],
    "repeat": lambda x: xp.repeat(x, xp.astype(x > 0, xp.int64)),
}
NUMBERS = np.asarray([2.0, -1.0, 0.0, 2.0, 3.0])


@pytest.mark.parametrize("name", LOOKING)
class TestRefusals:
    def test_of_an_input(self, name: str) -> None:
        with pytest.raises(ValueError, match=f"{name}.*depends on data.*'?numbers'?"):
            LOOKING[name](placeholder((5,), dtype="float64", name="numbers"))

    def test_of_random_draws(self, name: str) -> None:
        with pytest.raises(ValueError, match=f"{name}.*depends on data.*random draws"):
            LOOKING[name](RandomStreams(3).uniform((5,)))

    @pytest.mark.parametrize("library", libraries("dask-halves"), indirect=True)
    def test_of_lazy_arrays(self, name: str, library: Library) -> None:
        with guard(), pytest.raises(ValueError, match=f"{name}.*depends on data.*lazy"):
            LOOKING[name](Variable(library.array(NUMBERS)))

    def test_of_what_a_lazy_library_will_make(self, name: str) -> None:
        with use_backend("dask"), guard(), pytest.raises(ValueError, match=f"{name}.*depends on data.*lazy"):
            LOOKING[name](xp.linspace(-1.0, 1.0, 5))


def test_a_variable_may_be_looked_at() -> None:
    x = Variable(NUMBERS)
    positive = x[x > 0]
    assert positive.shape == (3,)
    np.testing.assert_array_equal(evaluate(gradients(xp.sum(positive**2), x)), [4, 0, 0, 4, 6])
    x.set_value(NUMBERS * 10)  # the places stay those that were found
    np.testing.assert_array_equal(evaluate(positive), [20, 20, 30])


def test_equal_elements_pass_the_gradient_to_the_first() -> None:
    x = Variable(NUMBERS)
    for values in (xp.unique_values(x), xp.unique_all(x).values, xp.unique_counts(x)[0], xp.unique_inverse(x)[0]):
        assert values.shape == (4,)
        np.testing.assert_array_equal(evaluate(gradients(xp.sum(values**2), x)), [4, -2, 0, 0, 6])


def test_counts_pass_the_gradient_as_often() -> None:
    x = Variable(NUMBERS[:3])
    repeated = xp.repeat(x, np.asarray([2, 0, 3]))
    np.testing.assert_array_equal(evaluate(gradients(xp.sum(repeated), x)), [2, 0, 3])


def test_of_a_known_mask_the_array_may_be_unknown() -> None:
    x = placeholder((None, 3), dtype="float64")
    assert x[:, np.asarray([True, False, True])].shape == (x.shape[0], 2)
    assert xp.repeat(x, np.asarray([0, 2, 2]), axis=1).shape == (x.shape[0], 4)


def test_results_have_names() -> None:
    x = Variable(NUMBERS)
    assert xp.unique_all(x)._fields == ("values", "indices", "inverse_indices", "counts")
    assert xp.unique_counts(x)._fields == ("values", "counts")
    assert xp.unique_inverse(x)._fields == ("values", "inverse_indices")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32", "bool"])
def test_places_are_int64_on_every_library(dtype: str) -> None:
    for library in libraries("numpy", "array_api_strict", "torch", "jax", without=("numpy-readonly",)):
        (held,) = library.values
        if library.marks:
            continue
        x = Variable(held.array(np.asarray([1, 0, 1], dtype=dtype)))
        found = xp.unique_all(x)
        assert {str(part.dtype) for part in found[1:]} == {"int64"}
        assert found.values.dtype == dtype
        assert xp.nonzero(x)[0].dtype == "int64"
