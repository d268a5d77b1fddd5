"""The labels that frames of class probabilities spell out: the best path, or the best prefixes of a beam.

Both are array arithmetic without a loop over samples. A beam holds prefixes; two ways to one prefix are found by
comparing numbers that identify prefixes, and their probabilities are added.

References
----------
A. Graves (2012), "Supervised sequence labelling with recurrent neural networks", chapter 7.5, for the prefix search.
"""

from __future__ import annotations

import operator
from typing import Any

from nbm_xp import tape
from nbm_xp.namespace import concrete_int, is_lazy
from nbm_xp.tape import namespace as recorded
from nbm_xp.tape.lengths import value_length
from nbm_xp.tape.node import FLAT

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
        Probabilities of classes, of shape (samples, frames, classes), the blank last.
    input_length : array of int
        How many frames each sample has, of shape (samples,).
    greedy : bool
        Whether to take the best class of each frame. Otherwise prefixes are searched for.
    beam_width : int
        How many prefixes are kept after each frame.
    top_paths : int
        How many of the best prefixes to return.

    Returns
    -------
    paths : list of array of int64
        One array if `greedy`, else `top_paths` of them, of shape (samples, most labels), with -1 behind the labels.
        Labels that repeat without a blank between them count once. On a lazy library there are as many columns as
        there are frames.
    log_probability : array
        Of a greedy path, of shape (samples, 1), minus the sum of the logarithms of its classes' probabilities; of
        prefixes, of shape (samples, top_paths), the logarithms of their probabilities.

    Raises
    ------
    ValueError
        If `beam_width` is less than 1, or `top_paths` not from 1 to `beam_width`.

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
    """The labels that are kept, moved to the front of their rows in order, and -1 behind them."""
    place = recorded.arange(labels.node.shape[1], dtype=recorded.int64)
    order = recorded.argsort(recorded.where(kept, place, place + labels.node.shape[1]), axis=1, stable=True)
    return recorded.take_along_axis(recorded.where(kept, labels, -1), order, axis=1)


def _trimmed(path: Any) -> Any:
    """A path without the columns in which no sample has a label."""
    longest = recorded.max(recorded.sum(recorded.astype(path >= 0, recorded.int64), axis=1))
    return _first_columns(path, longest)


_first_columns = tape.operation(
    "first_columns",
    infer=lambda x, count: ((x.shape[0], value_length(count)), x.dtype),
    # how many there are is data, which a lazy library does not look at
    run=lambda xp, x, count: x if is_lazy(xp) else x[:, : concrete_int(count)],
    gradient=FLAT,  # labels are integers
)


def _add(a: Any, b: Any) -> Any:
    """The logarithm of the sum of two exponentials."""
    top = recorded.maximum(a, b)
    return top + recorded.log1p(recorded.exp(-recorded.abs(a - b)))


