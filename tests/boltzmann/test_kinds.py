"""Machines of every kind of units, visible and hidden, held to their own energies, state by state."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any

import numpy as np
import pytest
from scipy import stats

from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import CD, DBM, PCD, PTT, RBM, SGD, load
from nbm_xp.boltzmann.energy import free_energy, gauged
from nbm_xp.boltzmann.learning_step import gradients, with_means
from nbm_xp.boltzmann.topology import Topology
from nbm_xp.machines.units import KINDS, RECTIFIED, kind_of
from nbm_xp.runs import evaluate, open_samples, read_evaluation, sample
from tests.helpers.libraries import LIBRARIES, Library

MIX = "1*binary+2*categorical:3+1*spin"
PAIRS = [
    ("binary", "spin"), ("spin", "spin"), ("binary", "relu"), ("spin", "gaussian"), ("gaussian", "spin"),
    ("binary", "categorical:3"), ("categorical:3", "binary"), ("categorical:3", "relu"), ("binary", "drelu"),
    ("categorical:3", "categorical:4"), (MIX, "spin"),
]  # fmt: skip
SOME = [(MIX, "spin"), ("binary", "spin"), ("spin", "gaussian"), ("categorical:3", "relu"), ("binary", "categorical:3")]
SOME += [("binary", "drelu")]
FINITE = [pair for pair in PAIRS if pair[0] != "gaussian"]
SITES, HIDDEN = 4, 3


def machine(visible: str, hidden: str, seed: int = 0, dtype: str = "float64") -> RBM:
    random = np.random.default_rng(seed)
    low, high = kind_size(visible, SITES), kind_size(hidden, HIDDEN)
    arrays = (random.normal(0, 0.6, (high, low)), random.normal(0, 0.5, high), random.normal(0, 0.5, low))
    if visible == "normal":  # second units have no weights, and precisions for biases
        arrays[0][:, 1::2], arrays[2][1::2] = 0.0, 1.0 + random.random(SITES)
    if hidden == "drelu":  # first units alone have weights, and third ones asymmetries for biases
        arrays[0][np.arange(high) % 3 > 0], arrays[1][2::3] = 0.0, random.uniform(-0.8, 0.8, HIDDEN)
    return RBM.from_parameters(*(a.astype(dtype) for a in arrays), visible=visible, hidden=hidden, random_state=1)


def kind_size(name: str, sites: int) -> int:
    if name == MIX:
        return 1 + 6 + 1
    return {"normal": 2, "drelu": 3}.get(name, int(name.partition(":")[2] or 1)) * sites


def states_of(name: str, sites: int) -> tuple[np.ndarray, np.ndarray]:
    """All states of a layer: as data tell them, and its units."""
    if name == MIX:
        parts = [states_of("binary", 1), states_of("categorical:3", 2), states_of("spin", 1)]
        found = [[np.concatenate(rows) for rows in itertools.product(*of)] for of in zip(*parts, strict=True)]
        return np.array(found[0]), np.array(found[1])
    values = tuple(map(float, range(int(name[12:])))) if ":" in name else KINDS[name].states or ()
    told = np.array(list(itertools.product(values, repeat=sites)))
    return told, np.eye(len(values))[told.astype(int)].reshape(len(told), -1) if ":" in name else told


def log_sum(name: str, inputs: np.ndarray) -> np.ndarray:
    """The logarithm of the sum, or integral, over a hidden layer's states, for each row of what its units receive."""
    if name in ("gaussian", "relu", "drelu"):
        points = np.arange(0.0 if name == "relu" else -30.0, 30.0, 2e-3) + 1e-3
        shapes: Any = 0.0
        if name == "drelu":
            inputs, thresholds, asymmetries = (inputs[..., place::3] for place in range(3))
            shapes = thresholds[..., None] * abs(points) + asymmetries[..., None] * points * abs(points) / 2
        weights = np.exp(points * inputs[..., None] - points**2 / 2 - shapes)
        return np.log(weights.sum(axis=-1) * 2e-3).sum(axis=-1)
    _, units = states_of(name, HIDDEN)
    return np.log(np.exp(inputs @ units.T).sum(axis=1))


def log_weights(rbm: RBM) -> tuple[np.ndarray, np.ndarray]:
    told, units = states_of(rbm.visible, SITES)
    inputs = units @ rbm.components_.T + rbm.intercept_hidden_
    return told, units @ rbm.intercept_visible_ + log_sum(rbm.hidden, inputs)


