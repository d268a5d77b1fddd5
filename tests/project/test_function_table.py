"""The pages that tests write of what they found: the tests that they name tell of every function."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers.function_pages import Finding
from tests.helpers.function_table import note_findings
from tests.helpers.tables import CASES
from tests.property import test_tape_gradients, test_tape_values


def findings(test: Any) -> dict[str, Finding]:
    """What a test tells the tape's page, on NumPy, by functions."""
    name, values = next(mark.args for mark in test.pytestmark if mark.args[0] in ("case", "cases"))
    found = {}
    for value in values:
        parameters = {name: value.values[0] if hasattr(value, "values") else value}
        parameters["library"] = SimpleNamespace(name="numpy")
        item: Any = SimpleNamespace(
            callspec=SimpleNamespace(params=parameters), originalname=test.__name__, user_properties=[]
        )
        note_findings([item])
        finding = Finding(**dict(item.user_properties)["functions.md"])
        found[finding.function] = finding
    return found


def test_the_page_of_the_tape_is_told_how_often_each_function_is_differentiated() -> None:
    orders = findings(test_tape_gradients.test_rule_agrees_with_finite_differences)
    assert {orders[name].order for name in ("exp", "where", "linalg.cholesky")} == {2}
    flat = findings(test_tape_gradients.test_flat_function_gives_zeros)
    assert {finding.order for finding in flat.values()} == {0}


@pytest.mark.parametrize(
    ("test", "column"),
    [
        (test_tape_values.test_value_from_variables, "numpy"),
        (test_tape_values.test_declared_shape_and_dtype_with_unknown_lengths, "unknown"),
        (test_tape_gradients.test_gradient_is_the_same_on_every_library, "numpy"),
    ],
)
def test_the_page_of_the_tape_is_told_where_each_function_holds(test: Any, column: str) -> None:
    found = findings(test)
    assert all(column in finding.columns for finding in found.values())
    assert len(found) > 0.6 * len({case.function for case in CASES})
