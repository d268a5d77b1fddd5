"""Connectionist temporal classification: the cost of label sequences whose alignment in time is unknown.

The sum over all alignments is one scan in the logarithmic domain, and its gradient uses the forward-backward algorithm,
so nothing under- or overflows over thousands of frames. The blank is the last class, as in TensorFlow.

References
----------
A. Graves, S. Fernández, F. Gomez, J. Schmidhuber (2006), "Connectionist temporal classification: labelling unsegmented
sequence data with recurrent neural networks", Proceedings of the 23rd International Conference on Machine Learning.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from nbm_xp import tape
from nbm_xp.namespace import array_namespace, running_dtype
from nbm_xp.tape import namespace as recorded

from ._arguments import Array, as_array, floats
from .activations import log_softmax
from .recurrence import at_once

__all__ = ["SparseLabels", "ctc_batch_cost", "ctc_label_dense_to_sparse", "frame_logits"]

# The logarithm of what cannot be: finite, so that differences of it are 0 and not nan.
_NEVER = -1e30

_FLOOR = 1e-8


def ctc_batch_cost(y_true: Array, y_pred: Array, input_length: Array, label_length: Array) -> Array:
    """Return the cost of label sequences: the negative log-probability of the labels given the frames.

    Parameters
    ----------
    y_true : array
        Labels, of shape (samples, maximum of labels); labels beyond a sample's `label_length` are ignored.
    y_pred : array
        Class probabilities, of shape (samples, frames, classes), with the blank last. 1e-8 is added to each before they
        are divided by their sum.
    input_length : array of int
        Number of frames of each sample, of shape (samples, 1).
    label_length : array of int
        Number of labels of each sample, of shape (samples, 1).

    Returns
    -------
    array
        Costs in nats, of shape (samples, 1): inf, with gradient 0, for samples with too few frames for their labels.

    Raises
    ------
    ValueError
        If an argument has a wrong number of axes.

    Examples
    --------
    >>> import numpy as np
    >>> frames = np.asarray([[[0.6, 0.4], [0.3, 0.7]]])
    >>> cost = ctc_batch_cost(np.asarray([[0]]), frames, np.asarray([[2]]), np.asarray([[1]]))
    >>> np.exp(-cost).round(3)  # 0.6 · 0.7 + 0.4 · 0.3 + 0.6 · 0.3
    array([[0.72]])
    """
    given = [as_array(y_true), floats(y_pred)[1], as_array(input_length), as_array(label_length)]
    for name, array, axes in zip(
        ("y_true", "y_pred", "input_length", "label_length"), given, (2, 3, 2, 2), strict=True
    ):
        if array.ndim != axes:
            raise ValueError(f"{name} must have {axes} axes, got shape {tuple(array.shape)}")
    labels, frames, n_frames, n_labels = map(tape.as_tensor, given)
    lengths = recorded.reshape(recorded.astype(n_frames, recorded.int64), (-1,))
    ends = recorded.reshape(recorded.astype(n_labels, recorded.int64), (-1,)) * 2
    states = _states(recorded.astype(labels, recorded.int64), frames.node.shape[-1] - 1)
    emissions = recorded.take_along_axis(
        recorded.moveaxis(log_softmax(frame_logits(frames)), 1, 0), recorded.expand_dims(states, axis=0), axis=2
    )
    cost = _cost(emissions, _skips(states, frames.node.shape[-1] - 1, emissions.dtype), lengths, ends)
    return at_once([recorded.expand_dims(cost, axis=1)], given)[0]


def frame_logits(y_pred: Array) -> Array:
    """Logarithms of probabilities that may be 0."""
    return array_namespace(y_pred).log(y_pred + _FLOOR)


def _states(labels: Any, blank: Any) -> Any:
    """Classes of the states of an alignment: the labels, with a blank before, between and after them."""
    samples, most = labels.node.shape
    blanks = recorded.broadcast_to(recorded.asarray(blank, dtype=recorded.int64), (samples, most, 1))
    pairs = recorded.concat([blanks, recorded.expand_dims(labels, axis=2)], axis=2)
    return recorded.concat([recorded.reshape(pairs, (samples, 2 * most)), blanks[:, :1, 0]], axis=1)


def _skips(states: Any, blank: Any, dtype: Any) -> Any:
    """For each state, 0 if it may directly follow the state two before it (skipping a blank), else `_NEVER`."""
    before = recorded.concat([states[:, :2] * 0 + blank, states[:, :-2]], axis=1)
    allowed = (states != blank) & (states != before)
    return recorded.where(allowed, recorded.zeros((), dtype=dtype), _NEVER)


def _sum_of_three(a: Any, b: Any, c: Any) -> Any:
    """The logarithm of the sum of three exponentials."""
    top = recorded.maximum(recorded.maximum(a, b), c)
    return top + recorded.log(recorded.exp(a - top) + recorded.exp(b - top) + recorded.exp(c - top))


def _never_like(x: Any, columns: int) -> Any:
    return recorded.full((x.node.shape[0], columns), _NEVER, dtype=x.dtype)


def _forward(emissions: Any, skips: Any, lengths: Any) -> Any:
    """Forward log-probabilities of each state after each frame, of shape (frames, samples, states)."""
    pad = _never_like(skips, 2)
    start = recorded.concat([_never_like(skips, 1) * 0.0, recorded.full_like(skips[:, 1:], _NEVER)], axis=1)

    def step(now: Any, t: Any, before: Any) -> Any:
        padded = recorded.concat([pad, before], axis=1)
        after = now + _sum_of_three(before, padded[:, 1:-1], padded[:, :-2] + skips)
        return recorded.where(recorded.expand_dims(t < lengths, axis=1), after, before)

    frames = recorded.arange(emissions.node.shape[0], dtype=recorded.int64)
    history, _ = tape.scan(step, sequences=[emissions, frames], outputs_info=[start], name="ctc forward")
    return history


def _finals(skips: Any, ends: Any) -> Any:
    """0 for the states in which an alignment may end, `_NEVER` for the others."""
    place = recorded.arange(skips.node.shape[1], dtype=recorded.int64)
    end = recorded.expand_dims(ends, axis=1)
    return recorded.where((place == end) | (place == end - 1), recorded.zeros((), dtype=skips.dtype), _NEVER)


def _backward(emissions: Any, skips: Any, lengths: Any, ends: Any) -> Any:
    """Backward log-probabilities of the frames that follow, given each state, of shape (frames, samples, states)."""
    pad = _never_like(skips, 2)
    onward = recorded.concat([skips[:, 2:], pad], axis=1)

    def step(now: Any, t: Any, after: Any) -> tuple[Any, Any]:
        padded = recorded.concat([after + now, pad], axis=1)
        before = _sum_of_three(padded[:, :-2], padded[:, 1:-1], padded[:, 2:] + onward)
        return after, recorded.where(recorded.expand_dims(t < lengths, axis=1), before, after)

    frames = recorded.arange(emissions.node.shape[0], dtype=recorded.int64)
    (history, _), _ = tape.scan(
        step,
        sequences=[emissions, frames],
        outputs_info=[None, _finals(skips, ends)],
        go_backwards=True,
        name="ctc backward",
    )
    return recorded.flip(history, axis=0)


def _logarithm_of_probability(history: Any, skips: Any, ends: Any) -> Any:
    """Log-probability of each sample: the sum over the states in which an alignment may end."""
    last = history[-1] + _finals(skips, ends)
    top = recorded.max(last, axis=1, keepdims=True)
    return recorded.squeeze(top, axis=1) + recorded.log(recorded.sum(recorded.exp(last - top), axis=1))


def _cost(emissions: Any, skips: Any, lengths: Any, ends: Any) -> Any:
    """Negative log-probability of each sample; inf if there is no alignment."""
    history = _forward(emissions, skips, lengths)
    found = _logarithm_of_probability(history, skips, ends)
    cost = recorded.where(found < _NEVER / 2, math.inf, -found)
    return _with_posteriors(cost, emissions, history, skips, lengths, ends)


def _minus_posteriors(g: Any, out: Any, cost: Any, emissions: Any, history: Any, skips: Any, *lengths: Any) -> Any:
    """Negative posterior probabilities of the states at each frame, given the labels."""
    n_frames, ends = lengths
    following = _backward(emissions, skips, n_frames, ends)
    found = _logarithm_of_probability(history, skips, ends)
    frames = recorded.arange(emissions.node.shape[0], dtype=recorded.int64)
    counted = recorded.expand_dims(frames, axis=1) < n_frames
    counted = recorded.expand_dims(counted & (found > _NEVER / 2), axis=2)
    logarithms = recorded.where(counted, history + following - recorded.expand_dims(found, axis=1), _NEVER)
    return -recorded.exp(logarithms) * recorded.expand_dims(g, axis=1)


_with_posteriors = tape.operation(
    "ctc_cost",
    infer=lambda cost, *others: (cost.shape, cost.dtype),
    run=lambda xp, cost, *others: cost,
    gradient=(None, _minus_posteriors, None, None, None, None),
)


class SparseLabels(NamedTuple):
    """Labels without padding: their indices, their values, and the shape of the dense array."""

    indices: Any
    values: Any
    dense_shape: Any


def ctc_label_dense_to_sparse(labels: Array, label_lengths: Array) -> SparseLabels:
    """Return the labels of all samples without padding, in the sparse coordinate format.

    Parameters
    ----------
    labels : array
        Of shape (samples, maximum of labels).
    label_lengths : array of int
        Number of labels of each sample, of shape (samples,).

    Returns
    -------
    indices : array of int64
        Sample and position of each label, of shape (count, 2).
    values : array
        The labels, of shape (count,).
    dense_shape : array of int64
        The shape of `labels`.

    Raises
    ------
    ValueError
        If `label_lengths` are not known while recording: the number of labels depends on them.

    Examples
    --------
    >>> import numpy as np
    >>> sparse = ctc_label_dense_to_sparse(np.asarray([[5, 7], [9, 0]]), np.asarray([2, 1]))
    >>> sparse.indices.tolist(), sparse.values.tolist()
    ([[0, 0], [0, 1], [1, 0]], [5, 7, 9])
    """
    labels, label_lengths = as_array(labels), as_array(label_lengths)
    xp = array_namespace(labels, label_lengths)
    wide = running_dtype(xp, "int64")
    lengths = xp.reshape(xp.astype(label_lengths, wide), (-1, 1))
    places = xp.nonzero(xp.arange(labels.shape[1], dtype=wide) < lengths)
    rows, columns = (xp.astype(place, wide) for place in places)
    flat = xp.take(xp.reshape(labels, (-1,)), rows * labels.shape[1] + columns, axis=0)
    return SparseLabels(xp.stack([rows, columns], axis=1), flat, xp.asarray(labels.shape, dtype=wide))
