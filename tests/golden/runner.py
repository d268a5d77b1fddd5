"""One test for each recorded function, which holds the records of it, and the comparison of an answer with a record."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import reset_configuration
from tests.golden.known import is_remarked, reason_of
from tests.golden.reader import Case
from tests.helpers.libraries import EVERYWHERE, ONE_CASE_IN, Library

__all__ = ["check", "each"]

REMARKS = "(overflow|divide by zero|invalid value) encountered"
"""What NumPy warns of where a record asks for what is infinite or not a number."""


def each(cases: Iterable[Case]) -> Callable[..., Any]:
    """One test for each function of each system, of a record and a library: a failure names the records it is about."""
    records: dict[str, list[Case]] = {}
    for case in cases:
        records.setdefault(f"{case.system}-{case.function}", []).append(case)

    def over(test: Callable[[Case, Library], None]) -> Any:
        way = test.__name__.removeprefix("test_")

        def whole(request: pytest.FixtureRequest, records: list[Case], library: Library) -> None:
            failed: list[tuple[str, Exception]] = []
            reasons, chosen = [], chosen_records(records, way, library)
            for case in chosen:
                reason = reason_of(way, case, library)
                reset_configuration()
                try:
                    with warnings.catch_warnings():
                        if is_remarked(case):
                            warnings.filterwarnings("ignore", REMARKS, RuntimeWarning)
                        test(case, library)
                except Exception as error:
                    if reason is None:
                        failed.append((case.id, error))
                    else:
                        reasons.append(reason)
                else:
                    if reason is not None:
                        failed.append((case.id, AssertionError(f"it must fail: {reason}")))
            request.node.user_properties.append(("known", reasons))
            if failed:
                lines = [f"{name}: {type(error).__name__}: {error}" for name, error in failed]
                raise AssertionError("\n".join(lines)) from failed[0][1]
            if reasons and len(reasons) == len(chosen):
                pytest.xfail(reasons[0])

        names = ("request", "records", "library")
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        whole.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
        whole.__name__, whole.__doc__, whole.__module__ = test.__name__, test.__doc__, test.__module__
        return pytest.mark.parametrize("records", list(records.values()), ids=list(records))(whole)

    return over


def chosen_records(records: Sequence[Case], way: str, library: Library) -> Sequence[Case]:
    """On NumPy all as they were recorded; else one of each kind and kinds of dtypes, by night every third or sixth."""
    prepared = library.name in ("jax", "dask")  # these compile or lay out each record anew
    if library.name == "numpy" and (EVERYWHERE or way == "as_recorded"):
        return records
    if EVERYWHERE:
        step = 2 * ONE_CASE_IN if prepared else ONE_CASE_IN
        return [case for place, case in enumerate(records) if place % step == 0 or reason_of(way, case, library)]
    return list({(case.kind, "" if prepared else case.dtype_kinds): case for case in records}.values())


def check(got: Any, want: Any, case: Case) -> None:
    """Structure, shape, dtype and values; a plain Python number has no dtype to hold it to."""
    if isinstance(want, list | tuple):
        assert isinstance(got, list | tuple), f"{len(want)} values are recorded, got {got!r}"
        assert len(got) == len(want)
        for part, recorded in zip(got, want, strict=True):
            check(part, recorded, case)
    elif want is None and case.kind == "gradient":  # nothing depends on the argument: no gradient, or one of zeros
        assert got is None or not np.any(got)
    elif want is None or isinstance(want, str | bool):
        assert got == want
    else:
        want = np.asarray(want)
        if hasattr(got, "dtype"):
            assert got.dtype == want.dtype
        assert np.shape(got) == want.shape
        if case.kind == "bits" or want.dtype.kind in "biu":
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=case.rtol, atol=case.atol)
