"""The libraries under test: those that are here import, and one chunking of Dask is enough for every day."""

from __future__ import annotations

from nbm_xp.namespace import get_namespace
from tests.helpers.libraries import EVERYWHERE, LIBRARIES, Library, libraries


def test_what_is_here_imports(library: Library) -> None:
    assert get_namespace(library.name).asarray is not None


def test_one_chunking_is_enough_for_every_day() -> None:
    lazy = [parameter.values[0] for parameter in libraries("dask", without=("dask-cupy",))]
    assert len(lazy) == (4 if EVERYWHERE else 1)
    assert {parameter.id for parameter in libraries("dask-halves")} <= {"dask-halves"}
    assert {"numpy", "numpy-readonly"} <= {parameter.id for parameter in LIBRARIES}
