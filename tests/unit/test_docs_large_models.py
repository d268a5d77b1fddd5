"""What docs/howto/large_models.md shows runs, and no matrix of that size is computed as a whole on the way."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import dask
import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "howto" / "large_models.md"


def test_the_page_runs() -> None:
    pytest.importorskip("zarr")
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    with dask.config.set({"array.chunk-size": "512KiB", "scheduler": "synchronous"}):
        for block in blocks:
            exec(compile(block, PAGE.name, "exec"), names)
    assert names["states"].shape == (50, 800)
    for chains in (names["chains"], names["opened"].sample(50, 5)):
        stored = {key for key in dict(chains.__dask_graph__()) if "weights" in str(key)}
        assert not stored
