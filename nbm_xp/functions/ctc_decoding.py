"""Decoding of frames of class probabilities to labels: best path, or prefix beam search.

Both are array arithmetic without a loop over samples. A beam is a set of prefixes; each has a number that identifies
it, and the probabilities of two candidates with the same number are added.

The result depends on which prefixes a beam keeps, so the beam keeps the same prefixes as TensorFlow's search. That
search visits the prefixes of a frame from the most probable on and extends each by each label; a prefix that no longer
fits in the beam is removed immediately. A prefix that was removed before its parent was visited, and that its parent
does not add again, is not extended in this frame, though it was in the beam of the previous frame: see `_idle`.

References
----------
A. Graves (2012), "Supervised sequence labelling with recurrent neural networks", chapter 7.5, for the prefix search.
TensorFlow's ``ctc_beam_search_decoder``, for the order in which prefixes come and go.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

from nbm_xp import tape
from nbm_xp.namespace import concrete_int, is_lazy
from nbm_xp.tape import namespace as recorded
from nbm_xp.tape.lengths import value_length
from nbm_xp.tape.operations import FLAT

from ._arguments import Array, as_array, floats
from .activations import log_softmax
from .ctc import frame_logits
from .recurrence import at_once

__all__ = ["ctc_decode"]

_NEVER = -1e30
_MIXER = 6364136223846793005  # Knuth's multiplier for 64-bit congruences


def ctc_decode(
    y_pred: Array, input_length: Array, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Any], Any]:
    """Decode class probabilities of frames to labels.

    Parameters
    ----------
    y_pred : array
        Class probabilities, of shape (samples, frames, classes), with the blank last.
    input_length : array of int
        Number of frames of each sample, of shape (samples,).
    greedy : bool
        Whether to take the most probable class of each frame, instead of a prefix beam search.
    beam_width : int
        Number of prefixes kept after each frame.
    top_paths : int
        Number of the most probable prefixes to return.

    Returns
    -------
    paths : list of array of int64
        One array if `greedy`, else `top_paths` arrays, of shape (samples, maximum of labels), with -1 after the labels.
        Labels that repeat without a blank between them count once. With a lazy library there are as many columns as
        frames.
    log_probability : array
        If `greedy`, the negative log-probability of the path, of shape (samples, 1); else the log-probabilities of the
        prefixes, of shape (samples, top_paths).

    Raises
    ------
    ValueError
        If `beam_width` is less than 1, or `top_paths` is not between 1 and `beam_width`.

    Examples
    --------
    >>> import numpy as np
    >>> frames = np.asarray([[[0.8, 0.1, 0.1], [0.7, 0.1, 0.2], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1]]])
    >>> paths, _ = ctc_decode(frames, np.asarray([4]))
    >>> paths[0]
    array([[0, 1]])
    """
    width, count = operator.index(beam_width), operator.index(top_paths)
    if width < 1:
        raise ValueError(f"beam_width must be 1 or more, got {beam_width}")
    if not 1 <= count <= width:
        raise ValueError(f"top_paths must be from 1 to beam_width, {width}, got {top_paths}")
    given = [floats(y_pred)[1], as_array(input_length)]
    if given[0].ndim != 3:
        raise ValueError(f"y_pred must have three axes, (samples, frames, classes), got shape {tuple(given[0].shape)}")
    frames, n_frames = map(tape.as_tensor, given)
    lengths = recorded.reshape(recorded.astype(n_frames, recorded.int64), (-1,))
    logits = frame_logits(frames)
    paths, scores = _greedy(logits, lengths) if greedy else _beam(logits, lengths, width, count)
    *paths, scores = at_once([*map(_trimmed, paths), scores], given)
    return paths, scores


def _greedy(logits: Any, lengths: Any) -> tuple[list[Any], Any]:
    blank = logits.node.shape[2] - 1
    valid = recorded.arange(logits.node.shape[1], dtype=recorded.int64) < recorded.expand_dims(lengths, axis=1)
    best = recorded.where(valid, recorded.argmax(logits, axis=2), blank)
    before = recorded.concat([best[:, :1] * 0 - 1, best[:, :-1]], axis=1)
    path = _compact(best, (best != blank) & (best != before))
    total = recorded.sum(recorded.where(valid, recorded.max(logits, axis=2), 0.0), axis=1, keepdims=True)
    return [path], -total


def _compact(labels: Any, kept: Any) -> Any:
    """Move the labels that are kept to the front of their rows, in order, and fill the rest with -1."""
    place = recorded.arange(labels.node.shape[1], dtype=recorded.int64)
    order = recorded.argsort(recorded.where(kept, place, place + labels.node.shape[1]), axis=1, stable=True)
    return recorded.take_along_axis(recorded.where(kept, labels, -1), order, axis=1)


def _trimmed(path: Any) -> Any:
    """Remove the columns in which no sample has a label."""
    longest = recorded.max(recorded.sum(recorded.astype(path >= 0, recorded.int64), axis=1))
    return _first_columns(path, longest)


_first_columns = tape.operation(
    "first_columns",
    infer=lambda x, count: ((x.shape[0], value_length(count)), x.dtype),
    # the number of columns depends on values, which a lazy library has not computed
    run=lambda xp, x, count: x if is_lazy(xp) else x[:, : concrete_int(count)],
    gradient=FLAT,  # labels are integers
    may_overlap=False,
)


def _add(a: Any, b: Any) -> Any:
    """Logarithm of the sum of two exponentials."""
    top = recorded.maximum(a, b)
    return top + recorded.log1p(recorded.exp(-recorded.abs(a - b)))


class _Beam(NamedTuple):
    """The beam of prefixes of each sample.

    For each prefix: its log-probabilities with a blank and with its last label at the end; its last label, -1 for the
    empty prefix; numbers that identify the prefix and its parent (the prefix without its last label); and the label
    that each frame added, -1 for none. All are of shape (samples, width); `added` has an axis of frames in addition.
    """

    blank_end: Any
    label_end: Any
    last: Any
    own: Any
    parent: Any
    added: Any

    @property
    def total(self) -> Any:
        """Log-probability of each prefix, with either end."""
        return _add(self.blank_end, self.label_end)


def _empty_prefix(samples: Any, width: int, n_frames: Any, dtype: Any) -> _Beam:
    """A beam of the empty prefix; all other entries have probability 0."""
    none = recorded.zeros((samples, width), dtype=recorded.int64)
    never = recorded.full((samples, width), _NEVER, dtype=dtype)
    first = recorded.arange(width, dtype=recorded.int64) == 0
    added = recorded.full((samples, width, n_frames), -1, dtype=recorded.int64)
    return _Beam(recorded.where(first, recorded.zeros_like(never), never), never, none - 1, none, none - 1, added)


def _rows(x: Any) -> Any:
    """A number for each prefix as a column, to broadcast against other prefixes or classes."""
    return recorded.expand_dims(x, axis=2)


def _columns(x: Any) -> Any:
    return recorded.expand_dims(x, axis=1)


def _candidates(beam: _Beam, chances: Any, classes: Any) -> tuple[Any, Any, Any]:
    """Candidates for the beam after the next frame.

    For prefixes that are not extended, the probabilities of both ends; for each prefix extended by each label, its
    probability. Extensions that are in the beam already are left out (their probability is added to the existing
    prefix), and extensions of idle prefixes.
    """
    total = beam.total
    made_by = _rows(beam.last) == classes
    again = recorded.max(recorded.where(made_by, _columns(chances[:, :-1]), _NEVER), axis=2)
    is_parent = _rows(beam.parent) == _columns(beam.own)
    there_is = total > _NEVER / 2
    is_parent = is_parent & _rows((beam.last >= 0) & there_is) & _columns(there_is)
    # a repeated label is a new label only after a blank
    after_same = recorded.where(_rows(beam.last) == _columns(beam.last), _columns(beam.blank_end), _columns(total))
    inherited = recorded.max(recorded.where(is_parent, after_same, _NEVER), axis=2)
    longer = recorded.where(made_by, _rows(beam.blank_end), _rows(total)) + _columns(chances[:, :-1])
    there = recorded.matmul(
        recorded.astype(recorded.matrix_transpose(is_parent), chances.dtype), recorded.astype(made_by, chances.dtype)
    )
    longer = recorded.where(there > 0.5, _NEVER, longer)
    blank_end, label_end = total + chances[:, -1:], again + _add(beam.label_end, inherited)
    idle = _idle(is_parent, _add(blank_end, label_end), longer, _rows(beam.last) > classes)
    return blank_end, label_end, recorded.where(_rows(idle), _NEVER, longer)


def _idle(is_parent: Any, stays: Any, longer: Any, earlier_label: Any) -> Any:
    """Whether each prefix is not extended: it was removed, and its parent did not add it again.

    Prefixes are visited in the order of the beam. A prefix is removed before its parent reaches its label if a whole
    beam of candidates is better: unextended prefixes, or extensions of prefixes visited before. Whether those
    prefixes are idle follows the same rule, so the answer is iterated to a fixed point, mostly in one or two rounds.
    """
    width = stays.node.shape[1]
    turn = recorded.arange(width, dtype=recorded.int64)
    parent = recorded.argmax(recorded.astype(is_parent, recorded.int64), axis=2)
    after_parent = recorded.any(is_parent, axis=2) & (parent < turn)
    siblings = recorded.take_along_axis(longer, _rows(parent), axis=1)
    better = recorded.count_nonzero((siblings > _rows(stays)) & earlier_label, axis=2)
    better = better + recorded.count_nonzero(_columns(stays) > _rows(stays), axis=2)
    most = _most(longer, width)
    come = recorded.count_nonzero(_columns(most) > recorded.expand_dims(stays, axis=(2, 3)), axis=3)
    come = recorded.where(turn < _rows(parent), come, 0)

    def turns(idle: Any) -> Any:
        out = better + recorded.sum(recorded.where(_columns(idle), 0, come), axis=2) >= width
        now = after_parent & out & ~recorded.take_along_axis(idle, parent, axis=1)
        return now, tape.until(recorded.all(now == idle))

    rounds, _ = tape.scan(turns, outputs_info=recorded.zeros_like(after_parent), n_steps=width, name="ctc turns")
    return rounds[-1]


def _most(longer: Any, width: int) -> Any:
    """The `width` most probable candidates of each row; all if there are fewer."""
    *rows, count = longer.node.shape
    if isinstance(count, int) and count <= width:
        return longer
    if not isinstance(count, int):  # there may be fewer, and a slice must not exceed the length
        longer = recorded.concat([longer, recorded.full((*rows, width), -math.inf, dtype=longer.dtype)], axis=2)
    return recorded.sort(longer, axis=2, descending=True)[:, :, :width]


def _best_of(beam: _Beam, blank_end: Any, label_end: Any, longer: Any, here: Any) -> _Beam:
    """The most probable of the unextended and extended prefixes, as many as before; `here` is true at the frame."""
    samples, width, n_labels = longer.node.shape
    scores = recorded.concat([_add(blank_end, label_end), recorded.reshape(longer, (samples, -1))], axis=1)
    chosen = recorded.argsort(scores, axis=1, descending=True, stable=True)[:, :width]
    stays = chosen < width
    grown = recorded.maximum(chosen - width, 0)
    origin, label = recorded.where(stays, chosen, grown // n_labels), grown % n_labels

    def of(values: Any) -> Any:
        return recorded.take_along_axis(values, origin, axis=1)

    own = of(beam.own)
    added = recorded.take_along_axis(beam.added, _rows(origin), axis=1)
    return _Beam(
        blank_end=recorded.where(stays, of(blank_end), _NEVER),
        label_end=recorded.where(stays, of(label_end), recorded.take_along_axis(scores, chosen, axis=1)),
        last=recorded.where(stays, of(beam.last), label),
        own=recorded.where(stays, own, own * _MIXER + label + 1),
        parent=recorded.where(stays, of(beam.parent), own),
        added=recorded.where(here, _rows(recorded.where(stays, -1, label)), added),
    )


def _beam(logits: Any, lengths: Any, width: int, count: int) -> tuple[list[Any], Any]:
    """Prefix beam search: return the most probable prefixes after the last frame, and their log-probabilities."""
    chances = log_softmax(logits)
    samples, n_frames, n_classes = chances.node.shape
    classes = recorded.arange(n_classes - 1, dtype=recorded.int64)
    moments = recorded.arange(n_frames, dtype=recorded.int64)

    def step(now: Any, t: Any, *kept: Any) -> list[Any]:
        before = _Beam(*kept)
        after = _best_of(before, *_candidates(before, now, classes), here=moments == t)
        active = recorded.expand_dims(t < lengths, axis=1)
        return [
            recorded.where(_rows(active) if old.ndim == 3 else active, new, old)
            for new, old in zip(after, before, strict=True)
        ]

    history, _ = tape.scan(
        step,
        sequences=[recorded.moveaxis(chances, 1, 0), moments],
        outputs_info=list(_empty_prefix(samples, width, n_frames, chances.dtype)),
        name="ctc beam",
    )
    last = _Beam(*(values[-1] for values in history))
    best = recorded.argsort(last.total, axis=1, descending=True, stable=True)[:, :count]
    found = recorded.take_along_axis(last.added, _rows(best), axis=1)
    paths = [_merged(found[:, place]) for place in range(count)]
    return paths, recorded.take_along_axis(last.total, best, axis=1)


def _merged(labels: Any) -> Any:
    """Merge repeated labels, and move the labels to the front of their rows."""
    labels = _compact(labels, labels >= 0)
    before = recorded.concat([labels[:, :1] * 0 - 2, labels[:, :-1]], axis=1)
    return _compact(labels, (labels >= 0) & (labels != before))
