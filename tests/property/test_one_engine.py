"""The same seed gives the same draws, and the same weights of annealing, in memory, on Dask and in runs.

Weights are multiples of 1/8 or 1/64, so that no sum is rounded, whatever the blocks; the weights of annealing, which
are rounded sums of logarithms, agree to rounding where blocks differ.
"""

from __future__ import annotations

import pathlib
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbm_xp.boltzmann import DBM, RBM
from nbm_xp.namespace import get_namespace
from nbm_xp.runs import Workers, evaluate, open_samples, read_evaluation, sample
from tests.helpers.libraries import computing, guard

CHAINS = 11


def rbm() -> RBM:
    random = np.random.default_rng(3)
    values = [(random.integers(-64, 65, size=shape) / 64).astype("float32") for shape in ((6, 9), (6,), (9,))]
    return RBM.from_parameters(*values, random_state=1)


def dbm() -> DBM:
    random = np.random.default_rng(4)
    shapes = [(8, 5), (5, 4), (8,), (5,), (4,)]
    values = [(random.integers(-64, 65, size=shape) / 64).astype("float32") for shape in shapes]
    return DBM.from_parameters(values[:2], values[2:], random_state=1)


MODELS = {"rbm": rbm(), "dbm": dbm()}
models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
seeds = st.integers(0, 2**64)
lengths = st.integers(1, CHAINS)
sweeps = st.integers(1, 5)
few = settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@models
@given(seed=seeds, chunks=lengths, n_sweeps=st.integers(0, 5), layer=st.sampled_from([0, 1]))
@few
def test_blocks_on_dask_draw_like_memory(model: RBM | DBM, seed: int, chunks: int, n_sweeps: int, layer: int) -> None:
    drawn = model.sample(CHAINS, n_sweeps, layer=layer, random_state=seed)
    with guard():
        blocks = model.sample(CHAINS, n_sweeps, layer=layer, random_state=seed, library="dask", chunks=chunks)
    with computing():
        np.testing.assert_array_equal(blocks.compute(), drawn)


@models
@given(
    seed=seeds, chunks=lengths, every=sweeps, n_draws=sweeps, thin=st.integers(1, 2), burn_in=st.integers(0, 2),
    probabilities=st.booleans(),
)  # fmt: skip
@few
def test_a_run_draws_what_memory_draws(
    model: RBM | DBM, seed: int, chunks: int, every: int, n_draws: int, thin: int, burn_in: int, probabilities: bool,
    tmp_path_factory: Any,
) -> None:  # fmt: skip
    place = tmp_path_factory.mktemp("run") / "run"
    how: dict[str, Any] = {"thin": thin, "burn_in": burn_in, "probabilities": probabilities, "random_state": seed}
    blocks: dict[str, Any] = {"chunks": chunks, "checkpoint_every": every, "scheduler": Workers(n_workers=1)}
    run = sample(model, place, CHAINS, n_draws, layers=(0, 1), **how, **blocks)
    for layer, name in ((0, "visible"), (1, "hidden_1")):
        kept = np.asarray(open_samples(run.path, name))
        for draw in range(n_draws):
            n_sweeps = burn_in + (draw + 1) * thin
            drawn = model.sample(CHAINS, n_sweeps, layer=layer, probabilities=probabilities, random_state=seed)
            np.testing.assert_array_equal(kept[:, draw], drawn)


@models
@given(seed=seeds, chunks=lengths, every=sweeps, n_temperatures=st.integers(2, 9))
@few
def test_annealing_gives_the_same_weights_both_ways(
    model: RBM | DBM, seed: int, chunks: int, every: int, n_temperatures: int, tmp_path_factory: Any
) -> None:
    place: pathlib.Path = tmp_path_factory.mktemp("run") / "run"
    how: dict[str, Any] = {"n_chains": CHAINS, "n_temperatures": n_temperatures, "random_state": seed}
    parts: dict[str, Any] = {"chunks": chunks, "checkpoint_every": every, "scheduler": Workers(n_workers=1)}
    run = evaluate(model, place, reverse=True, n_sweeps=10, **how, **parts)
    found = read_evaluation(run.path)
    assert found.ais is not None
    assert found.reverse is not None
    for anneal, kept in ((model.ais, found.ais), (partial(model.reverse_ais, n_sweeps=10), found.reverse)):
        weights = anneal(CHAINS, n_temperatures, random_state=seed).log_weights
        with computing():
            blocks = anneal(CHAINS, n_temperatures, random_state=seed, library="dask", chunks=chunks).log_weights
        np.testing.assert_array_equal(kept.log_weights, blocks)
        np.testing.assert_allclose(blocks, weights, rtol=1e-5, atol=1e-5)


@models
@given(seed=seeds, chunks=lengths)
@few
def test_given_states_come_in_blocks_or_whole(model: RBM | DBM, seed: int, chunks: int, tmp_path_factory: Any) -> None:
    rows = np.random.default_rng(seed % 1000).integers(0, 2, (CHAINS, model.n_features_in_)).astype("float32")
    hidden = rows[:, : model.state_.topology.sites[1]]
    lazy = [get_namespace("dask").asarray(part).rechunk((chunks, -1)) for part in (rows, hidden)]
    with guard():
        begun = model.sample(CHAINS, 2, initial=lazy[0], random_state=seed)
        held = model.sample(CHAINS, 2, clamp={1: lazy[1]}, random_state=seed)
    with computing():
        np.testing.assert_array_equal(begun.compute(), model.sample(CHAINS, 2, initial=rows, random_state=seed))
        in_memory = model.sample(CHAINS, 2, clamp={1: hidden}, random_state=seed)
        np.testing.assert_array_equal(held.compute(), in_memory)
    place = tmp_path_factory.mktemp("run") / "run"
    run = sample(model, place, CHAINS, 1, thin=2, layers=(0,), clamp={1: hidden}, chunks=chunks, random_state=seed)
    np.testing.assert_array_equal(np.asarray(open_samples(run.path))[:, 0], in_memory)


@models
def test_without_a_seed_each_call_draws_anew_and_the_model_says_what(model: RBM | DBM) -> None:
    again = [rbm(), rbm()] if isinstance(model, RBM) else [dbm(), dbm()]
    drawn = [[each.sample(40, 2) for _ in range(2)] for each in again]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert (drawn[0][0] != drawn[0][1]).any()
