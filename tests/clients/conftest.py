"""Keras 2.0.6 on `nbm_xp.keras2`, Keras 1.0.3 on `nbm_xp.keras1`: each skipped if another release is installed.

`nox -s clients` installs one after the other. natural_bm, on `nbm_xp.natural_bm`, is on no package index: its tests
use an installed package, or the folder in the environment variable ``NATURAL_BM`` that contains the folder
``natural_bm``. Likewise the tests of neon, on `nbm_xp.neon`, use the folder in ``NEON``.
"""

import importlib
import importlib.util
import os
import random
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nbm_xp import keras1 as K1
from nbm_xp import keras2, natural_bm
from nbm_xp.compatibility import attend
from nbm_xp.compatibility.importing import release_of, why_not
from nbm_xp.tape import look_up_by_identity


def loaded(release: str, surface: Any) -> Any:
    """Import a release of Keras on a backend; skip if it is not installed, raise an error if it does not import."""
    found = release_of("keras")
    if found is None or not found.startswith(release[:4]):
        pytest.skip(why_not(release) or "")
    surface.install_as("keras.backend")
    return importlib.import_module("keras")


def decided(keras: Any) -> Iterator[Any]:
    """Keras with fixed random seeds; its settings are restored afterwards."""
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002 - Keras shuffles and draws weights by it
    look_up_by_identity()
    yield keras
    look_up_by_identity(False)
    keras2.clear_session()
    keras2.set_image_data_format("channels_last")
    keras2.set_floatx("float32")


@pytest.fixture
def keras() -> Iterator[Any]:
    """Keras 2.0."""
    yield from decided(loaded("2.0.6", keras2))


@pytest.fixture
def keras1() -> Iterator[Any]:
    """Keras 1.0."""
    yield from decided(loaded("1.0.3", K1))


@pytest.fixture(params=["keras", "keras1"])
def either_keras(request: pytest.FixtureRequest) -> Any:
    """Keras 2.0 or 1.0."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def original_bm() -> Any:
    """natural_bm itself on this package; skipped if it is missing, an error if it does not import."""
    folder = os.environ.get("NATURAL_BM")
    if folder and folder not in sys.path:
        sys.path.append(folder)
    if importlib.util.find_spec("natural_bm") is None:
        pytest.skip(
            "natural_bm is not installed: get it from github.com/alexhunterlang/natural_bm and let NATURAL_BM name the "
            "folder that holds its folder natural_bm"
        )
    natural_bm.install_as("natural_bm.backend")
    return importlib.import_module("natural_bm")


@pytest.fixture(scope="session")
def neon() -> Any:
    """Release 1.8 of neon; skipped if it is missing, an error if it cannot be imported."""
    folder = os.environ.get("NEON")
    if folder and folder not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.find_spec("neon")
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    if not any(os.path.exists(os.path.join(place, "backends", "nervanacpu.py")) for place in places):
        pytest.skip(
            "neon is not installed (what an index has by this name is another package): get it from "
            "github.com/NervanaSystems/neon and let NEON name the folder that holds its folder neon"
        )
    if not any(os.path.exists(os.path.join(place, "version.py")) for place in places):  # written by its Makefile
        version: Any = types.ModuleType("neon.version")
        version.VERSION = "not built"
        sys.modules["neon.version"] = version
    attend("neon")
    for name in ("backends", "data", "layers", "models", "optimizers", "transforms", "initializers"):
        importlib.import_module(f"neon.{name}")
    return importlib.import_module("neon")
