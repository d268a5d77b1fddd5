"""Annealing between any two machines of the same layers, held to enumeration."""

from __future__ import annotations

import itertools
import math
from typing import Any

import dask.array
import numpy as np
import pytest

from nbm_xp.boltzmann import DBM, RBM
from nbm_xp.boltzmann.annealing import Path, path_to
from nbm_xp.machines.randomness import stream
from nbm_xp.namespace import to_numpy
from tests.libraries import Library, libraries

VISIBLE = ["binary", "spin", "gaussian", "normal", "categorical:3", "2*normal+2*categorical:3"]
SITES = {"normal": 8, "categorical:3": 12, "2*normal+2*categorical:3": 10}


def machine(seed: int, visible: str = "binary", hidden: str = "binary", dtype: str = "float64") -> RBM:
    random = np.random.default_rng(seed)
    units, count = SITES.get(visible, 4), 6 if hidden == "categorical:3" else 4
    if "normal" in visible or hidden == "relu":  # learnt, as not all parameters are proper ones
        rows = random.integers(0, 3 if "cat" in visible else 2, (20, 4)).astype(dtype)
        return RBM(4, visible=visible, hidden=hidden, n_iter=20, learning_rate=0.02, random_state=seed).fit(rows)
    weights, biases = 0.7 * random.normal(size=(count, units)), (random.normal(size=count), random.normal(size=units))
    return RBM.from_parameters(
        weights.astype(dtype), *(bias.astype(dtype) for bias in biases), visible=visible, hidden=hidden, random_state=0
    )


def deep(seed: int) -> DBM:
    random, sizes = np.random.default_rng(seed), (5, 4, 3, 2)
    weights = [random.normal(size=shape) for shape in itertools.pairwise(sizes)]
    return DBM.from_parameters(weights, [random.normal(size=size) for size in sizes], random_state=0)


