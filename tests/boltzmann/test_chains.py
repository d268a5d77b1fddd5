"""Chains in blocks: what is equal to the last bit, and what to rounding.

Equal to the last bit, always: the random numbers of a chain, whatever the block, the sweeps done before in the same
call, the process. Equal to the last bit besides: the states, where blocks are equal, or where sums are exact (weights
that are multiples of 1/64, in float32). Otherwise a state may differ where a uniform lies between two roundings of one
probability.
"""

from __future__ import annotations

import functools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp import natural_bm as B
from nbm_xp.boltzmann.annealing import AnnealedChains, ReverseChains, estimate
from nbm_xp.boltzmann.chains import Chains, Machine
from nbm_xp.machines.randomness import ChainFunction, ChainStreams
from tests.helpers.runs import deep, dyadic, ordinary

CHAINS, SWEEPS = 12, 6
EVEN = [step / 63 for step in range(64)]


@functools.cache
def drawing(kind: str, rows: int, units: int) -> ChainFunction:
    """What draws for so many chains, as the second of two draws."""
    streams = ChainStreams()
    streams.uniform((3, rows), dtype="float32")
    if kind == "uniform":
        drawn = streams.uniform((units, rows), dtype="float32")
    elif kind == "normal":
        drawn = B.random_normal((units, rows), 1.0, 2.0, dtype="float32", rng=streams)
    else:
        drawn = B.random_binomial((units, rows), p=B.zeros((units, rows)) + 0.4, dtype="float32", rng=streams)
    return streams.compiled([], [drawn])


def numbers(kind: str, offset: int, rows: int, sweep: int, units: int = 5) -> Any:
    """What some chains draw in a sweep."""
    draw = drawing(kind, rows, units)
    return draw([], draw.states(5, "test", offset, sweep, np))[0][0].T


@pytest.mark.parametrize("kind", ["uniform", "normal", "binomial"])
@given(offset=st.integers(0, CHAINS - 1), rows=st.integers(1, CHAINS), sweep=st.integers(0, 2**40))
def test_random_numbers_of_a_chain_do_not_depend_on_its_block(kind: str, offset: int, rows: int, sweep: int) -> None:
    rows = min(rows, CHAINS - offset)
    whole = numbers(kind, 0, CHAINS, sweep)
    assert np.array_equal(numbers(kind, offset, rows, sweep), whole[offset : offset + rows])


def test_random_numbers_differ_from_sweep_to_sweep_chain_to_chain_and_draw_to_draw() -> None:
    found = np.concatenate([numbers("uniform", 0, CHAINS, sweep).ravel() for sweep in range(SWEEPS)])
    assert len(np.unique(found)) == found.size
    assert numbers("uniform", 0, CHAINS, 1, units=3).shape == (CHAINS, 3)


def walked(chains: Chains, cuts: list[int], parts: list[int]) -> Any:
    """The visible states after the last sweep, for blocks and for calls that end at these places."""
    blocks = []
    for first, last in zip([0, *cuts], [*cuts, CHAINS], strict=True):
        states = chains.start(first, last - first)
        for begin, end in zip([0, *parts], [*parts, SWEEPS], strict=True):
            # As a checkpoint has them: bytes, one row after the other.
            states = tuple(np.ascontiguousarray(state, dtype="uint8") for state in states)
            states = chains.advance(states, first, begin, end - begin)
        blocks.append(states[0])
    return np.concatenate(blocks, axis=1)


places = st.lists(st.integers(1, CHAINS - 1), unique=True, max_size=3).map(sorted)
times = st.lists(st.integers(1, SWEEPS - 1), unique=True, max_size=3).map(sorted)
exact, rounded = Chains(Machine.of(dyadic()), 3), Chains(Machine.of(ordinary()), 3)


@given(cuts=places, parts=times)
def test_states_are_equal_to_the_last_bit_where_sums_are_exact(cuts: list[int], parts: list[int]) -> None:
    assert np.array_equal(walked(exact, cuts, parts), walked(exact, [], []))


