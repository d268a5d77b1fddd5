"""Keras 2.0.6 on `nbm_xp.keras2`, Keras 1.0.3 on `nbm_xp.keras1`: each skipped where another release is installed.

`nox -s clients` installs one after the other.
"""

import importlib
import importlib.metadata
import importlib.util
import inspect
import random
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from examples.keras2_client import load_keras, why_not
from nbm_xp import keras1 as K1
from nbm_xp import keras2
from nbm_xp.tape import look_up_by_identity


@pytest.fixture(scope="session")
def _loaded() -> Any:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, SyntaxWarning):  # of escapes in Keras's own strings
            warnings.simplefilter("ignore", kind)
        return load_keras()


@pytest.fixture
def keras(_loaded: Any) -> Iterator[Any]:
    """Keras, with all that is random decided."""
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002 - Keras shuffles by it
    look_up_by_identity()
    yield _loaded
    look_up_by_identity(False)
    keras2.clear_session()
    keras2.set_image_data_format("channels_last")
    keras2.set_floatx("float32")


@pytest.fixture(scope="session")
def _loaded1() -> Any:
    release = importlib.metadata.version("keras") if importlib.util.find_spec("keras") else None
    if release != "1.0.3":
        pytest.skip(f"keras 1.0.3 is not installed, but {release}: pip install --no-deps keras==1.0.3")
    if not hasattr(inspect, "getargspec"):  # gone since Python 3.11; Lambda layers and Keras's test of layers use it
        vars(inspect)["getargspec"] = inspect.getfullargspec
    K1.install_as("keras.backend")
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, SyntaxWarning):  # of escapes in Keras's own strings
            warnings.simplefilter("ignore", kind)
        return importlib.import_module("keras")


@pytest.fixture
def keras1(_loaded1: Any) -> Iterator[Any]:
    """Keras 1.0, with all that is random decided."""
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002 - Keras shuffles and draws weights by it
    look_up_by_identity()
    yield _loaded1
    look_up_by_identity(False)
