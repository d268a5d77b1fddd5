"""Composites declared as elementwise are elementwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbm_xp.keras2
import nbm_xp.natural_bm
import nbm_xp.rng.recorded  # noqa: F401
from nbm_xp.tape import composite, grad, same_as_first, vmap
from nbm_xp.tape import namespace as xp
from nbm_xp.tape.operations import COMPOSITE_TAG, ELEMENTWISE_TAG, OPERATIONS

X = np.random.default_rng(0).normal(size=(4, 3)) + 0.1

ELEMENTWISE: dict[str, tuple[int, dict[str, Any]]] = {
    "chosen_whole": (2, {"name": "maximum"}), "as_rounded": (1, {}), "elu": (1, {"alpha": 0.5}),
    "hard_sigmoid": (1, {}), "relu": (1, {"alpha": 0.1, "max_value": 1.0, "slope_at_zero": 0.0}),
    "root_of_positive_part": (1, {}), "root_of_sum_of_squares": (1, {}), "sigmoid": (1, {}), "softplus": (1, {}),
    "softsign": (1, {}),
}  # fmt: skip
"""The elementwise composites: their number of arrays, and the options to test."""


def tagged() -> set[str]:
    return {name for name, op in OPERATIONS.items() if {COMPOSITE_TAG, ELEMENTWISE_TAG} <= op.tags}


def test_those_that_are_declared_are_tagged_and_no_others() -> None:
    assert {name for name in tagged() if not name.startswith(("test_", "doctest_"))} == set(ELEMENTWISE)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_each_element_comes_of_those_in_its_place(name: str) -> None:
    count, options = ELEMENTWISE[name]
    arrays = [np.abs(X), -X][:count]
    run = OPERATIONS[name].run
    assert run is not None
    whole = run(np, *arrays, **options)
    parts = [run(np, *(array[i, j : j + 1] for array in arrays), **options)[0] for i in range(4) for j in range(3)]
    np.testing.assert_allclose(whole, np.reshape(parts, (4, 3)), rtol=1e-15)


def test_one_of_the_users_own() -> None:
    # the rule differs from the derivative, to show whether it is used
    @composite(gradient=lambda g, out, x: g * 7.0, elementwise=True, may_overlap=False, name="test_declared")
    def declared(x: Any) -> Any:
        return x * x

    # of the shape of its argument, but not elementwise
    @composite(gradient=lambda g, out, x: g, infer=same_as_first, may_overlap=False, name="test_undeclared")
    def undeclared(x: Any) -> Any:
        return x - x.__array_namespace__().sum(x, axis=0)

    slope = grad(lambda x: xp.sum(vmap(lambda row: declared(row))(x)))(X)
    assert slope.tolist() == [[7.0] * 3] * 4
    wanted = X - X.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(vmap(undeclared)(X), wanted, rtol=1e-12)