@pytest.mark.parametrize(("visible", "hidden"), FINITE)
def test_a_machine_has_the_distribution_of_its_energy(visible: str, hidden: str) -> None:
    rbm = machine(visible, hidden)
    told, weights = log_weights(rbm)
    log_z = np.log(np.exp(weights).sum())
    assert rbm.log_partition() == pytest.approx(log_z, rel=1e-6)
    np.testing.assert_allclose(rbm.free_energy(told), -weights, atol=2e-6)
    np.testing.assert_allclose(np.exp(rbm.log_likelihood(told)), np.exp(weights - log_z), rtol=1e-5)
    drawn = rbm.sample(4000, 30, random_state=0)
    probabilities = np.exp(weights - log_z)
    assert {*np.unique(drawn)} <= {*np.unique(told)}
    assert np.abs(drawn.mean(axis=0) - probabilities @ told).max() < 0.08
    counts = (drawn[:, None, :] == told[None, :, :]).all(axis=2).mean(axis=0)
    assert np.abs(counts - probabilities).max() < 0.04
    exact = rbm.parallel_tempering(3000, 20, n_temperatures=4, random_state=0)
    assert np.abs(exact.mean(axis=0) - probabilities @ told).max() < 0.1
    for estimate in (rbm.ais(300, 150, random_state=0), rbm.reverse_ais(300, 150, random_state=0)):
        assert abs(estimate.log_z - log_z) < 4 * estimate.standard_error


@pytest.mark.parametrize(("visible", "hidden"), FINITE)
def test_the_pseudo_likelihood_is_that_of_each_site_given_the_others(visible: str, hidden: str) -> None:
    rbm = machine(visible, hidden)
    told, weights = log_weights(rbm)
    known = {tuple(row): weight for row, weight in zip(told.tolist(), weights, strict=True)}
    row, exact = told[5], 0.0
    for site in range(SITES):
        values = np.unique(told[:, site])
        others = [known[(*row[:site], value, *row[site + 1 :])] for value in values]
        exact += known[tuple(row)] - np.log(np.exp(others).sum())
    scores = rbm.score_samples(np.tile(row, (4000, 1)))
    assert scores.mean() == pytest.approx(exact, abs=5 * scores.std() / 60 + 1e-9)


@pytest.mark.parametrize(("visible", "hidden"), [*PAIRS, ("normal", "binary")])
def test_gradients_are_those_of_the_tape(visible: str, hidden: str) -> None:
    """The derivative of a kind's normaliser is its mean: so a product of states gives what the tape finds."""
    random = np.random.default_rng(0)
    parameters = machine(visible, hidden).state_.parameters
    kind, radices = parameters.topology.units[0], parameters.topology.radices(0)
    told = random.normal(size=(4, SITES)) if radices is None else random.integers(0, radices, size=(4, SITES))
    units = B.eval((kind.encoded if radices is None else kind.of_indices)(B.variable(told, "float64")))
    counts = B.variable([0.7, 0.3, -0.4, -0.6], "float64")
    states = (B.variable(units, "float64"), None)
    recorded = B.gradients(B.sum(counts * free_energy(parameters, states)), list(parameters))
    wanted = B.function([], recorded)()
    found = B.function([], gradients(parameters, with_means(parameters, states), counts))()
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


def rows_of(kind: str) -> np.ndarray:
    """Pairs of sites that are equal."""
    if kind == "gaussian":
        return np.random.default_rng(0).normal(size=(100, 1)).repeat(4, axis=1).astype("float32")
    if kind == MIX:
        return np.array([[0, 0, 2, 1], [1, 2, 0, -1], [0, 0, 2, -1], [1, 2, 1, 1]] * 25, "float32")
    low, high = {"binary": (0, 1), "spin": (-1, 1)}.get(kind, (0, 2))
    return np.array([[low, low, high, high], [high] * 4, [low] * 4, [high, high, low, low]] * 25, "float32")


