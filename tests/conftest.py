"""Fixtures that all tests share: the library under test, the seal against hidden computations, a clean configuration.

JAX has 64-bit types in all tests (its own default has none); tests that are about their absence switch them off.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

os.environ["JAX_ENABLE_X64"] = "1"
os.environ["SCIPY_ARRAY_API"] = "1"  # read by SciPy when it is imported: its functions then take arrays of any library

import pytest
from hypothesis import HealthCheck, settings

if "--standin-cupy" in sys.argv or "STANDIN_CUPY" in os.environ:  # before anything asks which libraries are there
    from tests.standin_cupy import install

    os.environ["STANDIN_CUPY"] = "1"  # for the workers of pytest-xdist
    install()

from tests.function_table import pytest_addoption, pytest_collection_modifyitems, pytest_configure
from tests.libraries import LIBRARIES, Library, guard

__all__ = ["pytest_addoption", "pytest_collection_modifyitems", "pytest_configure"]  # those of the tables

settings.register_profile(
    "default",
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize="CI" in os.environ,  # there a failure must be the change's; elsewhere every run looks at other examples
)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Iterator[Library]:
    """Each library under test in turn, under the guard against hidden computations."""
    with guard():
        yield request.param


@pytest.fixture
def xp(library: Library) -> Any:
    """The namespace of the library under test."""
    return library.xp


@pytest.fixture(autouse=True)
def clean_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every test starts from the built-in defaults: no settings of the user's, none left by another test."""
    from nbm_xp.namespace import reset_configuration

    for name in ("BACKEND", "FLOATX", "INTX", "EPSILON", "IMAGE_DATA_FORMAT"):
        monkeypatch.delenv(f"NBM_XP_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path_factory.getbasetemp() / "home"))
    reset_configuration()
    yield
    reset_configuration()
