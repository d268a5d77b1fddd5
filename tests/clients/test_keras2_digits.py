"""The example: a convolutional network in Keras 2.0.6 learns scikit-learn's digits."""

import pathlib
from typing import Any

import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def test_digits(keras: Any, tmp_path: pathlib.Path) -> None:
    from examples.keras2_digits import main

    assert main(str(tmp_path / "picture.png"), epochs=10) >= 0.96
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
