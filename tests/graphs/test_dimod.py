"""The sampler for dimod: its own tests of samplers, ground states by enumeration, the same reads everywhere."""

from __future__ import annotations

import importlib.util
import unittest
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("dimod") is None:  # one that is there and does not import must fail
    pytest.skip("dimod is not installed", allow_module_level=True)

import dimod
import dimod.testing

from nbm_xp.graphs.dimod import NbmSampler, default_beta_range
from tests.helpers.libraries import EAGER, Library

VARTYPES = ["SPIN", "BINARY"]


@dimod.testing.load_sampler_bqm_tests(NbmSampler)
class TestByDimod(unittest.TestCase):
    def test_api(self) -> None:
        dimod.testing.assert_sampler_api(NbmSampler())


def model(vartype: str, normal: bool, seed: int) -> Any:
    """A sparse model of 12 variables, one of them isolated, with labels of several types and an offset."""
    rng, labels = np.random.default_rng(seed), ["a", 0, 7.5, ("b", 1), frozenset({2}), "", *range(10, 16)]
    pairs = [(a, b) for k, a in enumerate(labels[:-1]) for b in labels[:k] if rng.random() < 0.4]
    draw = rng.normal if normal else lambda size: rng.integers(-3, 4, size).astype(float)
    linear = dict(zip(labels, draw(size=12).tolist(), strict=True))
    return dimod.BQM(linear, dict(zip(pairs, draw(size=len(pairs)).tolist(), strict=True)), -1.25, vartype)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("vartype", VARTYPES)
@pytest.mark.parametrize("criteria", ["Metropolis", "Gibbs"])
def test_ground_states_are_those_of_enumeration(criteria: str, vartype: str, normal: bool, seed: int) -> None:
    bqm = model(vartype, normal, seed)
    options = {"num_reads": 20, "num_sweeps": 200, "seed": seed, "proposal_acceptance_criteria": criteria}
    found = NbmSampler().sample(bqm, **options)
    dimod.testing.assert_response_energies(found, bqm)
    assert found.vartype is bqm.vartype and len(found) == 20
    assert found.first.energy == pytest.approx(dimod.ExactSolver().sample(bqm).first.energy)


@pytest.mark.parametrize("library", EAGER, ids=str)
@pytest.mark.at_night("jax")
def test_reads_follow_from_the_seed(library: Library) -> None:
    bqm = model("BINARY", True, 1)
    whole = NbmSampler().sample(bqm, num_reads=70, num_sweeps=20, seed=3).record.sample
    part = NbmSampler(library.xp).sample(bqm, num_reads=5, num_sweeps=20, seed=3)
    assert (part.record.sample == whole[:5]).all() and part.info["seed"] == 3
    assert whole[:64].tolist() != NbmSampler().sample(bqm, num_reads=64, num_sweeps=20).record.sample.tolist()
    assert "".join(map(str, whole[0])) == "011100101111"  # recorded


@pytest.mark.parametrize("vartype", VARTYPES)
def test_reads_begin_at_initial_states_and_can_be_interrupted(vartype: str) -> None:
    bqm, asked = model(vartype, False, 2), []
    first = dimod.ExactSolver().sample(bqm).truncate(3).record.sample
    given = {"initial_states": (first, list(bqm.variables)), "initial_states_generator": "tile"}
    cold = {"beta_schedule_type": "custom", "beta_schedule": [1e9], "num_reads": 130, "seed": 1}
    found = NbmSampler().sample(
        bqm, interrupt_function=lambda: bool(asked.append(1)) or len(asked) == 2, **given, **cold
    )
    assert len(found) == 128 and found.info["beta_range"] == (1e9, 1e9)
    start = NbmSampler().sample(bqm, num_sweeps=0, **given)
    assert start.record.sample.tolist() == first.tolist()
    assert max(found.record.energy) <= max(bqm.energies((first, list(bqm.variables))))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"seed": -1}, "seed"), ({"num_sweeps": 7, "num_sweeps_per_beta": 2}, "num_sweeps"), ({"beta_range": 3j}, "beta"),
     ({"beta_range": (0, 1)}, "beta_range must be positive"), ({"beta_schedule_type": "cubic"}, "beta_schedule_type"),
     ({"beta_range": (-1, 1), "beta_schedule_type": "linear"}, "negative"), ({"beta_schedule": [1]}, "beta_schedule"),
     ({"beta_schedule_type": "custom"}, "beta_schedule"), ({"interrupt_function": 1}, "interrupt_function"),
     ({"num_sweeps_per_beta": 0}, "num_sweeps_per_beta"), ({"proposal_acceptance_criteria": "x"}, "Metropolis"),
     ({"bqm": 1}, "bqm")],
)  # fmt: skip
def test_bad_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        NbmSampler().sample(**({"bqm": model("SPIN", False, 0)} | options))


def test_the_default_range_leaves_out_a_tenth_of_weak_couplings() -> None:
    ring = np.arange(20), np.roll(np.arange(20), -1)
    weak = np.where(np.arange(20) == 3, -1e-6, 1.0)
    assert default_beta_range(np.zeros(20), *ring, weak)[1] == default_beta_range(np.zeros(20), *ring, np.ones(20))[1]
    assert default_beta_range(np.zeros(2), *np.zeros((2, 0), int), np.zeros(0)) == (0.1, 1.0)
