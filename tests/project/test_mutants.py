"""Mutants have one fault each, spread over a package, and are killed by a test that fails."""

from __future__ import annotations

import json
import pathlib

import pytest

from tests import mutants

SOURCE = '''"""Sums, with an ⊕ in it."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    SIZE = 4


def total(x: "float32", axis: int = -1) -> int:
    """Not a fault: + and 1."""
    if not x.size and x.ndim == 2:
        raise ValueError(f"{1 + 1}")
    x += 1
    return x.astype("float32").sum(axis=0) - x.mean(axis=axis)
'''


def test_each_fault_stands_in_its_place_and_nowhere_else() -> None:
    found = mutants.mutants_of(SOURCE, "total.py")
    kinds = [(mutant.kind, mutant.before) for mutant in found]
    assert ("operator", "not x.size and x.ndim == 2") in kinds and ("comparison", "x.ndim == 2") in kinds
    assert {"sign", "constant", "axis", "data type", "dropped"} <= {kind for kind, _ in kinds}
    assert not any(mutant.line < 8 or "⊕" in mutant.before for mutant in found)
    assert all(mutant.names == ("total",) for mutant in found)
    for mutant in found:
        faulty = mutants.applied(mutant, SOURCE)
        compile(faulty, "total.py", "exec")
        assert faulty != SOURCE
        assert faulty.replace(mutant.after, mutant.before, 1) == SOURCE or faulty.count(mutant.after) > 1


@pytest.mark.parametrize(("line", "killed"), [("assert half(4) == 2", True), ("assert half(0) == 0", False)])
def test_a_mutant_is_killed_by_a_test_that_fails(tmp_path: pathlib.Path, line: str, killed: bool) -> None:
    (tmp_path / "halves.py").write_text("def half(x):\n    return x / 2\n")
    (tmp_path / "test_halves.py").write_text(f"from halves import half\n\ndef test_half():\n    {line}\n")
    (mutant, *_) = mutants.mutants_of((tmp_path / "halves.py").read_text(), "halves.py")
    found = mutants.judged(mutant, tmp_path, ["test_halves.py"], 20, plugin="")
    assert (found["killed"], found["out_of_time"], found["kind"]) == (killed, False, "operator")
    assert (found["by"] == "test_halves.py::test_half") == killed
    assert (tmp_path / "halves.py").read_text() == "def half(x):\n    return x / 2\n"
    json.dumps(found)