@pytest.mark.parametrize(
    ("visible", "hidden", "training"),
    [*((*pair, "cd") for pair in PAIRS), *((*pair, way) for pair in SOME for way in ("pcd", "ptt"))],
)
@pytest.mark.at_night("pcd")
def test_a_machine_learns_and_is_saved(visible: str, hidden: str, training: str, tmp_path: pathlib.Path) -> None:
    rows = rows_of(visible)
    way = {"cd": CD, "pcd": PCD, "ptt": PTT}[training](centred=True)
    settings: dict[str, Any] = {"visible": visible, "hidden": hidden, "training": way, "random_state": 0}
    settings |= {"n_gibbs": 3, "batch_size": 20}
    rbm = RBM(6, 0.3, n_iter=5 if training == "ptt" else 60, schedule="linear", **settings).fit(rows)
    start = RBM(6, n_iter=0, **settings).fit(rows)
    reached, before = (float(model.log_likelihood(rows).mean()) for model in (rbm, start))
    if training == "ptt":
        assert rbm.log_likelihoods_[-1][1] == pytest.approx(reached, abs=0.1)
    else:
        assert reached > before + 0.02
    assert rbm.transform(rows).shape == (100, 6 * kind_size(hidden, 1))
    rbm.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.free_energy(rows), rbm.free_energy(rows))
    np.testing.assert_array_equal(again.sample(3, 2, random_state=0), rbm.sample(3, 2, random_state=0))
    again.partial_fit(rows[:7])


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize(("visible", "hidden"), [pair for pair in PAIRS if "categorical" in "".join(pair)])
def test_learning_stays_in_the_zero_sum_gauge(visible: str, hidden: str, centred: bool) -> None:
    rbm = RBM(5, 0.1, n_iter=3, visible=visible, hidden=hidden, random_state=0)
    rbm.set_params(training=PCD(centred=centred), optimizer=SGD(weight_decay=0.01)).fit(rows_of(visible))
    values = [variable.value for variable in rbm.state_.parameters]
    for found, wanted in zip(values, gauged(rbm.state_.topology, values), strict=True):
        np.testing.assert_allclose(found, wanted, atol=2e-6)


@pytest.mark.parametrize(("visible", "hidden"), SOME)
def test_chains_lie_on_disk_as_data(visible: str, hidden: str, tmp_path: pathlib.Path) -> None:
    rbm = machine(visible, hidden)
    runs = [
        sample(rbm, tmp_path / name, n_chains=4, n_draws=6, layers=(0, 1), checkpoint_every=every, random_state=1)
        for name, every in (("whole", 6), ("parts", 2))
    ]
    whole, parts = (open_samples(run.path).compute() for run in runs)
    assert np.array_equal(whole, parts)
    assert whole.shape == (4, 6, SITES)
    if visible != "gaussian":
        assert whole.dtype == rbm.state_.topology.units[0].stored
        assert {*np.unique(whole)} <= {*np.unique(states_of(visible, SITES)[0])}
    shown = sample(rbm, tmp_path / "means", n_chains=4, n_draws=2, probabilities=True, random_state=1)
    assert open_samples(shown.path).shape == (4, 2, kind_size(visible, SITES))
    if visible != "gaussian":
        asked = {"n_chains": 50, "n_temperatures": 50, "reverse": True, "random_state": 1}
        found = read_evaluation(evaluate(rbm, tmp_path / "evaluated", whole[:, 0], **asked).path)
        assert abs(found.ais.log_z - rbm.log_partition()) < 1.0
        assert abs(found.reverse.log_z - rbm.log_partition()) < 1.0


