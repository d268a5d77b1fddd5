"""A test of records fails for each record that is not held, and says which."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.golden import known
from tests.golden.reader import Case
from tests.golden.runner import each

RECORDS = [
    Case(f"{function}/{name}", function, "value", "float32", [], {}, name, {})
    for function in ("exp", "log")
    for name in ("right", "wrong", "raises")
]


def held(test: Any, **also: Any) -> list[tuple[str, list[str]]]:
    """What a run of the test of `exp` notes."""
    (mark,) = test.pytestmark
    assert mark.kwargs["ids"] == ["exp", "log"]
    node = SimpleNamespace(user_properties=[])
    test(SimpleNamespace(node=node), mark.args[1][0], **also)
    return node.user_properties


def test_every_record_is_held_and_those_that_fail_are_named() -> None:
    met = []

    def test_as_recorded(case: Case) -> None:
        met.append(case.id)
        if case.result == "raises":
            raise ZeroDivisionError("nothing to divide by")
        assert case.result == "right"

    with pytest.raises(AssertionError) as failure:
        held(each(RECORDS, again=False)(test_as_recorded))
    assert met == ["exp/right", "exp/wrong", "exp/raises"]
    first, *_, last = str(failure.value).splitlines()
    assert first.startswith("exp/wrong: AssertionError") and last.startswith("exp/raises: ZeroDivisionError: nothing")


def test_what_is_known_to_fail_must_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def test_as_recorded(case: Case, library: Any) -> None:
        assert case.result in fine

    monkeypatch.setattr(known, "KNOWN", [("odd", "as_recorded", "*/w*", "it cannot")])
    odd, fine = SimpleNamespace(name="odd"), ["right", "raises"]
    test = each(RECORDS, again=False)(test_as_recorded)
    assert held(test, library=odd) == [("known", ["it cannot"])]
    fine.append("wrong")
    with pytest.raises(AssertionError, match="exp/wrong: AssertionError: it must fail: it cannot"):
        held(test, library=odd)
