"""Today's numbers are those that were recorded, to the last bit."""

from __future__ import annotations

import json

import pytest

from nbm_xp.namespace import kernels
from nbm_xp.rng import Generator
from tests.promise import FILE, PROMISES, SEED, written

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RECORDED)
def test_what_was_promised(name: str) -> None:
    assert written(PROMISES[name](Generator(SEED, "numpy"))) == RECORDED[name]


def test_the_portable_form_keeps_every_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in (kernels._KERNELS, kernels._WAITING):
        for key in [key for key in table if key[0].startswith("rng.")]:
            monkeypatch.delitem(table, key)
    assert kernels.kernel("rng.draw", "numpy") is None
    broken = [name for name, draw in PROMISES.items() if written(draw(Generator(SEED, "numpy"))) != RECORDED[name]]
    assert broken == []


def test_every_draw_is_promised() -> None:
    assert set(PROMISES) == set(RECORDED), "python -m tests.promise records new draws"
    methods = {name for name in dir(Generator) if not name.startswith("_")}
    beside = {"state", "library", "seed_from_entropy", "jump", "advance", "spawn", "substreams", "fold_in", "shuffle"}
    assert {name.partition(",")[0].partition("/")[0] for name in RECORDED} >= methods - beside
