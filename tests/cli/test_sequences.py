"""Sequences at the command line: an alignment trains a machine, which is weighed on others and draws new ones."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")

from nbm_xp.boltzmann import RBM, sequences
from nbm_xp.boltzmann.sequences import PROTEIN, RNA, read_fasta, sequence_weights, site_frequencies, write_fasta
from tests.helpers.command import PNG, ran, refused, told

STATES = np.random.default_rng(0).integers(0, 5, (40, 8))
STATES[:, 5] = STATES[:, 1]
SMALL = ("train", "--data", "family.fasta", "--n-components", "3", "--n-iter", "2", "--seed", "5")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_fasta("family.fasta", STATES, RNA)


@pytest.mark.parametrize("alphabet", [PROTEIN, RNA, sequences.DNA])
@pytest.mark.parametrize("ending", [".fasta", ".fa.gz"])
def test_an_alignment_trains_a_machine_that_draws_sequences(alphabet: sequences.Alphabet, ending: str) -> None:
    write_fasta(f"own{ending}", STATES if alphabet is not PROTEIN else 4 * STATES, alphabet)
    said = ran("train", "--data", f"own{ending}", "--n-components", "3", "--n-iter", "1", "--out", "run")
    assert "40 rows of 8 on numpy" in said
    assert RBM.load("run/model.safetensors").visible == f"categorical:{alphabet.size}"
    assert json.loads(pathlib.Path("run/run.json").read_text())["configuration"]["notes"]["alphabet"] == alphabet.name
    ran("sample", "--model", "run", "--n-chains", "7", "--n-sweeps", "3", "--seed", "1", "--out", f"drawn{ending}")
    drawn = read_fasta(f"drawn{ending}", alphabet)
    ran("sample", "--model", "run", "--n-chains", "7", "--n-sweeps", "3", "--seed", "1", "--out", "drawn.npy")
    np.testing.assert_array_equal(drawn.states, np.load("drawn.npy"))


def test_a_machine_is_weighed_on_an_alignment_and_followed_by_one() -> None:
    write_fasta("held.fasta", STATES[:9], RNA)
    found = told(*SMALL, "--held-out", "held.fasta")
    weighed = told("evaluate", "--model", "run", "--data", "held.fasta", "--n-chains", "5", "--n-temperatures", "5")
    model = RBM.load("run/model.safetensors")
    exact = float(model.log_likelihood(STATES[:9]).mean())
    assert weighed["mean_log_likelihood"] == pytest.approx(exact, rel=1e-4)
    assert found["diagnostics"]["held_out"] == pytest.approx(exact, abs=0.5)


def test_sequences_that_are_almost_the_same_share_a_vote() -> None:
    doubled = np.concatenate([STATES, STATES[:1].repeat(60, axis=0)])
    write_fasta("family.fasta", doubled, RNA)
    rates = {}
    for identity in ("0", "0.8"):
        ran(*SMALL, "--identity", identity, "--out", f"at {identity}")
        rates[identity] = RBM.load(f"at {identity}/model.safetensors").base_rate_
    ran(*SMALL, "--out", "left out")
    np.testing.assert_array_equal(RBM.load("left out/model.safetensors").base_rate_, rates["0.8"])
    first = STATES[0] + 5 * np.arange(8)
    assert (rates["0"][first] > 0.6).all()
    weights = sequence_weights(doubled)
    shares = site_frequencies(doubled, 5, weights).ravel()
    np.testing.assert_allclose(rates["0.8"], (100 * shares + 1) / 105, rtol=1e-5)
    ran("plot", "left out", "--what", "frequencies")


def test_pictures_of_sequences_are_drawn() -> None:
    ran(*SMALL)
    ran("plot", "run", "--what", "frequencies")
    ran("plot", "run", "--what", "contacts", "--out", "map.png")
    for name in ("run/frequencies.png", "map.png"):
        assert pathlib.Path(name).read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "--data", "none.fasta"), "none.fasta: no such file"),
        (("train", "--data", "rows.npy", "--identity", "0.8"), "--identity is for sequences"),
        (("train", "--data", "text.fasta"), "expected FASTA, whose first line begins with '>'"),
        (("train", "--data", "family.fasta", "--threshold", "1"), "--threshold is for numbers"),
        (("train", "--data", "family.fasta", "--visible", "binary"), "are for visible units categorical:21 or"),
        (("train", "--data", "family.fasta", "--held-out", "protein.fasta"), "protein.fasta: sequences must have"),
        (("sample", "--model", "plain.safetensors", "--out", "a.fasta"), "are no letters of sequences"),
        (("sample", "--model", "own.safetensors", "--out", "a.fasta", "--probabilities"), "write .npy or .npz"),
        (("plot", "own.safetensors", "--what", "contacts"), "there is nothing to draw contacts from"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: tuple[str, ...], message: str) -> None:
    np.save("rows.npy", np.eye(4))
    pathlib.Path("text.fasta").write_text("no sequences\n")
    write_fasta("protein.fasta", 4 * STATES, PROTEIN)
    RBM(2, n_iter=0).fit(np.zeros((3, 4))).save("plain.safetensors")
    RBM(2, n_iter=0, visible="categorical:5").fit(STATES).save("own.safetensors")
    assert message in refused(*arguments)


def test_a_model_s_file_tells_its_letters_by_their_number() -> None:
    RBM(2, n_iter=1, visible="categorical:21").fit(4 * STATES).save("own.safetensors")
    ran("sample", "--model", "own.safetensors", "--n-chains", "3", "--n-sweeps", "2", "--out", "drawn.fasta")
    assert read_fasta("drawn.fasta", "protein").states.shape == (3, 8)
