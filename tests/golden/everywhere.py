"""The libraries on which recorded cases are run: NumPy, and with ``--everywhere`` all."""

from collections.abc import Iterator

import pytest

from tests.helpers.libraries import Library, guard, libraries

__all__ = ["library", "pytest_generate_tests"]

EVERYWHERE = ("numpy", "dask-halves", "torch", "jax", "array_api_strict", "cupy")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "library" in metafunc.fixturenames:
        names = EVERYWHERE if metafunc.config.getoption("everywhere") else ("numpy",)
        metafunc.parametrize("library", libraries(*names, without=("numpy-readonly",)), indirect=True)


@pytest.fixture
def library(request: pytest.FixtureRequest) -> Iterator[Library]:
    """Each library asked for in turn, under the guard against hidden computations."""
    with guard():
        yield request.param
