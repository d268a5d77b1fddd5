"""Draws of a part's units, and a walk over a graph, by the compiled core.

Contract: the bits of `nbm_xp.graphs.part_sweeps` and `nbm_xp.graphs.partition`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from nbm_xp.namespace.core import functions
from nbm_xp.namespace.mrg31k3p.integers import transition
from nbm_xp.namespace.mrg31k3p.numpy_draws import number_by_number

from .numpy_graphs import NO_LEVELS, NO_MULTIPLES, RULES, loops_of, table_of

__all__ = ["breadth", "part"]

_LANES = 64


def breadth(begins: Any, neighbours: Any) -> Any:
    """See `nbm_xp.graphs.partition`: the slots as a walk comes to them."""
    order = np.empty(begins.size - 1, np.int32)
    functions["graph_breadth"](begins, neighbours, order, np.zeros(order.size, np.int8))
    return order


@lru_cache(maxsize=8)
def _lanes(bundle: Any) -> Any:
    """The states that the streams of chains start in, number by number."""
    return np.array(number_by_number(bundle.streams, bundle.streams.shape[0])).reshape(-1)


def _jumps(part: Any, colour: int) -> tuple[Any, Any]:
    """Which jump leads from each unit of a colour to the next one, the first of them nowhere; and these jumps."""
    key = "jumps", colour
    if key not in part.kept:
        rows = part.slots[part.of_colour(colour)] // _LANES
        apart, which = np.unique(np.diff(rows, prepend=rows[0]), return_inverse=True)
        made = [np.asarray(transition(int(steps)), np.uint32).reshape(-1) for steps in apart]
        part.kept[key] = which.astype(np.int32), np.concatenate(made)
    return part.kept[key]  # type: ignore[no-any-return]


def part(bundle: Any, part: Any, whole: Any, sweep: int, colour: int) -> bool:
    """See `nbm_xp.graphs.part_sweeps`: units of a colour are drawn anew where they are."""
    here, values, layout = part.of_colour(colour), bundle.values, part.layout
    slots = part.slots[here]
    if not slots.size:
        return True
    which, jumps = _jumps(part, colour)
    first, second = transition(sweep * bundle.numbers.steps + int(slots[0]) // _LANES + 1)
    beta, potts = np.asarray([bundle.betas]), values.kind == "potts"
    couplings, multiples, levels, table = layout.couplings, NO_MULTIPLES, NO_LEVELS, NO_LEVELS
    if not potts:
        loops = loops_of(layout, values, single=False)
        multiples = loops.multiples
        if multiples.size:
            levels, table = table_of(
                loops.most, loops.stride, loops.unit, layout.fields[0], values, bundle.rule == "metropolis", beta
            )
    functions["graph_part"](
        slots, which, jumps, np.asarray((*first[0], *second[0]), np.uint32), _lanes(bundle), layout.begins,
        layout.neighbours, couplings, multiples, layout.fields, beta.reshape(-1) * values.step, levels, table, whole,
        here.start, RULES[bundle.rule], values.least, int(values.step), values.count if potts else 0,
    )  # fmt: skip
    return True
