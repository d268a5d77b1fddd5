"""Seeds of `Generator`: the states they stand for, and that near ones have nothing to do with each other.

Every test of chance here is made on fixed seeds, at a false-alarm rate of 10**-10.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from nbm_xp.machines.randomness import stream
from nbm_xp.rng import M1, M2, Generator, RandomStreams
from nbm_xp.rng.seeds import from_words
from tests.helpers.streams import scaled, starts, stepped

MODULI = (M1, M1, M1, M2, M2, M2)
SEEDS = (0, 1, 2, 234, 2026, M2 - 1, M2, M1, 2**31, 2**32, 2**64 - 1, 2**64, 10**40)
RARE = 1e-10


def plainly(words: Any) -> tuple[int, ...]:
    return tuple(int(word) % modulus for word, modulus in zip(words, MODULI, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_stands_for_its_hash_in_numpy(seed: int) -> None:
    state = plainly(np.random.SeedSequence(seed).generate_state(6, np.uint64))
    generator = Generator(seed)
    assert generator.state == (*state, 0)
    assert generator == Generator(np.random.SeedSequence(seed)) == Generator(state)
    later = Generator(5)
    later.spawn(2)
    later.state = seed
    assert later == generator
    integers, _ = stepped(starts(state, 7), 7)
    for dtype in ("float16", "float32", "float64"):
        got = Generator(seed).random(7, dtype, bits=31)
        np.testing.assert_array_equal(got, scaled(integers, dtype))


def test_children_and_names_stand_for_their_hashes() -> None:
    name = int.from_bytes(b"weights", "little")
    hashed = [
        (Generator(5).spawn(1)[0], [1, 2, 1, 0]),
        (Generator(5).spawn(12)[-1], [1, 2, 1, 11]),
        (Generator(5).split(3)[-1], [1, 3, 1, 2]),
        (Generator(5).fold_in("weights"), [1, 1, 1, 7, 2, name % 2**32, name >> 32]),
        (Generator(5).fold_in(-3), [1, 0, 1, 1, 1, 3]),
    ]
    for made, entropy in hashed:
        words = np.random.SeedSequence([*Generator(5).state[:6], *entropy]).generate_state(6, np.uint64)
        assert made.state == (*plainly(words), 0)


def test_all_that_is_made_of_words_is_a_state() -> None:
    random = np.random.default_rng(1)
    words = [*random.integers(0, 2**64, (2000, 6), "uint64").tolist(), [0] * 6, [M1] * 3 + [M2] * 3]
    states = np.asarray([from_words(some) for some in words])
    states = np.concatenate([states, [Generator(seed).state[:6] for seed in range(2000)]])
    assert (states >= 0).all()
    assert (states < np.asarray(MODULI)).all()
    assert states[:, :3].any(axis=1).all()
    assert states[:, 3:].any(axis=1).all()
    assert from_words([0] * 6) == from_words([M1] * 3 + [M2] * 3) == (0, 0, 1, 0, 0, 1)


def test_random_streams_keep_the_seeds_of_theano() -> None:
    assert RandomStreams(2).rstate.tolist() == [2] * 6
    one, two = (RandomStreams(seed).uniform((6,), dtype="float64").eval() for seed in (1, 2))
    assert np.abs((2 * one - two + 0.5) % 1 - 0.5).max() < 2e-5  # which is why `Generator` hashes


def test_seeds_have_no_common_states() -> None:
    made = [Generator(seed) for seed in range(300)] + [Generator(1 << bit) for bit in range(9, 200)]
    made += Generator(0).spawn(300) + Generator(1).spawn(300) + Generator(0).substreams(300)[1:]
    assert len({number for each in made for number in each.state[:6]}) > 6 * len(made) - 5  # of about 2**31


BASE = 0x1234_5678_9ABC_DEF0
NEAR: dict[str, Callable[[int], Any]] = {
    "consecutive": lambda i: Generator(i), "consecutive from far": lambda i: Generator(2**40 + i),
    "a bit apart": lambda i: Generator((BASE + i // 64) ^ (1 << i % 64)), "multiples": lambda i: Generator(i << 20),
    "children": lambda i: Generator(i).spawn(1)[0], "second children": lambda i: Generator(i // 2).spawn(2)[i % 2],
    "folded": lambda i: Generator(3).fold_in(i), "random_state": lambda i: Generator(stream(i).rstate.tolist()),
}  # fmt: skip
COUNT, EACH = 2048, 60


def least_chance(seeded: Callable[[int], Any]) -> float:
    """The least p-value of many: of generators one by one, and of those that follow one another beside each other."""
    x = np.stack([seeded(i).random(EACH, "float64") for i in range(COUNT)])
    means = stats.norm.cdf(np.sqrt(12.0 * EACH) * (x.mean(axis=1) - 0.5))
    chances = [two_sided(np.sqrt(12.0 * x.size) * (x.mean() - 0.5))]
    chances += [stats.kstest(column, "uniform").pvalue for column in (x[:, 0], x[:, 1], x[:, -1], means)]
    centred = np.sqrt(12.0) * (x - 0.5)
    for lag in (1, 2, 3, 64):
        both = centred[lag:] * centred[:-lag]
        each = both.sum(axis=1) / np.sqrt(EACH)
        chances += [two_sided(both.sum() / np.sqrt(both.size)), two_sided(np.abs(each).max(), of=each.size)]
        chances.append(stats.kstest((x[lag:, 0] - x[:-lag, 0]) % 1.0, "uniform").pvalue)
    chances.append(stats.kstest(((2 * x[1 : COUNT // 2] - x[2::2]) % 1.0).ravel(), "uniform").pvalue)
    return min(chances)


def two_sided(z: float, of: int = 1) -> float:
    """How often a normal number is as far from 0, or the furthest of several."""
    return float(2 * of * stats.norm.sf(abs(z)))


@pytest.mark.parametrize("name", NEAR)
@pytest.mark.at_night("consecutive from far", "a bit apart", "second children", "random_state")
def test_near_seeds_have_nothing_to_do_with_each_other(name: str) -> None:
    assert least_chance(NEAR[name]) > RARE


def test_seeds_that_are_repeated_do_not_pass() -> None:
    assert least_chance(lambda i: Generator((i + 1,) * 6)) < 1e-100


def test_long_draws_of_neighbours_do_not_correlate() -> None:
    draws = np.stack([Generator(seed).random(100_000, "float64") for seed in range(6)])
    correlations = np.corrcoef(draws)[np.triu_indices(6, 1)]
    assert two_sided(np.abs(correlations).max() * np.sqrt(100_000), of=correlations.size) > RARE
