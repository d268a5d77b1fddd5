"""Sequences are read as they stand in files, weighed and counted as by hand, on every library; contacts are found."""

from __future__ import annotations

import gzip
import pathlib
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import sequences
from nbm_xp.boltzmann.sequences import PROTEIN, RNA, contact_scores, pair_frequencies, read_fasta, sequence_weights
from nbm_xp.graphs import GraphMachine, as_graph
from tests.helpers.libraries import LIBRARIES, Library, guard

STATES = np.random.default_rng(0).integers(0, 4, (23, 7)).astype("uint8")
STATES[5] = STATES[4]
STATES[6, :6] = STATES[4, :6]


def written(folder: pathlib.Path, text: str, name: str = "family.fasta") -> pathlib.Path:
    file = folder / name
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return file


@pytest.mark.parametrize("name", ["family.fasta", "family.fasta.gz", "packed.without.ending.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_alignment_is_read(tmp_path: pathlib.Path, name: str, end: str) -> None:
    text = end.join([">one of many", "ACD-", "efx", "", ">two", "ACDEFGH", ""])
    found = read_fasta(written(tmp_path, text, name))
    assert found.names == ["one of many", "two"]
    assert found.alphabet is PROTEIN
    assert PROTEIN.decode(found.states) == ["ACD-EF-", "ACDEFGH"]
    assert found.states.dtype == np.uint8


@pytest.mark.parametrize(
    ("texts", "alphabet"),
    [(["ACGU-", "NNACG"], RNA), (["ACGT.", "acgtn"], sequences.DNA), (["ACGUE", "-----"], PROTEIN), (["ACG--"], RNA)],
)
def test_letters_tell_the_alphabet(tmp_path: pathlib.Path, texts: list[str], alphabet: Any) -> None:
    text = "".join(f">{number}\n{text}\n" for number, text in enumerate(texts))
    assert read_fasta(written(tmp_path, text)).alphabet is alphabet


def test_insertions_are_left_out(tmp_path: pathlib.Path) -> None:
    found = read_fasta(written(tmp_path, ">a\nACdefD-E\n>b\nAC.DDE\n"), "protein")
    assert PROTEIN.decode(found.states) == ["ACD-E", "ACDDE"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a file without sequences"),
        ("ACGU\n>one\n", "begins with '>', got 'ACGU' in line 1"),
        (">one\nACGU\n>two\nACG\n", "all of one length: got 3 letters in 'two' and 4 in 'one'"),
        (">one\n>two\n", "must have letters, got none in 'one'"),
        (">one\nAC\n>two\nA1\n", r"letters of protein .* got '1' in sequence 2"),
    ],
)
def test_what_is_no_alignment_is_refused(tmp_path: pathlib.Path, text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_fasta(written(tmp_path, text))
    whole = written(tmp_path, ">a\n" + "ACGU" * 100, "a.gz")
    whole.write_bytes(whole.read_bytes()[:-9])
    with pytest.raises(ValueError, match="the file is damaged"):
        read_fasta(whole)
    with pytest.raises(ValueError, match="alphabet must be one of"):
        read_fasta(whole, "lipid")


@pytest.mark.parametrize("name", ["drawn.fasta", "drawn.fasta.gz"])
def test_what_is_written_is_read_again(tmp_path: pathlib.Path, name: str) -> None:
    states = np.random.default_rng(0).integers(0, 21, (5, 203))
    sequences.write_fasta(tmp_path / name, states.astype("float32"), PROTEIN, [f"drawn {i}" for i in range(5)])
    found = read_fasta(tmp_path / name)
    np.testing.assert_array_equal(found.states, states)
    assert found.names[4] == "drawn 4"
    with pytest.raises(ValueError, match="names must be 5"):
        sequences.write_fasta(tmp_path / "other.fasta", states, PROTEIN, ["one"])
    with pytest.raises(ValueError, match="whole numbers from 0 to 4"):
        sequences.write_fasta(tmp_path / "other.fasta", states, RNA)
    assert not (tmp_path / "other.fasta").exists()


@pytest.mark.filterwarnings("ignore:Increasing number of chunks")  # Dask's, of blocks of single numbers
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("identity", "block"), [(0.3, 5), (6 / 7, 10), (1.0, 1000)])
@pytest.mark.at_night("jax")
def test_sequences_that_are_almost_the_same_share_a_vote(library: Library, identity: float, block: int) -> None:
    states = library.array(STATES.astype("int32"))
    with guard():
        found = sequence_weights(states, identity, n_states=4, block=block)
    alike = (STATES[:, None, :] == STATES[None, :, :]).mean(axis=2) >= identity - 1e-9
    np.testing.assert_allclose(library.numpy(found), 1 / alike.sum(axis=1), rtol=1e-6)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("identity", "block"), [(0.3, 5), (4 / 7, 10), (6 / 7, 1000)])
