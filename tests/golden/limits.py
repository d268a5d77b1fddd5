"""What happens where an original refused what it need not have: ours either rejects it too, or has one known answer.

Each case named ``limit-…`` has its entry in ``limits.json``; ``RECORD_LIMITS=1 pytest -n 0 tests/golden -k limit-``
adds those that are not in it yet.
"""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import numpy as np

from nbm_xp import backend

__all__ = ["hold"]

FILE = pathlib.Path(__file__).with_name("limits.json")
KNOWN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
REFUSED = "refused"


def described(answer: Any) -> Any:
    """An answer as JSON holds it: arrays by dtype, shape and first values, what is no number by its type."""
    if isinstance(answer, list | tuple):
        return [described(part) for part in answer]
    if isinstance(answer, np.ndarray | np.generic) and answer.dtype.kind in "biuf":
        first = [float(f"{float(value):.4g}") for value in np.ravel(answer)[:12]]
        return {"dtype": str(answer.dtype), "shape": list(answer.shape), "first": first}
    return answer if isinstance(answer, bool | int | float | str | None) else type(answer).__name__


def hold(key: str, error: Exception | None, answer: Any) -> None:
    """Hold what a case came to, an error or an answer, to what is recorded of it."""
    found = REFUSED if error is not None else described(answer)
    if os.environ.get("RECORD_LIMITS") and key not in KNOWN:
        KNOWN[key] = found
        FILE.write_text(json.dumps(KNOWN, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert key in KNOWN, f"{key} is not in {FILE.name}; it came to {found!r}"
    if backend() != "numpy" and REFUSED in (found, KNOWN[key]):
        return  # what one library rejects, another may do: places out of range, for one
    assert same(found, KNOWN[key]), f"{key} came to {found!r}, and {FILE.name} has {KNOWN[key]!r}"


def same(found: Any, known: Any) -> bool:
    """Whether two descriptions agree, real numbers to three digits."""
    if isinstance(found, list) and isinstance(known, list):
        return len(found) == len(known) and all(map(same, found, known))
    if isinstance(found, dict) and isinstance(known, dict):
        return found.keys() == known.keys() and all(same(found[name], known[name]) for name in found)
    if isinstance(found, float) and isinstance(known, float):
        return bool(np.isclose(found, known, rtol=1e-3, atol=1e-6, equal_nan=True))
    return bool(found == known)
