"""Keras 2.0.6 itself on `nbm_xp.keras2`: skipped where it is not installed; `nox -s clients` installs it."""

import random
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from examples.keras2_client import load_keras, why_not
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
