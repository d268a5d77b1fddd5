"""Lists of operations by name name operations that exist."""

from __future__ import annotations

import nbm_xp.natural_bm  # noqa: F401  (whose operations are looked up here)
from nbm_xp.tape.loops.gradient import _OUTER
from nbm_xp.tape.node import OPERATIONS


def test_operations_exist() -> None:
    assert set(OPERATIONS) >= _OUTER