PAIRS: dict[str, tuple[Any, Any]] = {
    **{visible: (machine(1, visible), machine(2, visible)) for visible in VISIBLE},
    "categorical hidden": (machine(1, "spin", "categorical:3"), machine(2, "spin", "categorical:3")),
    "relu hidden": (machine(1, "binary", "relu"), machine(2, "binary", "relu")),
    "deep": (deep(1), deep(2)),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_the_ratio_of_two_machines_is_that_of_enumeration(pair: str) -> None:
    model, base = PAIRS[pair]
    exact = model.log_partition() - base.log_partition()
    for weigh in (model.ais, model.reverse_ais):
        found = weigh(300, 60, base=base, base_log_z=0, random_state=3)
        assert found.standard_error < 0.1
        assert found.log_z_low < exact < found.log_z_high
        whole = weigh(300, 60, base=base, random_state=3)
        np.testing.assert_array_equal(whole.log_weights, found.log_weights)
        assert whole.log_z == pytest.approx(found.log_z + base.log_partition())


def test_a_machine_is_as_heavy_as_itself() -> None:
    model = machine(1)
    for weigh in (model.ais, model.reverse_ais):
        assert not weigh(5, 10, base=model, random_state=0).log_weights.any()


@pytest.mark.parametrize("pair", PAIRS)
def test_zeros_that_are_left_out_are_zeros(pair: str) -> None:
    """A base-rate model as it is by default, and as a machine whose weights and biases are there to be multiplied."""
    model = PAIRS[pair][0]
    short, last = path_to(model), model._parameters
    arrays = [np.zeros_like(to_numpy(values.value)) for values in last]
    arrays[len(last.weights)] = to_numpy(short.first.biases[0].value)
    if isinstance(model, DBM):
        count = len(last.weights)
        base: Any = DBM.from_parameters(arrays[:count], arrays[count:])
    else:
        visible, hidden = model.visible, model.hidden
        base = RBM.from_parameters(arrays[0].T, arrays[2], arrays[1], visible=visible, hidden=hidden)
    whole = path_to(model, base)
    assert None in tuple(short.first)
    assert None not in tuple(whole.first)
    states = [to_numpy(states) for states in model.sample(7, 3, layer=None, random_state=0)]
    opened = [kind.opened(part) for kind, part in zip(model._topology.units, states, strict=True)]
    given = model._topology.with_retained(opened[layer] for layer in model._topology.retained)

    def step(path: Path) -> list[Any]:
        carried = [*(given[layer] for layer in model._topology.retained), np.zeros(7)]
        return [to_numpy(part.eval()) for part in path.step(0.7, 0.4, carried, 7, stream(1))]

    for one, other in zip(step(short), step(whole), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.jax_at_night
@pytest.mark.parametrize("library", libraries(without=("dask-cupy",)))  # to("dask") makes blocks of NumPy
def test_every_library_anneals_from_another_machine(library: Library) -> None:
    model, base = machine(1), machine(2)
    there, from_there = machine(1).to(library.name), machine(2).to(library.name)
    for name in ("ais", "reverse_ais"):
        here = getattr(model, name)(20, 8, base=base, random_state=1).log_weights
        found = getattr(there, name)(20, 8, base=from_there, random_state=1).log_weights
        np.testing.assert_allclose(found, here, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["binary", "gaussian", "deep"])
def test_blocks_on_dask_weigh_the_same(kind: str) -> None:
    model, base = PAIRS[kind]
    for weigh in (model.ais, model.reverse_ais):
        here = weigh(12, 8, base=base, random_state=1).log_weights
        found = weigh(12, 8, base=base, random_state=1, library="dask", chunks=5).log_weights
        np.testing.assert_allclose(found, here, rtol=1e-6, atol=1e-9)


def test_machines_in_tiles_weigh_the_same() -> None:
    def tiled(model: RBM) -> RBM:
        parts = (model.components_, model.intercept_hidden_, model.intercept_visible_)
        arrays = [dask.array.from_array(part, chunks=2) for part in parts]  # type: ignore[no-untyped-call]
        return RBM.from_parameters(*arrays, random_state=0)

    model, base = machine(1), machine(2)
    for name in ("ais", "reverse_ais"):
        here = getattr(model, name)(12, 8, base=base, random_state=1)
        found = getattr(tiled(model), name)(12, 8, base=tiled(base), random_state=1)
        np.testing.assert_allclose(found.log_weights, here.log_weights, rtol=1e-6, atol=1e-9)


def test_temperatures_are_placed_between_the_two() -> None:
    """From a machine close by few are needed; and a machine of another precision is as good."""
    model, near = machine(1), machine(1, dtype="float32")
    near.intercept_visible_ = near.intercept_visible_ + np.float32(0.01)
    found, far = model.ais(300, "adaptive", base=near, random_state=1), model.ais(300, "adaptive", random_state=1)
    assert found.n_temperatures < far.n_temperatures
    assert found.log_z_low < model.log_partition() < found.log_z_high
    assert model.reverse_ais(300, "adaptive", base=near, random_state=1).n_temperatures == found.n_temperatures


def test_what_is_no_base_is_refused() -> None:
    model: Any = machine(1)
    large = DBM.from_parameters([np.zeros((30, 30))], [np.zeros(30)] * 2, random_state=0)
    before = model._rng.rstate.tolist()
    for weigh in (model.ais, model.reverse_ais):
        with pytest.raises(ValueError, match="base must have the layers of the model"):
            weigh(5, 5, base=machine(1, hidden="categorical:3"))
        with pytest.raises(TypeError, match="base must be a model as this one is, got str"):
            weigh(5, 5, base="data")
        with pytest.raises(ValueError, match=r"base must be of numpy.*move it with to\('numpy'\)"):
            weigh(5, 5, base=machine(2).to("array_api_strict"))
        with pytest.raises(ValueError, match="base_log_z must be a finite number"):
            weigh(5, 5, base=machine(2), base_log_z="exact")
        with pytest.raises(ValueError, match="base_log_z must be left out where base is"):
            weigh(5, 5, base_log_z=0.0)
        with pytest.raises(ValueError, match="base must have parameters, but this RBM has learnt nothing yet"):
            weigh(5, 5, base=RBM(4))
    assert model._rng.rstate.tolist() == before
    with pytest.raises(ValueError, match="base_log_z must be given, as base is too large"):
        large.ais(5, 5, base=large)
    assert large.ais(5, 5, base=large, base_log_z=0).log_z == 0.0
    with pytest.raises(ValueError, match="n_steps must be left out where base is"):
        model.ais(5, 5, n_steps=3)


def test_nothing_is_done_before_all_is_known_to_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    model, large = machine(1), DBM.from_parameters([np.zeros((30, 30))], [np.zeros(30)] * 2, random_state=0)

    def working(*arguments: Any, **options: Any) -> Any:
        raise AssertionError("work")

    for name in ("temperatures_of", "Sampler.own_states", "Evaluator.exact"):
        monkeypatch.setattr(f"nbm_xp.boltzmann.evaluator.{name}", working)
    states = np.zeros((5, 30))
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("n_runs", {"n_runs": 0}),
        ("n_temperatures", {"n_temperatures": "many"}),
        ("betas", {"betas": [0.5, 1.0]}),
        ("base_log_z", {"base": large, "base_log_z": "one"}),
        ("base_log_z", {"base": large}),
        ("base", {"base": model}),
        ("n_steps", {"base": large, "base_log_z": 0, "n_steps": -1}),
        ("beer", {"library": "beer"}),
    ]
    for named, how in wrong:
        for weigh in (large.ais, large.reverse_ais):
            with pytest.raises(ValueError, match=named):
                weigh(**{"n_runs": 5, "n_temperatures": "adaptive"} | how)
    for start in ([states], [states[:4], None], [states * np.nan, None]):
        with pytest.raises(ValueError, match="start"):
            large.reverse_ais(5, "adaptive", start=start)


def test_states_of_a_large_base_are_the_ends_of_chains() -> None:
    """Units that agree, or do not, in a machine whose chains take some sweeps to forget how they began."""
    ones, strengths = np.ones(30), (1.0, 1.1)
    base, model = (RBM.from_parameters(5 * s * np.eye(30), -2.5 * s * ones, -2 * s * ones) for s in strengths)
    below, above = (math.log(1 + math.exp(-2 * s) + math.exp(-2.5 * s) + math.exp(0.5 * s)) for s in strengths)
    exact = 30 * (above - below)
    found = model.ais(500, 20, base=base, base_log_z=0, n_steps=100, random_state=0)
    assert found.log_z_low < exact < found.log_z_high
    assert found.standard_error < 0.05
    assert model.ais(500, 20, base=base, base_log_z=0, n_steps=0, random_state=0).log_z_high < exact