def _beam(logits: Any, lengths: Any, width: int, count: int) -> tuple[list[Any], Any]:
    """Prefix search: of each prefix, how probable it is with a blank at the end and with its last label there."""
    chances = log_softmax(logits)
    samples, n_frames, n_classes = chances.node.shape
    kind = chances.dtype
    none = recorded.zeros((samples, width), dtype=recorded.int64)
    slot = recorded.arange(width, dtype=recorded.int64)
    classes = recorded.arange(n_classes - 1, dtype=recorded.int64)

    def step(now: Any, t: Any, *beam: Any) -> list[Any]:
        blank_end, label_end, last, own, parent, path = beam
        now = recorded.expand_dims(now, axis=1)  # (samples, 1, classes)
        total = _add(blank_end, label_end)
        repeat = recorded.take_along_axis(
            recorded.broadcast_to(now, (samples, width, n_classes)),
            recorded.expand_dims(recorded.maximum(last, 0), axis=2),
            axis=2,
        )[:, :, 0]
        repeat = recorded.where(last < 0, _NEVER, repeat)
        # What a prefix's parent in the beam adds to it: its label once more, unless the parent ends in that very label.
        is_parent = recorded.expand_dims(parent, axis=2) == recorded.expand_dims(own, axis=1)
        is_parent = (
            is_parent & recorded.expand_dims(last >= 0, axis=2) & recorded.expand_dims(total > _NEVER / 2, axis=1)
        )
        same = recorded.expand_dims(last, axis=2) == recorded.expand_dims(last, axis=1)
        source = recorded.where(same, recorded.expand_dims(blank_end, axis=1), recorded.expand_dims(total, axis=1))
        inherited = recorded.max(recorded.where(is_parent, source, _NEVER), axis=2)
        stay_blank = total + now[:, :, -1]
        stay_label = repeat + _add(label_end, inherited)
        # Extensions by one label, less those that are in the beam already and got their share above.
        grow = recorded.where(
            recorded.expand_dims(last, axis=2) == classes,
            recorded.expand_dims(blank_end, axis=2), recorded.expand_dims(total, axis=2),
        ) + now[:, :, :-1]  # fmt: skip
        there = recorded.expand_dims(last, axis=2) == classes  # which label each prefix was made by
        taken = recorded.matmul(
            recorded.astype(recorded.matrix_transpose(is_parent), kind), recorded.astype(there, kind)
        )
        grow = recorded.where(taken > 0.5, _NEVER, grow)
        scores = recorded.concat([_add(stay_blank, stay_label), recorded.reshape(grow, (samples, -1))], axis=1)
        chosen = recorded.argsort(scores, axis=1, descending=True, stable=True)[:, :width]
        stays = chosen < width
        extension = recorded.maximum(chosen - width, 0)
        origin = recorded.where(stays, chosen, extension // (n_classes - 1))
        label = extension % (n_classes - 1)

        def of(value: Any) -> Any:
            return recorded.take_along_axis(value, origin, axis=1)

        new_last = recorded.where(stays, of(last), label)
        new_own = recorded.where(stays, of(own), of(own) * _MIXER + label + 1)
        new_parent = recorded.where(stays, of(parent), of(own))
        picked = recorded.take_along_axis(scores, chosen, axis=1)
        new_blank = recorded.where(stays, of(stay_blank), _NEVER)
        new_label = recorded.where(stays, of(stay_label), picked)
        steps = recorded.take_along_axis(path, recorded.expand_dims(origin, axis=2), axis=1)
        here = recorded.arange(n_frames, dtype=recorded.int64) == t
        grown = recorded.expand_dims(recorded.where(stays, -1, label), axis=2)
        steps = recorded.where(here, grown, steps)
        after = [new_blank, new_label, new_last, new_own, new_parent, steps]
        active = recorded.expand_dims(t < lengths, axis=1)
        masks = [active] * 5 + [recorded.expand_dims(active, axis=2)]
        return [recorded.where(mask, new, old) for mask, new, old in zip(masks, after, beam, strict=True)]

    never = recorded.full((samples, width), _NEVER, dtype=kind)
    start = [
        recorded.where(slot == 0, recorded.zeros_like(never), never), never, none - 1, none, none - 1,
        recorded.full((samples, width, n_frames), -1, dtype=recorded.int64),
    ]  # fmt: skip
    moments = recorded.arange(n_frames, dtype=recorded.int64)
    history, _ = tape.scan(
        step, sequences=[recorded.moveaxis(chances, 1, 0), moments], outputs_info=start, name="ctc beam"
    )
    blank_end, label_end, _, _, _, path = (values[-1] for values in history)
    scores = _add(blank_end, label_end)
    best = recorded.argsort(scores, axis=1, descending=True, stable=True)[:, :count]
    paths = []
    for place in range(count):
        labels = recorded.take_along_axis(path, recorded.expand_dims(best[:, place : place + 1], axis=2), axis=1)[:, 0]
        labels = _compact(labels, labels >= 0)
        before = recorded.concat([labels[:, :1] * 0 - 2, labels[:, :-1]], axis=1)
        paths.append(_compact(labels, (labels >= 0) & (labels != before)))
    return paths, recorded.take_along_axis(scores, best, axis=1)
