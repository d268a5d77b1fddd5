"""The example: a convolutional network in Keras 2.0.6 learns scikit-learn's digits."""

import pathlib
from typing import Any

import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def test_digits(keras: Any, tmp_path: pathlib.Path) -> None:
    from examples.keras2_digits import draw, learn

    findings = learn(passes=10)
    assert findings.accuracy >= 0.97
    assert findings.seconds < 120
    assert findings.curves["val_acc"][-1] == pytest.approx(findings.accuracy)
    draw(findings, tmp_path / "page.png")
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
