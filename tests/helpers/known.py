"""What is known not to work, as data: rows of patterns and a reason. What a row fits must fail, all else must not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import pytest

__all__ = ["hold", "reason_of", "told"]

FAILURES = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def reason_of(known: Iterable[Sequence[str]], *names: str) -> str | None:
    """The reason of the first row whose patterns fit these names; None where it has none, or none fits."""
    return next((reason for *patterns, reason in known if all(map(fnmatchcase, names, patterns))), "") or None


@contextmanager
def told(case: object) -> Iterator[None]:
    """What fails herein says of which case."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case {case}")
        raise


def hold(cases: Sequence[Any], reason: Callable[[Any], str | None], check: Callable[[Any], None]) -> None:
    """Check cases; one that has a reason to fail must. Where all have one, the test is expected to fail."""
    reasons = list(map(reason, cases))
    for case, why in zip(cases, reasons, strict=True):
        with told(case):
            if why is None:
                check(case)
            else:
                with pytest.raises(FAILURES):
                    check(case)
    if reasons and None not in reasons:
        pytest.xfail(str(reasons[0]))
