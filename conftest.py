"""What holds for all tests, the examples in docstrings with them."""

from __future__ import annotations

import inspect

import pytest
from _pytest.doctest import DoctestItem

from nbm_xp.namespace import core


def pytest_report_header() -> str:
    """Say which compiled loops are tested."""
    return f"compiled core: {core.level() if core.is_there() else 'none, ' + core.MEND}"


def pytest_sessionstart() -> None:
    """Refuse to test a core that was built of another text than the one that lies here."""
    if core.is_there() and not core.is_current():
        pytest.exit(
            "the compiled core is not of the text that lies here: pip install -e . builds it anew", returncode=4
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Examples are run where they are written, and not once more in each surface that has the function too."""
    items[:] = [item for item in items if not isinstance(item, DoctestItem) or _is_at_home(item)]


def _is_at_home(item: DoctestItem) -> bool:
    """Whether the function whose example this is was written in the module that it was found in."""
    names = item.dtest.globs
    found = names.get(item.name.rpartition(".")[2])
    return not inspect.isfunction(found) or inspect.unwrap(found).__module__ == names["__name__"]
