"""CTC costs and decodings equal what comes out of writing down every alignment, and TensorFlow's narrow beams."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbm_xp import natural_bm as B
from nbm_xp.functions.ctc import ctc_batch_cost, ctc_label_dense_to_sparse
from nbm_xp.functions.ctc_decoding import ctc_decode
from nbm_xp.tape import Variable, evaluate, gradients
from tests.helpers.libraries import Library, libraries


def merged(path: tuple[int, ...], blank: int) -> tuple[int, ...]:
    """What an alignment spells out."""
    return tuple(label for label, _ in itertools.groupby(path) if label != blank)


def spelled(frames: np.ndarray) -> dict[tuple[int, ...], float]:
    """The probability of every label sequence, by all alignments."""
    frames = (frames + 1e-8) / (frames + 1e-8).sum(axis=-1, keepdims=True)
    found: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(frames.shape[1]), repeat=len(frames)):
        word = merged(path, frames.shape[1] - 1)
        found[word] = found.get(word, 0.0) + math.prod(frames[t, c] for t, c in enumerate(path))
    return found


def probabilities(samples: int, frames: int, classes: int, seed: int) -> np.ndarray:
    raw = np.random.default_rng(seed).gamma(0.7, size=(samples, frames, classes)) + 1e-3
    return raw / raw.sum(axis=-1, keepdims=True)


@given(
    labels=st.lists(st.integers(0, 1), min_size=3, max_size=3),
    n_labels=st.integers(0, 3),
    n_frames=st.integers(0, 4),
    seed=st.integers(0, 99),
)
def test_cost_is_that_of_all_alignments(labels: list[int], n_labels: int, n_frames: int, seed: int) -> None:
    frames = probabilities(1, 4, 3, seed)
    got = ctc_batch_cost(np.asarray([labels]), frames, np.asarray([[n_frames]]), np.asarray([[n_labels]]))
    probability = spelled(frames[0, :n_frames]).get(tuple(labels[:n_labels]), 0.0)
    assert got.shape == (1, 1)
    want = -math.log(probability) if probability else math.inf
    np.testing.assert_allclose(got[0, 0], want, rtol=1e-9, atol=1e-12)


BATCH = (
    np.asarray([[0, 1, 1], [1, 0, 0], [0, 0, 0]]), probabilities(3, 5, 3, 7),
    np.asarray([[5], [4], [5]]), np.asarray([[3], [2], [1]]),
)  # fmt: skip


def test_an_impossible_alignment_costs_inf_and_has_no_gradient() -> None:
    frames = Variable(probabilities(2, 3, 3, 1))
    cost = ctc_batch_cost(np.asarray([[0, 0], [0, 1]]), frames, np.asarray([[2], [3]]), np.asarray([[2], [2]]))
    assert np.isinf(evaluate(cost)).ravel().tolist() == [True, False]
    gradient = evaluate(gradients(B.sum(cost), frames))
    np.testing.assert_array_equal(gradient[0], 0.0)
    assert np.isfinite(gradient[1]).all()
    assert gradient[1].any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_thousand_sharp_frames(dtype: str) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 1000, 20)) * 15
    frames = np.exp(logits - logits.max(axis=-1, keepdims=True))
    frames = Variable((frames / frames.sum(axis=-1, keepdims=True)).astype(dtype))
    cost = ctc_batch_cost(rng.integers(0, 19, (2, 100)), frames, np.asarray([[1000], [900]]), np.asarray([[100], [50]]))
    assert cost.dtype == dtype
    value, gradient = evaluate([cost, gradients(B.sum(cost), frames)])
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
    np.testing.assert_array_equal(gradient[1, 900:], 0.0)


@given(seed=st.integers(0, 999), n_frames=st.integers(1, 4))
def test_a_wide_beam_finds_the_most_probable_labels(seed: int, n_frames: int) -> None:
    frames = probabilities(1, n_frames, 3, seed)
    paths, scores = ctc_decode(frames, np.asarray([n_frames]), greedy=False, beam_width=60, top_paths=3)
    ranked = sorted(spelled(frames[0]).items(), key=lambda item: -item[1])
    for place, (word, probability) in enumerate(ranked[:3]):
        assert scores[0, place] == pytest.approx(math.log(probability), rel=1e-6, abs=1e-9)
        read = tuple(int(label) for label in paths[place][0] if label >= 0)
        assert read == tuple(label for label, _ in itertools.groupby(word))


# What TensorFlow 1.14's beam search answers: for k, frames, classes and width, the labels and the logarithms of their
# probabilities. In each, a prefix that was pushed out of the beam decides what may come back.
BEAMS = [
    (5, 9, 5, 3, [[0, 3, 2, 3, 0], [0, 3, 2, 3, 0, 2], [0, 3, 0]], [-4.392212, -4.412616, -5.147510]),
    (15, 9, 4, 3, [[2, 1, 0, 1, 2], [2, 1, 0, 2], [2, 1, 0, 1]], [-3.522675, -3.960237, -4.882542]),
    (41, 9, 5, 6, [[3, 2, 0, 3, 1], [3, 2, 0, 2, 1], [3, 0, 2, 0, 3, 1]], [-4.122217, -4.332976, -4.866591]),
    (37, 9, 5, 10, [[3, 0, 2, 0, 1], [3, 0, 2, 1], [3, 0, 2, 0, 2]], [-5.715372, -5.724946, -5.733471]),
    (
        23, 9, 4, 30, [[1, 0, 2, 1, 2, 1], [1, 2, 1, 2, 1, 2, 1], [1, 0, 1, 2, 1, 2, 1]],
        [-3.629308, -3.747730, -3.849342],
    ),
    (
        54, 10, 6, 100, [[2, 0, 3, 2, 0, 2], [3, 0, 3, 2, 0, 2], [2, 0, 3, 2, 0, 2, 1]],
        [-6.932191, -7.178840, -7.179265],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("k", "n_frames", "n_classes", "width", "words", "scores"), BEAMS, ids=[b[0] for b in BEAMS])
def test_a_beam_keeps_what_tensorflow_keeps(
    k: int, n_frames: int, n_classes: int, width: int, words: list[list[int]], scores: list[float]
) -> None:
    logits = 2 * np.sin((k + 1) * np.arange(1.0, n_frames * n_classes + 1) ** 1.5).reshape(1, n_frames, n_classes)
    frames = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    options: dict[str, Any] = {"greedy": False, "beam_width": width, "top_paths": 3}
    paths, found = ctc_decode(frames, np.asarray([n_frames]), **options)
    np.testing.assert_allclose(found[0], scores, rtol=3e-6)
    assert [[label for label in path[0].tolist() if label >= 0] for path in paths] == words


@given(seed=st.integers(0, 999), n_frames=st.integers(1, 6))
def test_the_greedy_path_takes_the_best_of_each_frame(seed: int, n_frames: int) -> None:
    frames = probabilities(2, 6, 4, seed)
    (path,), score = ctc_decode(frames, np.asarray([n_frames, 6]))
    for sample, count in enumerate((n_frames, 6)):
        best = tuple(frames[sample, :count].argmax(axis=-1))
        word = merged(best, 3)
        assert path[sample].tolist() == [*word, *[-1] * (path.shape[1] - len(word))]
        assert score[sample, 0] == pytest.approx(-np.log(frames[sample, :count].max(axis=-1) + 1e-8).sum())


@pytest.mark.parametrize("library", libraries("numpy", "array_api_strict", without=("numpy-readonly",)), indirect=True)
def test_a_recorded_beam_wider_than_there_are_labels(library: Library) -> None:
    """The standard leaves open what a slice beyond the end is, and array_api_strict rejects it."""
    chances = np.random.default_rng(4).dirichlet(np.ones(3), size=(2, 5)).astype("float32")
    lengths = np.asarray([5, 4])
    want = ctc_decode(chances, lengths, greedy=False, beam_width=6, top_paths=6)
    got = ctc_decode(Variable(library.array(chances)), library.array(lengths), greedy=False, beam_width=6, top_paths=6)
    for found, right in zip((*got[0], got[1]), (*want[0], want[1]), strict=True):
        np.testing.assert_allclose(library.numpy(evaluate(found)), right, rtol=1e-5)


def test_what_decoding_rejects() -> None:
    frames = BATCH[1]
    for options, message in (
        ({"beam_width": 0}, "beam_width must be 1 or more, got 0"),
        ({"top_paths": 3, "beam_width": 2}, "top_paths must be from 1 to beam_width, 2, got 3"),
    ):
        with pytest.raises(ValueError, match=message):
            ctc_decode(frames, np.asarray([5, 5, 5]), greedy=False, **options)


def test_sparse_labels() -> None:
    labels = np.asarray([[5, 7, 1], [9, 0, 0]])
    sparse = ctc_label_dense_to_sparse(labels, np.asarray([3, 1]))
    dense = np.zeros(tuple(sparse.dense_shape), dtype=labels.dtype)
    dense[tuple(sparse.indices.T)] = sparse.values
    np.testing.assert_array_equal(dense, labels)
    assert sparse.indices.dtype == np.int64