def test_deep_machines_of_mixed_kinds() -> None:
    random = np.random.default_rng(0)
    sizes, kinds = (6, 3, 4), ("spin", "categorical:2")
    weights = [random.normal(0, 0.5, pair) for pair in itertools.pairwise(sizes)]
    biases = [random.normal(0, 0.5, size) for size in sizes]
    dbm = DBM.from_parameters(weights, biases, visible="categorical:3", hidden=kinds, random_state=0)
    assert dbm.layers == [2, 3, 2]
    layers = [states_of(name, sites)[1] for name, sites in (("categorical:3", 2), ("spin", 3), ("categorical:2", 2))]
    low, middle, high = layers
    energies = -(low @ biases[0])[:, None, None] - (middle @ biases[1])[None, :, None] - high @ biases[2]
    energies = energies - (low @ weights[0] @ middle.T)[:, :, None] - (middle @ weights[1] @ high.T)[None]
    assert dbm.log_partition() == pytest.approx(np.log(np.exp(-energies).sum()))
    told = states_of("categorical:3", 2)[0]
    exact = np.log(np.exp(-energies).sum(axis=(1, 2))) - dbm.log_partition()
    bound = dbm.log_likelihood(told)
    assert np.all(bound <= exact + 1e-9)
    assert np.abs(bound - exact).max() < 0.3
    for estimate in (dbm.ais(300, 150, random_state=0), dbm.reverse_ais(300, 150, random_state=0)):
        assert abs(estimate.log_z - dbm.log_partition()) < 4 * estimate.standard_error
    held = dbm.sample(4, 3, clamp={2: np.array([[0, 1]] * 4)}, layer=None, random_state=0)
    assert held[2].tolist() == [[0, 1]] * 4
    with pytest.raises(ValueError, match="hidden must not be relu in layer 2"):
        Topology([3, 2, 2], hidden=["binary", "relu"])
    with pytest.raises(ValueError, match="hidden must be a kind of units, or 2 of them"):
        Topology([3, 2, 2], hidden=["binary"])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rectified_draws_are_of_the_truncated_normal_distribution(dtype: str) -> None:
    inputs = np.array([-1000.0, -31.0, -29.0, -6.0, -0.5, -1e-6, 0.0, 0.7, 5.0, 40.0])
    shape = (4000, len(inputs))
    given = B.variable(np.broadcast_to(inputs, shape).copy(), dtype)
    drawn = np.asarray(B.eval(RECTIFIED.draw(RECTIFIED.mean(given), shape, B.make_rng(1), inputs=given)))
    assert np.all(drawn >= 0)
    for number, r in enumerate(inputs):
        values = drawn[:, number].astype("float64")
        above = 1 - np.exp(stats.norm.logsf(values - r) - stats.norm.logsf(-r))
        if r < -100:  # so far out, the distribution is the exponential one, with all digits that this has
            above = 1 - np.exp(r * values - values**2 / 2)
        assert stats.kstest(above, "uniform").pvalue > 1e-3, r
    exact = stats.truncnorm.mean(-inputs[1:], np.inf, loc=inputs[1:])
    mean = np.asarray(B.eval(RECTIFIED.mean(B.variable(inputs, dtype))))
    np.testing.assert_allclose(mean[1:], exact, rtol=2e-4 if dtype == "float32" else 1e-9)
    assert mean[0] == pytest.approx(1e-3, rel=1e-4)


def test_rows_of_states_must_be_whole_numbers() -> None:
    rbm = RBM(3, visible="categorical:3")
    with pytest.raises(ValueError, match=r"X must have whole numbers in \[0, 2\], got values from 0 to 3"):
        rbm.fit([[0, 3]])
    with pytest.raises(ValueError, match=r"X must have whole numbers in \[0, 2\], got others"):
        rbm.fit([[0.0, 1.5]])
    with pytest.raises(ValueError, match=r"X\[..., 1:2\] must have whole numbers in \[0, 2\], got others"):
        RBM(3, visible="1*spin+1*categorical:3").fit([[-1.0, 1.5]])
    with pytest.raises(ValueError, match="X must have 2 features, as its kinds of units say"):
        RBM(3, visible="1*spin+1*categorical:3").fit([[-1.0, 1.0, 0.0]])
    for name in ("*binary", "1*binary+spin", "0*spin", "1*2*spin", "1*relu"):
        with pytest.raises(ValueError, match="visible must"):
            RBM(3, visible=name).fit([[0.0, 1.0]])
    with pytest.raises(ValueError, match="visible must be one of"):
        RBM(3, visible="relu").fit([[0.0, 1.0]])
    for name in ("categorical", "categorical:1", "categorical:x", "categorical:²"):
        with pytest.raises(ValueError, match="categorical:Q with Q states"):
            RBM(3, visible=name).fit([[0, 1]])
    with pytest.raises(ValueError, match="must be whole sites of 3, got 4 units"):
        Topology([4, 2], visible="categorical:3")


@pytest.mark.at_night("jax", "dask", "torch")
@pytest.mark.parametrize("library", LIBRARIES)
def test_units_are_the_same_on_every_library(library: Library) -> None:
    """Formulas to rounding; draws from the same uniforms, to the bit, but where one is as close to a bound as that."""
    inputs = np.random.default_rng(0).normal(0, 2, (40, 12))
    given = B.placeholder(shape=(40, 12), dtype="float64")
    for name in ("relu", "4*spin+4*gaussian+2*categorical:2", "drelu"):
        units = kind_of(name, hidden="*" not in name)
        if name == "drelu":
            inputs[:, 2::3] = np.tanh(inputs[:, 2::3])
        mean = units.mean(given)
        rng = B.make_rng(3)
        drawn = units.draw(mean, (40, 12), rng, inputs=given)
        outputs = [mean, units.log_normaliser(given), drawn, units.decoded(drawn), units.encoded(units.decoded(drawn))]
        compute = B.function([given], outputs)
        usual = compute(inputs)
        rng.seed()  # the same numbers again
        for found, wanted in zip(compute(library.array(inputs)), usual, strict=True):
            np.testing.assert_allclose(library.numpy(found), wanted, rtol=1e-9, atol=1e-12)
