"""Today's numbers are those that were recorded, to the last bit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import kernels
from nbm_xp.rng import Generator
from tests.golden.mrg import COMPONENTS, advanced
from tests.helpers.promise import FILE, PROMISES, SEED, written
from tests.helpers.streams import scaled, starts, stepped

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))
MODULI = [modulus for modulus, _ in COMPONENTS for _ in range(3)]


def state_of(words: Any) -> list[int]:
    return [int(word) % modulus for word, modulus in zip(words, MODULI, strict=True)]


def seeded(entropy: Any, **options: Any) -> list[int]:
    return state_of(np.random.SeedSequence(entropy, **options).generate_state(6, np.uint64))


def named(state: list[int], *entropy: int) -> list[int]:
    return seeded([*state, *entropy])


STATE = seeded(SEED)
NAME = int.from_bytes(b"weights", "little")
STATES = {
    "SeedSequence": seeded(SEED, spawn_key=(3,)), "advance": advanced(STATE, 12345), "child": named(STATE, 1, 2, 1, 1),
    "fold_in/name": named(STATE, 1, 1, 1, 7, 2, NAME % 2**32, NAME >> 32),
    "fold_in/number": named(STATE, 1, 0, 1, 1, 1, 7), "jumped": advanced(STATE, 5 * 2**134),
    "part": named(STATE, 1, 3, 1, 1), "seed/0": seeded(0), "seed/1": seeded(1), "seed/large": seeded(10**40),
    "six": [2026] * 6, "substreams": advanced(STATE, 2 * 2**160),
}  # fmt: skip


@pytest.mark.parametrize("name", STATES)
def test_what_was_recorded_is_the_recurrence_in_plain_integers(name: str) -> None:
    integers, _ = stepped(starts(STATES[name], 9), 9)
    assert written(scaled(integers, "float32")) == RECORDED[name]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_was_recorded_is_dealt_out_to_streams(dtype: str) -> None:
    shape = tuple(RECORDED[f"random/{dtype}"]["shape"])
    integers, _ = stepped(starts(STATE, 44), 44)
    assert shape == (4, 11)
    if dtype == "float64":
        low, _ = stepped(starts(advanced(STATE, 2**56), 44), 44)
        drawn = (integers - 1 + low * 2.0**-31) * 2.0**-31
    else:
        drawn = scaled(integers, dtype)
    assert written(drawn.reshape(shape)) == RECORDED[f"random/{dtype}"]


@pytest.mark.parametrize("name", RECORDED)
def test_what_was_promised(name: str) -> None:
    assert written(PROMISES[name](Generator(SEED, "numpy"))) == RECORDED[name]


def test_the_portable_form_keeps_every_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in [key for key in kernels._KERNELS if key[0].startswith("rng.")]:
        monkeypatch.delitem(kernels._KERNELS, key)
    assert kernels.kernel("rng.draw", "numpy") is None
    broken = [name for name, draw in PROMISES.items() if written(draw(Generator(SEED, "numpy"))) != RECORDED[name]]
    assert broken == []


def test_every_draw_is_promised() -> None:
    assert set(PROMISES) == set(RECORDED), "python -m tests.helpers.promise records new draws"
    methods = {name for name in dir(Generator) if not name.startswith("_")}
    beside = {"state", "library", "advance", "spawn", "substreams"}
    beside |= {"fold_in", "shuffle", "split"}
    assert {name.partition(",")[0].partition("/")[0] for name in RECORDED} >= methods - beside
