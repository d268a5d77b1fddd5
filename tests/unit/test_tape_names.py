"""Lists and tables of operations name operations that exist."""

from __future__ import annotations

import nbm_xp.keras2
import nbm_xp.natural_bm  # noqa: F401  (whose operations and rules are looked up here)
from nbm_xp.tape.blockwise.translation import RULES as BLOCKWISE
from nbm_xp.tape.derivatives.batching import RULES as BATCHING
from nbm_xp.tape.gradients import OPERATIONS
from nbm_xp.tape.loops.kept import _CHEAP
from nbm_xp.tape.loops.sums import _OUTER
from nbm_xp.tape.printing import INFIX

ANY_OTHER = {"elementwise"}
"""What stands for operations that have no rule of their own."""


def test_operations_exist() -> None:
    tables = {"blockwise": set(BLOCKWISE) - ANY_OTHER, "batching": set(BATCHING), "cheap": _CHEAP, "outer": _OUTER}
    tables["infix"] = set(INFIX)
    assert {name: unknown for name, table in tables.items() if (unknown := table - set(OPERATIONS))} == {}
