"""What holds for all tests, the examples in docstrings with them."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Generator

import pytest
from _pytest.doctest import DoctestItem

from nbm_xp.namespace import core


def pytest_report_header() -> str:
    """Say which compiled loops are tested."""
    return f"compiled core: {core.missing() or core.level()}"


def pytest_sessionstart() -> None:
    """Refuse to test a core that was built of another text than the one that lies here."""
    if core.is_outdated():
        pytest.exit(core.missing(), returncode=4)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage: tens of thousands of cases stay, and need not be gone through each time.

    By a threshold: Dask's slicing leaves the collector as it was when Dask was imported, which for us is now. While
    tests run, garbage is looked for less often than Python would, which took a twelfth of their time.
    """
    gc.set_threshold(0)
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 10, 20)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file of tests that cannot be imported fails; looking for examples in it, pytest would skip all of it.

    What needs a package that is not installed says so itself, by `pytest.importorskip`.
    """
    report = yield
    is_test = collector.path.name.startswith("test_")
    if is_test and report.skipped and "unable to import module" in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"{collector.path} cannot be imported; python {collector.path} says why"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What passed needs no list of its names and marks: pytest-xdist would send it, thrice for each test."""
    report = yield
    if report.passed:
        report.keywords = {}
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Examples are run where they are written, and not once more in each surface that has the function too."""
    items[:] = [item for item in items if not isinstance(item, DoctestItem) or _is_at_home(item)]


def _is_at_home(item: DoctestItem) -> bool:
    """Whether the function whose example this is was written in the module that it was found in."""
    names = item.dtest.globs
    found = names.get(item.name.rpartition(".")[2])
    return not inspect.isfunction(found) or inspect.unwrap(found).__module__ == names["__name__"]
