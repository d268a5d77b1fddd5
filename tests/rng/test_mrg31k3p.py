"""The generator in exact integers: its constants, its jumps, its seeds, and values that others published."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import core
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, ONE_STEP, OUTPUT_STEPS, STREAM_STEPS, transition
from nbm_xp.rng import M1, M2, Generator, RandomStreams, check_seed, jump, stream_count, substreams
from tests.helpers.streams import starts, step

# what Theano 1.0.5 gives for the seed 12345
AFTER_ONE_DRAW = (336690377, 597094797, 1245771585, 85196284, 523477687, 2094976052)


def test_moduli_and_multipliers_are_those_of_the_article() -> None:
    assert (M1, M2) == (2**31 - 1, 2**31 - 21069)
    assert ONE_STEP[0][0] == (0, 2**22, 2**7 + 1)
    assert ONE_STEP[1][0] == (2**15, 0, 2**15 + 1)


def test_one_draw_moves_the_state_on_by_two_to_the_134() -> None:
    assert jump(check_seed(12345), DRAW_STEPS) == AFTER_ONE_DRAW
    assert Generator((12345,) * 6).jumped().state == (*AFTER_ONE_DRAW, 0)


def test_the_jumps_are_those_of_the_layout() -> None:
    assert (OUTPUT_STEPS, STREAM_STEPS, DRAW_STEPS) == (2**56, 2**72, 2**134)
    found = re.search(r"next_output\[18\] = {([^}]*)}", core.text("elements/recurrence.h"))
    assert found is not None
    assert list(map(int, re.findall(r"\d+", found[1]))) == list(np.asarray(transition(OUTPUT_STEPS)).ravel())


def test_a_jump_is_as_many_steps() -> None:
    state = [12345, 1, 2, 3, 4, 5]
    for steps in range(7):
        assert jump(check_seed([12345, 1, 2, 3, 4, 5]), steps) == tuple(state)
        state, _ = step(state)


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_streams_start_two_to_the_72_apart(count: int) -> None:
    np.testing.assert_array_equal(substreams((12345,) * 6, count), starts([12345] * 6, count))


@pytest.mark.parametrize(
    ("size", "streams"),
    [
        ((), 1), ((1,), 1), ((5,), 5), ((6,), 6), ((7,), 1), ((12,), 2), ([13], 2), ((3, 4), 2), ([2, 3, 5], 5),
        ((100, 100), 1666), ((92159,), 15359), ((92160,), 15360), ((1000, 1000), 15360), (5, 15360),
        ((2.0, 3), 15360), (None, 15360), ("12", 15360),
    ],
)  # fmt: skip
def test_number_of_streams(size: Any, streams: int) -> None:
    assert stream_count(size) == RandomStreams().n_streams(size) == streams


@pytest.mark.parametrize(
    ("seed", "state"),
    [
        (1, (1,) * 6), (M2 - 1, (M2 - 1,) * 6), (np.int32(7), (7,) * 6), (np.asarray(7), (7,) * 6),
        ([M1 - 1, 0, 0, M2 - 1, 0, 0], (M1 - 1, 0, 0, M2 - 1, 0, 0)), ((9, 8, 7, 6, 5, 4), (9, 8, 7, 6, 5, 4)),
        (np.arange(1, 7, dtype=np.uint64), (1, 2, 3, 4, 5, 6)), (iter([1, 2, 3, 4, 5, 6]), (1, 2, 3, 4, 5, 6)),
    ],
)  # fmt: skip
def test_seeds(seed: Any, state: tuple[int, ...]) -> None:
    assert check_seed(seed) == state


THEANO = {
    "RandomStreams": lambda seed: RandomStreams(seed),
    "RandomStreams.set_rstate": lambda seed: RandomStreams(1).set_rstate(seed),
    "RandomStreams.rstate": lambda seed: setattr(RandomStreams(1), "rstate", seed),
    "RandomStreams.seed": lambda seed: RandomStreams(1).seed(seed),
}
SET = THEANO | {"Generator": Generator, "Generator.state": lambda seed: setattr(Generator(1), "state", seed)}


@pytest.mark.parametrize("use", THEANO.values(), ids=THEANO)
@pytest.mark.parametrize("seed", [0, -3, M2])
def test_what_is_no_seed_to_theano(use: Callable[[Any], Any], seed: int) -> None:
    with pytest.raises(ValueError, match=f"seed must be from 1 to 2147462578, got {seed}"):
        use(seed)


@pytest.mark.parametrize("use", SET.values(), ids=SET)
@pytest.mark.parametrize(
    ("seed", "error", "message"),
    [
        (-3, ValueError, "seed must be (from 1 to 2147462578|0 or more), got -3"),
        ([0, 0, 0, 1, 1, 1], ValueError, "the first three integers of seed must not all be 0"),
        ([1, 1, 1, 0, 0, 0], ValueError, "the last three integers of seed must not all be 0"),
        ([M1, 1, 1, 1, 1, 1], ValueError, "the first three integers of seed must be from 0 to 2147483646"),
        ([1, 1, 1, 1, 1, M2], ValueError, "the last three integers of seed must be from 0 to 2147462578"),
        ([1, 1, 1, 1, -1, 1], ValueError, "the last three integers of seed must be from 0 to 2147462578"),
        ([1, 2, 3], TypeError, "seed must be one integer or six integers, got 3"),
        ([1, 2, 3, 4, 5, 6.0], TypeError, "seed must be one integer or six integers"),
        (1.5, TypeError, "seed must be one integer or six integers, got 1.5"),
        ("123456", TypeError, "seed must be one integer or six integers, got '123456'"),
    ],
)
def test_what_is_no_seed(use: Callable[[Any], Any], seed: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        use(seed)