def test_groups_are_chains_of_similar_sequences(library: Library, identity: float, block: int) -> None:
    if library.name == "dask":
        with pytest.raises(ValueError, match="states must be in memory"):
            sequences.identity_groups(library.array(STATES), identity, n_states=4)
        return
    found = sequences.identity_groups(library.array(STATES.astype("int32")), identity, n_states=4, block=block)
    reached = (STATES[:, None, :] == STATES[None, :, :]).mean(axis=2) >= identity - 1e-9
    for _ in STATES:
        reached = (reached.astype(int) @ reached) > 0
    np.testing.assert_array_equal(found[:, None] == found, reached)
    assert list(dict.fromkeys(found.tolist())) == list(range(found.max() + 1))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.at_night("jax")
def test_states_and_pairs_of_them_are_counted(library: Library) -> None:
    weights = np.random.default_rng(1).random(23).astype("float32")
    states, shares = library.array(STATES.astype("int32")), library.array(weights)
    with guard():
        single = sequences.site_frequencies(states, 4, shares)
        pairs = pair_frequencies(states, 4, shares, block=9)
        correlations = sequences.site_pairs(sequences.connected_correlations(pairs))
    one_hot = (STATES[:, :, None] == np.arange(4)).astype(float)
    share = weights / weights.sum()
    wanted = np.einsum("n,nia,njb->iajb", share, one_hot, one_hot)
    own = np.einsum("n,nia->ia", share, one_hot)
    np.testing.assert_allclose(library.numpy(single), own, atol=1e-6)
    np.testing.assert_allclose(library.numpy(pairs), wanted, atol=1e-6)
    centred = (wanted - own[:, :, None, None] * own).transpose(0, 2, 1, 3)[np.triu_indices(7, 1)]
    np.testing.assert_allclose(library.numpy(correlations), centred, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: sequence_weights(STATES, 0.0), "identity must be a number above 0, at most 1"),
        (lambda: sequence_weights(STATES, block=0), "block must be a whole number, at least 1"),
        (lambda: sequence_weights(STATES[0]), r"two axes, \(sequences, sites\), got an array of shape \(7,\)"),
        (lambda: sequences.site_frequencies(STATES - 0.5), "whole numbers from 0 to 2, got values from -0.5 to 2.5"),
        (lambda: pair_frequencies(STATES, 3), "whole numbers from 0 to 2, got values from 0 to 3"),
        (lambda: sequences.site_frequencies(STATES, weights=[1.0]), "weights must be 23, one for each sequence"),
        (lambda: contact_scores(np.zeros((3, 2, 3))), "couplings must have the shape"),
        (lambda: contact_scores(np.zeros((3, 2, 3, 2)), gap=2), "gap must be a state from 0 to 1, or None, got 2"),
        (lambda: sequences.effective_couplings(np.zeros((2, 9)), np.zeros(2), STATES, 4), "must have 28 columns"),
    ],
)
def test_bad_arguments_are_refused(call: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        call()


@pytest.mark.parametrize("library", LIBRARIES)
def test_scores_do_not_depend_on_the_gauge(library: Library) -> None:
    random = np.random.default_rng(0)
    couplings = random.normal(size=(6, 3, 6, 3))
    couplings = couplings + couplings.transpose(2, 3, 0, 1)
    fields = random.normal(size=(6, 3, 6, 1)) + random.normal(size=(6, 1, 6, 3))
    with guard():
        plain, shifted, centred = library.at_once(
            lambda x, y: (contact_scores(x, gap=None), contact_scores(y, gap=None), sequences.zero_sum(y)),
            couplings,
            couplings + fields,
        )
    np.testing.assert_allclose(library.numpy(plain), library.numpy(shifted), atol=1e-12)
    np.testing.assert_allclose(library.numpy(centred).sum(axis=3), 0, atol=1e-12)
    scores = library.numpy(plain)
    np.testing.assert_allclose(scores, scores.T, atol=1e-12)
    assert abs(scores.sum()) < 1e-1 * np.abs(scores).sum()  # what all have in common is gone


def test_the_gap_does_not_count() -> None:
    couplings = np.zeros((3, 3, 3, 3))
    couplings[0, :, 1, :] = couplings[1, :, 0, :] = np.outer([2.0, -1.0, -1.0], [2.0, -1.0, -1.0])
    with_gaps = contact_scores(couplings, gap=None, corrected=False)[0, 1]
    assert contact_scores(couplings, corrected=False)[0, 1] == pytest.approx(2.0)
    assert with_gaps == pytest.approx(6.0)


def test_the_correction_takes_what_is_common() -> None:
    strong = np.asarray([1.0, 2.0, 3.0, 4.0])
    common = np.outer(strong, strong) * (1 - np.eye(4))
    common[0, 3] = common[3, 0] = 10.0
    found = sequences.average_product_correction(common)
    assert np.argmax(found) == 3
    np.testing.assert_array_equal(sequences.average_product_correction(np.zeros((3, 3))), np.zeros((3, 3)))


def test_effective_couplings_are_the_second_order() -> None:
    """Of the logarithm of a row's weight, less what either site alone tells of it."""
    random = np.random.default_rng(0)
    weights, bias = 0.02 * random.normal(size=(5, 6)), random.normal(size=5)
    states = np.stack(np.meshgrid(np.arange(3), np.arange(3), indexing="ij"), axis=-1).reshape(-1, 2)
    rows = (states[:, :, None] == np.arange(3)).reshape(9, 6).astype(float)
    exact = np.log1p(np.exp(rows @ weights.T + bias)).sum(axis=1).reshape(3, 3)
    exact = exact - exact.mean(axis=0) - exact.mean(axis=1, keepdims=True) + exact.mean()
    found = sequences.effective_couplings(weights, bias, states, 3)
    np.testing.assert_allclose(found[0, :, 1, :], exact, atol=0.05 * np.abs(exact).max())


def test_contacts_of_a_potts_model_are_found() -> None:
    """From its own couplings, and, by inverting correlations, from sequences that it draws."""
    sites, n_states, contacts = 10, 3, {(0, 5), (1, 8), (2, 9), (3, 7)}
    couplings = np.zeros((sites, n_states, sites, n_states))
    for one, other in contacts:
        couplings[one, :, other, :] = couplings[other, :, one, :] = 1.2 * np.eye(n_states)
    machine = GraphMachine(as_graph(sorted(contacts), units=sites), n_states, couplings=1.2)
    states, others = (machine.sample(n_chains=3000, n_sweeps=10, random_state=seed)["state"].values for seed in (0, 1))
    correlations = sequences.connected_correlations(pair_frequencies(states, n_states))
    free = correlations[:, :-1, :, :-1].reshape(sites * 2, sites * 2)  # the last state follows from the others
    inverse = -np.linalg.inv(free).reshape(sites, 2, sites, 2)
    padded = np.pad(inverse, ((0, 0), (0, 1), (0, 0), (0, 1)))
    for scores in (contact_scores(couplings, gap=None), contact_scores(padded, gap=None)):
        best = np.argsort(-np.triu(scores, 1), axis=None)[:4]
        assert {tuple(map(int, divmod(place, sites))) for place in best} == contacts
    frequencies = sequences.site_pairs(pair_frequencies(states, n_states))
    again = sequences.site_pairs(pair_frequencies(others, n_states))
    assert sequences.pearson(frequencies, again) > 0.9  # the rest is the noise of 3,000 sequences
    assert np.isnan(sequences.pearson(np.ones(3), np.arange(3.0)))
