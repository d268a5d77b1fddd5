"""A plugin for pytest, to be loaded before SciPy's conftest: `-p tests.interop.scipy_own.standin`.

`NBM_XP_OWN_TESTS` is a JSON file for the outcomes; `NBM_XP_STANDIN=tape` puts the tape's namespace in the place of
array_api_strict.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LIMIT = 120.0
"""Seconds of the processor that one test may take."""

_outcomes: dict[str, tuple[str, str]] = {}


class _TooLong(BaseException):
    """No exception that a test could expect or a library retry on."""


def _stand_in() -> None:
    """Let SciPy's conftest find the tape's namespace where it imports array_api_strict, and nobody else."""
    from nbm_xp.namespace import set_floatx
    from nbm_xp.tape import namespace as tape

    info: Any = tape.__array_namespace_info__
    info.devices = lambda self: [self.default_device()]  # SciPy's conftest adds to a list: before 2025.12 it was one
    set_floatx("float64")
    double: Any = types.ModuleType("array_api_strict")
    double.__version__ = "2.4"
    double.set_array_api_strict_flags = lambda **flags: None
    double.empty = tape.empty
    real = sys.modules.get("array_api_strict")
    sys.modules["array_api_strict"] = double
    try:
        import scipy.conftest  # noqa: F401
    finally:
        del sys.modules["array_api_strict"]
        if real is not None:
            sys.modules["array_api_strict"] = real


if os.environ.get("NBM_XP_STANDIN") == "tape":
    _stand_in()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Stop a test that takes too long, whatever it catches."""

    def ring(*_: Any) -> None:
        raise _TooLong(f"more than {LIMIT} seconds")

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, LIMIT, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep each test's outcome and the last line of what went wrong."""
    if report.when == "call" or report.outcome != "passed":
        outcome = ("x" if hasattr(report, "wasxfail") else "") + report.outcome
        why = "" if report.passed else (str(report.longrepr).strip().splitlines() or [""])[-1][:300]
        _outcomes[report.nodeid] = outcome, why


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Keep what could not be collected: pytest runs nothing then."""
    if report.failed:
        why = (str(report.longrepr).strip().splitlines() or [""])[-1][:300]
        _outcomes[report.nodeid] = "uncollected", why


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the file."""
    Path(os.environ["NBM_XP_OWN_TESTS"]).write_text(json.dumps(_outcomes), encoding="utf-8")
