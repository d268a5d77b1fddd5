"""A test of records fails for each record that is not held, and says which."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.golden import known
from tests.golden.reader import Case
from tests.golden.runner import each

RECORDS = [
    Case("odd", f"{function}/{name}", function, "value", "float32", [], {}, name, {})
    for function in ("exp", "log")
    for name in ("right", "wrong", "raises")
]


def held(fine: list[str]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """What a run of the test of `exp` on NumPy meets and notes."""
    met = []

    def test_as_recorded(case: Case, library: Any) -> None:
        met.append(case.id)
        if case.result == "raises":
            raise ZeroDivisionError("nothing to divide by")
        assert case.result in fine

    test = each(RECORDS)(test_as_recorded)
    (mark,) = test.pytestmark
    assert mark.kwargs["ids"] == ["odd-exp", "odd-log"]
    node = SimpleNamespace(user_properties=[])
    test(SimpleNamespace(node=node), mark.args[1][0], SimpleNamespace(name="numpy"))
    return met, node.user_properties


def test_every_record_is_held_and_those_that_fail_are_named() -> None:
    with pytest.raises(AssertionError) as failure:
        held(["right"])
    first, *_, last = str(failure.value).splitlines()
    assert first.startswith("exp/wrong: AssertionError") and last.startswith("exp/raises: ZeroDivisionError: nothing")


def test_what_is_known_to_fail_must_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "KNOWN", [("numpy", "as_recorded", f"*/{text}*", f"no {text}") for text in ("w", "ra")])
    met, noted = held(["right"])
    assert met == ["exp/right", "exp/wrong", "exp/raises"]
    assert noted == [("known", ["no w", "no ra"])]
    with pytest.raises(AssertionError, match="exp/wrong: AssertionError: it must fail: no w"):
        held(["right", "wrong"])
