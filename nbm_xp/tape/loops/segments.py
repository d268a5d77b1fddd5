"""A loop in segments: of the carried values only those between segments are kept for the gradient.

A segment is a call that the gradient computes again (see `checkpoint`); with about as many segments as steps in each, a
loop of n steps keeps about the square root of n values twice, and costs one more forward pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ..lengths import Size, known, same_length
from ..node import VARIABLE, Node
from ..stand_ins import inner_placeholder
from ..standard.indexing import stands_for_last
from ..standard.joining import concat
from ..standard.manipulation import reshape
from ..tensor import Tensor
from .body import LoopBody
from .checkpoint import remade
from .node import loop, results_of

__all__ = ["loop_in_segments", "steps_in_segment"]

_UNKNOWN = 32
"""How many steps a segment has where their number is not known."""


def steps_in_segment(checkpoint: object, count: Size) -> int:
    """How many steps are computed again together.

    Raises
    ------
    ValueError
        If `checkpoint` is neither True nor a number of steps.
    """
    if checkpoint is True:
        steps = known(count)
        return _UNKNOWN if steps is None else max(1, math.isqrt(steps))
    if not isinstance(checkpoint, int) or checkpoint < 1:
        raise ValueError(f"checkpoint must be True, False or a number of steps, got {checkpoint!r}")
    return checkpoint


def loop_in_segments(
    body: LoopBody, count: Size, sequences: Sequence[Tensor], initials: Sequence[Tensor], every: int
) -> tuple[list[Tensor], list[Tensor]]:
    """Record a loop of which a gradient keeps only every so many carried values.

    Parameters
    ----------
    body
        Its step.
    count
        How many steps there are.
    sequences, initials
        What they read, and the first carried values.
    every
        How many steps there are in a segment.

    Returns
    -------
    finals, stacked
        The final carried values and the outputs of all steps.
    """
    whole = count // every
    length = whole * every
    slices = [inner_placeholder((every, *node.shape), node.dtype) for node in body.sequences]
    carries = [_stand_in(node) for node in body.carries]
    first = inner_placeholder((), "bool").serial
    inner = loop(replace(body), every, list(map(Tensor, slices)), list(map(Tensor, carries)))
    finals, stacked = results_of(inner)
    results = remade(
        [*slices, *carries],
        list(map(Tensor, [*slices, *carries])),
        [tensor.node for tensor in (*finals, *stacked)],
        lambda node: node.serial < first,
    )
    segments = LoopBody(
        sequences=slices,
        carries=carries,
        following=[tensor.node for tensor in results[: len(finals)]],
        outputs=[tensor.node for tensor in results[len(finals) :]],
        name=body.name,
    )
    fed = [reshape(s[:length], (whole, every, *s.node.shape[1:])) for s in sequences]
    finals, found = results_of(loop(segments, whole, fed, initials))
    stacked = [reshape(x, (length, *x.node.shape[2:])) for x in found]
    if same_length(length, count) is not True:
        rest = loop(replace(body), count - length, [s[length:count] for s in sequences], finals)
        finals, last = results_of(rest)
        stacked = [concat([x, y], axis=0) for x, y in zip(stacked, last, strict=True)]
    for position, carry in body.fed_back.items():
        stands_for_last(stacked[position].node, finals[carry].node)
    return finals, stacked


def _stand_in(carry: Node) -> Node:
    """A variable stands for itself, so that its updates are found."""
    return carry if carry.op is VARIABLE else inner_placeholder(carry.shape, carry.dtype)