@given(cuts=places, parts=times)
def test_states_of_equal_blocks_are_equal_to_the_last_bit(cuts: list[int], parts: list[int]) -> None:
    assert np.array_equal(walked(rounded, cuts, parts), walked(rounded, cuts, []))


@given(cuts=places)
def test_states_of_other_blocks_agree_except_by_rounding(cuts: list[int]) -> None:
    assert np.mean(walked(rounded, cuts, []) != walked(rounded, [], [])) < 0.05


def test_chains_can_be_sent_away() -> None:
    sent = pickle.loads(pickle.dumps(rounded))
    assert np.array_equal(walked(sent, [5], []), walked(rounded, [5], []))


def test_what_is_shown_are_states_or_the_means_that_they_were_drawn_with() -> None:
    model = ordinary()
    chains = Chains(Machine.of(model), 1, layers=(1, 0))
    *_, drawn = chains.walk(chains.start(0, 7), 0, 0, 3)
    *_, likely = Chains(Machine.of(model), 1, layers=(1, 0), means=True).walk(chains.start(0, 7), 0, 0, 3)
    assert [found.shape for found in (*drawn.shown, *likely.shown)] == [(12, 7), (20, 7)] * 2
    assert np.array_equal(drawn.shown[1], drawn.states[0])
    assert np.array_equal(likely.states[0], drawn.states[0])
    inputs = model.components_.T @ drawn.shown[0] + model.intercept_visible_[:, None]
    assert np.allclose(likely.shown[1], 1 / (1 + np.exp(-inputs)), atol=1e-6)


def test_held_layers_stay_and_are_seen() -> None:
    model = ordinary()
    held = np.zeros(20)
    held[3] = 1
    chains = Chains(Machine.of(model), 1, layers=(1,), means=True, clamp={0: held})
    assert chains.carried == (1,)
    *_, last = chains.walk(chains.start(4, 6), 4, 0, 2)
    inputs = model.components_ @ held + model.intercept_hidden_
    assert np.allclose(last.shown[0], (1 / (1 + np.exp(-inputs)))[:, None] + np.zeros(6), atol=1e-6)
    each = np.eye(10, 20)
    *_, of_rows = Chains(Machine.of(model), 1, layers=(1,), means=True, clamp={0: each}).walk(
        chains.start(4, 6), 4, 0, 1
    )
    inputs = model.components_ @ each[4:].T + model.intercept_hidden_[:, None]
    assert np.allclose(of_rows.shown[0], 1 / (1 + np.exp(-inputs)), atol=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
def test_annealed_chains_estimate_log_z_in_any_blocks(reverse: bool) -> None:
    model = deep((5, 4, 3), connections=[(0, 1), (0, 2), (1, 2)]) if reverse else dyadic(8, 5)
    chains = AnnealedChains(Machine.of(model), 7, EVEN)
    if reverse:
        chains = ReverseChains(Machine.of(model), 7, EVEN[::-1], n_sweeps=50)
    whole = chains.advance(chains.start(0, 200), 0, 0, 63)[-1]
    states = chains.advance(chains.start(50, 30), 50, 0, 20)
    part = pickle.loads(pickle.dumps(chains)).advance(states, 50, 20, 43)[-1]
    np.testing.assert_allclose(part, whole[50:80], rtol=1e-5, atol=1e-4)
    found = estimate(whole, 64, reverse=reverse)
    assert found.log_z_low < model.log_partition() < found.log_z_high


def test_chains_in_reverse_start_where_chains_ended() -> None:
    model = ordinary(30, 25)
    chains = ReverseChains(Machine.of(model), 3, [1.0, 0.0], n_sweeps=5)
    first, mixing = chains.start(0, 8), chains.mixing
    np.testing.assert_array_equal(first[0], mixing.advance(mixing.start(0, 8), 0, 0, 5)[0])
    sampled = Chains(Machine.of(model), 3)
    assert (first[0] != sampled.advance(sampled.start(0, 8), 0, 0, 5)[0]).any()  # random numbers of its own
