"""The command lattice, what it measures, and the picture of it."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest

from nbm_xp.graphs import GraphMachine, jackknife_error, lattice, onsager
from nbm_xp.runs import RunDirectory, read_transition, resume
from nbm_xp.runs.transitions import SERIES, measured_at
from tests.helpers.command import PNG, ran, refused, told

pytest.importorskip("xarray")
ASKED = ("lattice", "--size=12,8", "--temperatures=1.5:3.5:3", "--n-sweeps=400", "--seed=2", "--out", "ising")


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_lattice_is_measured_beside_what_is_exact() -> None:
    document = told(*ASKED)
    written = json.loads(pathlib.Path("ising/lattice.json").read_text(encoding="utf-8"))
    assert all(document[name] == written[name] for name in written.keys() - {"digest", "files", "identity"})
    assert [at["temperature"] for at in document["measured"]] == [1.5, 2.5, 3.5]
    for at in document["measured"]:
        exact = onsager((12, 8), 1 / at["temperature"])
        assert at["exact_energy"] == exact.energy
        assert abs(at["energy"] - exact.energy) < 4 * at["energy_error"] < 0.1
        assert abs(at["specific_heat"] - exact.specific_heat) < 4 * at["specific_heat_error"] < 1
    assert document["measured"][0]["magnetisation"] > 0.9 > 0.6 > document["measured"][2]["magnetisation"]
    text = ran("resume", "ising")
    assert "wrote ising/lattice.json" in text
    assert len(text.splitlines()) == 5


def test_the_transition_is_drawn() -> None:
    ran(*ASKED)
    assert ran("plot", "ising") == "wrote ising/transition.png\nwrote ising/spins.png\n"
    for name in ("transition", "spins"):
        assert pathlib.Path(f"ising/{name}.png").read_bytes().startswith(PNG)
    spins = np.load("ising/spins.npy")
    assert (spins.shape, spins.dtype, set(spins.reshape(-1).tolist())) == ((3, 12, 8), np.int8, {-1, 1})
    assert abs(spins[0].mean()) > 0.9 > abs(spins[2].mean())
    np.save("ising/spins.npy", spins[::-1])
    for read in (read_transition, resume):
        with pytest.raises(ValueError, match=r"spins\.npy is not what the run ended with"):
            read("ising")
    pathlib.Path("ising/spins.npy").write_bytes(b"spins")
    assert "spins.npy is not what the run ended with" in refused("plot", "ising", "--what", "spins")
    ran("lattice", "--size", "4,4,4", "--temperatures", "4,5", "--n-sweeps", "20", "--rule", "wolff", "--out", "cubic")
    ran("plot", "cubic", "--what", "transition", "--out", "cubic.png")
    assert pathlib.Path("cubic.png").read_bytes().startswith(PNG)
    assert "there is nothing to draw spins from" in refused("plot", "cubic", "--what", "spins")  # no plane
    assert "nothing to draw filters from; there is for transition" in refused("plot", "cubic", "--what", "filters")
    pathlib.Path("ising/lattice.json").write_text("{}", encoding="utf-8")
    assert "lattice.json is damaged" in refused("plot", "ising")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--size", "x"), "--size must be whole numbers with commas between, got x"),
        (("--size", "2"), "shape must be 3 at least along periodic axes, got 2"),
        (("--temperatures", "1:2"), "--temperatures must be low:high:count, or numbers with commas between, got 1:2"),
        (("--temperatures", "0,1"), "--temperatures must be positive, got [0.0, 1.0]"),
        (("--rule", "gibbs"), "rule must be one of heat_bath, metropolis"),
        (("--coupling", "-1", "--rule", "wolff"), "couplings must not be negative"),
    ],
)
def test_what_cannot_be_measured_is_refused(given: tuple[str, ...], message: str) -> None:
    assert message in refused("lattice", "--out", "ising", *given)


def in_memory(machine: GraphMachine, temperatures: list[float], n_chains: int = 4, **how: Any) -> tuple[Any, Any]:
    """What is measured at these temperatures of chains that begin with equal spins."""
    total = n_chains * len(temperatures)
    draws = machine.sample(
        total, beta=np.repeat(1 / np.asarray(temperatures), n_chains), initial=np.ones((total, machine.n_units)),
        observe=SERIES, **how,
    )  # fmt: skip
    series = (draws[name].values.reshape(len(temperatures), n_chains, -1) for name in SERIES)
    measured = [measured_at(machine, *each) for each in zip(temperatures, *series, strict=True)]
    return measured, draws["state"].values[::n_chains]


@pytest.mark.filterwarnings("ignore::nbm_xp.graphs.MixingWarning")  # few sweeps, whose bits count
def test_the_numbers_are_those_of_the_transition_in_memory() -> None:
    for number, rule in enumerate(("heat_bath", "wolff")):
        out = f"ising{number}"
        document = told(*ASKED[:-1], out, "--rule", rule, "--checkpoint-every", "150", "--burn-in", "170")
        machine = GraphMachine(lattice((12, 8)))
        found, states = in_memory(machine, [1.5, 2.5, 3.5], n_sweeps=400, burn_in=170, rule=rule, random_state=2)
        assert document["measured"] == found
        assert (np.load(f"{out}/spins.npy") == states.reshape(3, 12, 8)).all()


def test_machines_without_an_exact_answer_have_none() -> None:
    machine, rows = GraphMachine(lattice((6, 6), periodic=False)), np.random.default_rng(1).normal(size=(2, 4, 50))
    found = measured_at(machine, 2.0, *rows)
    assert (found["exact_energy"], found["exact_specific_heat"]) == (None, None)


def test_a_lattice_s_run_is_described() -> None:
    ran("lattice", "--size", "4", "--temperatures", "2", "--n-sweeps", "5", "--out", "ising")
    found = told("info", "ising")
    assert found["run"]["kind"] == "transition" and "lattice.json" in found["run"]["files"]
    assert found["configuration"]["n_sweeps"] == 5 and "model" not in found
    assert "a run of kind transition has no model" in refused("evaluate", "--model", "ising")
    RunDirectory.create("graph", "graph", {}).close()
    assert "the run in graph is not finished" in refused("plot", "graph")


@pytest.mark.parametrize(("chains", "sweeps"), [(1, 4), (1, 33), (2, 4), (4, 5)])
def test_few_sweeps_have_errors_too(chains: int, sweeps: int) -> None:
    machine = GraphMachine(lattice((4, 4)))
    (found,), _ = in_memory(machine, [2.0], n_chains=chains, n_sweeps=sweeps, burn_in=5, random_state=1)
    assert 0.0 <= found["specific_heat_error"] < np.inf
    x = np.random.default_rng(2).normal(size=(chains, sweeps))
    left_out = [np.delete(x, k).mean() for k in range(x.size)]
    assert jackknife_error(np.mean, x, blocks=99) == pytest.approx(np.std(left_out) * (x.size - 1) ** 0.5)
    with pytest.raises(ValueError, match="three numbers at least"):
        jackknife_error(np.mean, x.reshape(-1)[:2])
