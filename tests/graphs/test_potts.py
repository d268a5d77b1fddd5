"""Potts models with a matrix of couplings for each edge: draws, gauges, mutants and files, beside enumeration."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann.sequences import RNA, contact_scores
from nbm_xp.graphs import Graph, GraphMachine, complete_graph, enumerated, lattice, random_regular
from nbm_xp.graphs.exact import all_states
from nbm_xp.graphs.likelihoods import Objective
from nbm_xp.runs import Workers, open_dataset, sample_graph
from tests.helpers.libraries import EAGER, Library, on_libraries

RNG = np.random.default_rng(3)
ENDS = RNG.permuted(np.asarray(np.triu_indices(6, 1)), axis=0)  # either unit of an edge may be the first
PAIRS, FIELDS = RNG.normal(0.0, 0.5, (15, 3, 3)), RNG.normal(0.0, 0.4, (6, 3))
FULL = GraphMachine(Graph(6, *ENDS), 3, FIELDS, PAIRS)
FACTORS = GraphMachine(
    lattice((4, 5)), fields=0.1, couplings=RNG.normal(0.0, 0.4, 40), factors=[(0, 1, 2), (7, 3, 12, 19)]
)
SPARSE = GraphMachine(random_regular(60, 3, 1), 4, 0.0, RNG.normal(0.0, 0.8, (90, 4, 4)))
RECORDED = pathlib.Path(__file__).parents[1] / "golden/adabmdca/params.dat"  # written by adabmDCA 1.0.0
FAMILY = GraphMachine(complete_graph(4), 5, RNG.normal(0.0, 0.4, (4, 5)), RNG.normal(0.0, 0.5, (6, 5, 5)))


def test_energies_and_moments_are_sums_over_pairs() -> None:
    states = all_states(FULL).astype(int)
    inner = sum(PAIRS[e][states[:, i], states[:, j]] for e, (i, j) in enumerate(ENDS.T))
    energies = -inner - FIELDS[np.arange(6), states].sum(axis=1)
    np.testing.assert_allclose(FULL.energy(states), energies, atol=1e-12)
    np.testing.assert_array_equal(enumerated(FULL).energies, FULL.energy(states))
    full = FULL.pair_couplings()
    one_hot = np.eye(3)[states].reshape(-1, 18)
    twice = np.einsum("ni,ij,nj->n", one_hot, full.reshape(18, 18), one_hot)
    np.testing.assert_allclose(-0.5 * twice - one_hot @ FIELDS.reshape(-1), energies, atol=1e-12)
    chances = np.exp(-energies)
    wanted = np.einsum("n,ni,nj->ij", chances / chances.sum(), one_hot, one_hot).reshape(6, 3, 6, 3)
    pairs, _ = Objective(FULL, states).moments_of(enumerated(FULL).probabilities())
    for (i, j), found in zip(ENDS.T, pairs, strict=True):
        np.testing.assert_allclose(found, wanted[i, :, j, :], atol=1e-12)


@pytest.mark.parametrize("rule", ["heat_bath", "metropolis"])
def test_draws_have_the_moments_of_enumeration(rule: str) -> None:
    draws = FULL.chains(4000, random_state=5, rule=rule)
    draws.step(60)
    aim = Objective(FULL, draws.rows())
    for found, exact in zip(aim.wanted, aim.moments_of(enumerated(FULL).probabilities()), strict=True):
        assert (abs(found - exact) <= 4 * np.sqrt(exact * (1 - exact) / 4000)).mean() == 1.0


CASES = {"full": (FULL, "heat_bath"), "sparse": (SPARSE, "heat_bath"), "factors": (FACTORS, "heat_bath"),
         "metropolis": (FULL, "metropolis")}  # fmt: skip


@pytest.mark.parametrize(("case", "library"), on_libraries(CASES, EAGER))
@pytest.mark.at_night("jax")
def test_every_library_and_division_gives_the_same_bits(case: tuple[GraphMachine, str], library: Library) -> None:
    machine, rule = case
    whole, part = (
        machine.chains(count, 0.7, 2, rule=rule, first_chain=first, library=name)
        for count, first, name in ((5, 0, "numpy"), (2, 3, library.name))
    )
    whole.step(3)
    part.step(3)
    np.testing.assert_array_equal(whole.rows()[3:], part.rows())
    np.testing.assert_array_equal(whole.energies()[3:], library.numpy(part.energies()))


@pytest.mark.parametrize("machine", [FULL, SPARSE])
def test_shards_and_runs_give_the_same_bits(machine: GraphMachine, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("dask")
    pytest.importorskip("zarr")
    asked: dict[str, Any] = {"n_chains": 3, "n_sweeps": 2, "random_state": 1}
    whole, parts = machine.sample(**asked), machine.sample(**asked, shards=2).compute(scheduler="synchronous")
    run = sample_graph(machine, tmp_path / "run", **asked, shards=1, scheduler=Workers(n_workers=1))
    for found in (parts, open_dataset(run.path)):
        for name in ("state", "energy", "magnetisation"):
            np.testing.assert_array_equal(found[name].values, whole[name].values)


def test_scores_do_not_depend_on_the_gauge() -> None:
    """They are ratios of probabilities; fields may move into couplings, and constants anywhere."""
    couplings, fields, sequence = FAMILY.pair_couplings(), FAMILY.unit_fields, RNA.decode([[1, 4, 0, 2]])[0]
    moved = RNG.normal(size=(4, 5, 4, 1))  # of the fields of one site into its couplings with another
    moved[range(4), :, range(4)] = 0.0
    shifted = couplings + moved + moved.transpose(2, 3, 0, 1)
    other = GraphMachine.from_parameters(shifted, fields - moved.sum(axis=(2, 3)) + RNG.normal(size=(4, 1)))
    scores = FAMILY.score_mutants(sequence, alphabet="rna")
    np.testing.assert_allclose(other.score_mutants(sequence, alphabet=RNA), scores, atol=1e-10)
    assert scores[[0, 1, 2, 3], [1, 4, 0, 2]].tolist() == [0.0] * 4
    for gap in (None, 0):
        want, found = (contact_scores(machine.pair_couplings(), gap=gap) for machine in (FAMILY, other))
        np.testing.assert_allclose(found, want, atol=1e-10)
    mutants = [[2, 4, 0, 2], [1, 4, 3, 2], [2, 4, 3, 2]]
    wanted = FAMILY.log_likelihood(mutants) - FAMILY.log_likelihood([[1, 4, 0, 2]])
    named = FAMILY.score_mutants([1, 4, 0, 2], ["A11C", "-13G", "A11C:-13G"], alphabet="rna", first_site=11)
    np.testing.assert_allclose(named, wanted)
    np.testing.assert_allclose([scores[0, 2], scores[2, 3]], wanted[:2])
    hidden = GraphMachine(**FAMILY.get_params() | {"hidden": [2]})  # its site is summed out
    sums = np.exp(-FAMILY.energy([[1, b, k, 2] for b in range(5) for k in range(5)])).reshape(5, 5).sum(axis=1)
    found = hidden.score_mutants([1, 4, 2], alphabet="rna")
    assert found.shape == (3, 5)
    np.testing.assert_allclose(found[1], np.log(sums / sums[4]))


def test_files_of_adabmdca_are_read_and_written(tmp_path: pathlib.Path) -> None:
    lines = ["J 1 0 A C 0.5", "J 0 2 - U -1.5", "", "h 0 A 0.25", "h 2 U 1e-1", "h 1 C 2"]
    file, older = tmp_path / "params.dat", tmp_path / "older.dat"
    file.write_text("\n".join(lines))
    older.write_text("\n".join(lines).replace("A", "1").replace("C", "2").replace("U", "4").replace(" - ", " 0 "))
    for path in (file, older):
        machine = GraphMachine.from_adabmdca(path, "rna", weight_decay=0.1)
        assert (machine.n_units, machine.graph.edges, machine.weight_decay) == (3, 2, 0.1)
        energies = machine.energy([[2, 1, 0], [0, 2, 4], [1, 1, 1]])
        np.testing.assert_allclose(energies, [-0.5, 1.5 - 0.1 - 2.0, -0.25])
    recorded = GraphMachine.from_adabmdca(RECORDED, "rna")
    energies = recorded.energy([[0, 1, 2], [4, 4, 4], [3, 0, 1], [1, 2, 4]])
    np.testing.assert_allclose(energies, [0.068, -0.084, -0.384, 1.523], atol=1e-9)  # as adabmDCA computes them
    for machine in (recorded, FAMILY, GraphMachine(lattice((3, 4)), 5, couplings=0.3)):
        machine.to_adabmdca(file, "rna")
        again = GraphMachine.from_adabmdca(file, RNA)
        np.testing.assert_allclose(again.pair_couplings(), machine.pair_couplings(), atol=1e-12)
        np.testing.assert_allclose(again.unit_fields, machine.unit_fields, atol=1e-12)
        again.to_adabmdca(older, "rna")
        assert older.read_text() == file.read_text()


BAD = "J 0 1 A X 0.5", "J 0 1 A C", "h 0 A b", "K 0 A 1.0", "J 0 0.5 A C 1.0", "h 99999999999 A 1.0"
ZEROS = np.zeros((2, 3, 2, 3))
ONE = np.where(np.arange(36).reshape(2, 3, 2, 3) == 3, 1.0, 0.0)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: FULL.sample(shards=1, rule="wolff"), "rule must be one of heat_bath, metropolis"),
        (lambda: FULL.chains(1, rule="wolff"), "is for couplings of one number for each edge"),
        (lambda: GraphMachine(lattice((4, 4)), 2, couplings=np.eye(2)).sample(chunks=2), "shards are for matrices"),
        (lambda: GraphMachine([[0, 1]], 3, couplings=np.eye(2)), r"of shape \(1,\) or \(3, 3\) or \(1, 3, 3\), got"),
        (lambda: GraphMachine([[0, 1]], 3, [0.0, 1.0]), r"fields must be one number or of shape \(2, 3\) or \(3,\)"),
        (lambda: GraphMachine([[0, 1]], couplings=np.eye(2)), r"couplings must be one number or of shape \(1,\)"),
        (lambda: GraphMachine([[0, 1]], 2, couplings=np.eye(2)).fit([[0, 1], [1, 0]]), "but 2 of 4 never occur"),
        (lambda: GraphMachine.from_parameters(ZEROS, np.zeros(3)), "fields must be an array of shape"),
        (lambda: GraphMachine.from_parameters(ONE, np.zeros((2, 3))), "couplings must be symmetric"),
        (lambda: GraphMachine.from_parameters(ZEROS + 1.0, np.zeros((2, 3))), "some of a unit with itself"),
        (lambda: GraphMachine([[0, 1]]).pair_couplings(), "units must be Potts units, got 'spin'"),
        (lambda: FAMILY.score_mutants("AUGC"), "alphabet 'protein' has 21 letters"),
        (
            lambda: GraphMachine(complete_graph(14), 5, hidden=[1]).score_mutants("A" * 13, alphabet="rna"),
            "to enumerate",
        ),
        (lambda: FAMILY.score_mutants("AUGC", ["A1"], alphabet="rna"), "mutations must be such as 'A12C'"),
        (lambda: FAMILY.score_mutants("AUGC", ["C5A"], alphabet="rna"), "mutations must be at sites from 1 to 4"),
        (lambda: FAMILY.score_mutants("AUGC", ["C1A"], alphabet="rna"), "the sequence's letter, which is A"),
        (lambda: FAMILY.to_adabmdca("/nowhere", "dna letters"), "alphabet must be one of"),
    ],
)
def test_what_cannot_be(call: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        call()


@pytest.mark.parametrize("line", BAD)
def test_lines_that_are_no_parameters(line: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "params.dat"
    file.write_text(f"h 0 A 1.0\n{line}\n")
    with pytest.raises(ValueError, match=r"expected J i j a b value, or .*, got '.*' in line 2"):
        GraphMachine.from_adabmdca(file)
    file.write_text("h -1 A 1.0\n")
    with pytest.raises(ValueError, match="sites must be numbers from 0 on"):
        GraphMachine.from_adabmdca(file)
