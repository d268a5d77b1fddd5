"""Chains of a graph in parts: laid out as tasks, computed when somebody asks, on threads or a cluster.

Contract: the bits of the undivided chains, whatever the parts and whoever computes them. A task draws one colour of one
part, in some chains that run together, after the parts near have shown what they drew before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from nbm_xp.namespace import array_namespace, host_namespace
from nbm_xp.namespace.blocks import stepped
from nbm_xp.namespace.needs import need

from .chunked import chunked_chains
from .energy_model import EnergyModel
from .graph import Graph
from .labels import about
from .lazily import MEANS, OVERLAP, Asked, Found, begun_lazily, checked_rule
from .observers import ABOUT_MEANS, ABOUT_OVERLAP
from .part_sweeps import Bundle, PartStates, Shown
from .partition import Part, numbers_of_parts, partitioned

__all__ = ["TOGETHER", "divided_chains"]

TOGETHER: Final = 64
"""So many chains run together: the states of a unit fill a line of the cache."""

Index = tuple[int, ...]
Step = tuple[int, int, bool]
"""The sweep, the colour, and whether is measured after it."""


@dataclass(frozen=True)
class PartWork:
    """What tasks do for some chains.

    Parameters
    ----------
    bundle : Bundle
    """

    bundle: Bundle
    dtype: str = "int8"

    def begin(self, block: Index) -> tuple[None, Shown]:
        """Nothing: the first step makes states, with what it is handed."""
        return None, (None, None)

    def resume(self, block: Index, states: Any) -> tuple[Any, Shown]:
        """States that are given, of which all is to be seen."""
        return states, (None, states)

    def step(
        self, block: Index, states: Any, shown: dict[Index, Shown], step: Step, part: Part
    ) -> tuple[PartStates, Shown, Any]:
        """Draw a colour: the states, what others need of them, and what was measured."""
        sweep, colour, seen = step
        others = {number: what for (number, _), what in shown.items()}
        if states is None:
            states = self.bundle.begin(part)
        elif not isinstance(states, PartStates):
            states = self.bundle.told(part, states, {number: rows for number, (_, rows) in others.items()})
        return self.bundle.step(part, states, others, sweep, colour, seen)

    def array(self, block: Index, states: PartStates) -> Any:
        """The states of a part's own units."""
        return states.array


def parted_chains(machine: EnergyModel, parts: Any, asked: Asked) -> Found:
    """A graph's chains in parts; see `GraphMachine.sample`."""
    host, layout = host_namespace(), machine.layout
    checked_rule(asked.rule, "parts")
    begun = begun_lazily(machine, asked, (machine.units_count,), "parts", (OVERLAP, MEANS))
    made = partitioned(layout, numbers_of_parts(layout, parts), begun.held)
    last = begun.sweep + asked.burn_in + asked.sweeps
    seen = list(range(begun.sweep + asked.burn_in + asked.every, last + 1, asked.every))
    colours, measured = len(layout.ends), set(seen)
    steps = [
        (sweep, colour, sweep in measured and colour == colours - 1)
        for sweep in range(begun.sweep + 1, last + 1)
        for colour in range(colours)
    ]
    units = host.concat([layout.order[part.slots] for part in made])  # in the order of parts
    given: dict[Index, Part] = {(number, 0): part for number, part in enumerate(made)}
    neighbours: dict[Index, list[Index]] = {
        (number, 0): [(other, 0) for other in part.near] for number, part in enumerate(made)
    }
    looks = [number for number, (*_, counts) in enumerate(steps) if counts] if begun.looks else []
    states, totals, overlaps, means = [], [], [], []
    for first in range(0, asked.chains, TOGETHER):
        betas = tuple(begun.betas[first : first + TOGETHER])
        count, start = len(betas), None
        bundle = Bundle(
            machine.units_count, machine.units, asked.rule, begun.seed, begun.first_chain + first, betas,
            OVERLAP in begun.names,
        )  # fmt: skip
        if begun.initial is not None:
            xp = array_namespace(begun.initial)
            start = xp.take(begun.initial[first : first + count, :], units, axis=1).T
        shapes = [(int(counts), bundle.columns) for *_, counts in steps]
        ends, sums, looked = stepped(
            PartWork(bundle), steps, (tuple(part.units for part in made), (count,)), neighbours,
            [given] * len(steps), shapes, start,
            "graph", looks,
        )  # fmt: skip
        xp, place = array_namespace(ends), host.argsort(units)
        states.append(xp.take(ends, place, axis=0).T)
        if not seen:
            continue
        each = bundle.sums * count
        totals.append(xp.permute_dims(xp.reshape(sums[:, :each], (len(seen), bundle.sums, count)), (2, 0, 1)))
        overlaps.append(sums[:, each:].T / machine.units_count)
        if looked:
            means.append(_means(xp, xp.stack(looked), place, machine.graph))
    found = begun.found(machine, asked, ("unit",), xp.concat(states), seen, xp.concat(totals) if seen else None)
    if seen and OVERLAP in begun.names:
        found[0][OVERLAP] = (("pair", "sweep"), xp.concat(overlaps), about(ABOUT_OVERLAP))
    if means:
        for name, along, values in zip(ABOUT_MEANS, ("unit", "edge"), zip(*means, strict=True), strict=True):
            found[0][name] = (("chain", along), xp.concat(values), about(ABOUT_MEANS[name]))
    return found


def _means(xp: Any, states: Any, place: Any, graph: Graph) -> tuple[Any, Any]:
    """The means of units and of joined pairs, by chains, of states of shape (sweeps, units, chains).

    Parameters
    ----------
    place : array
        Where the states of each unit are.
    """
    count = states.shape[0]
    own, first, second = (xp.take(states, place[which], axis=1) for which in (..., graph.first, graph.second))
    units, pairs = (xp.sum(x, axis=0, dtype=xp.int64).T / count for x in (own, first * second))
    return units, pairs


def divided_chains(machine: EnergyModel, chunks: Any, parts: Any, asked: Asked) -> Any:
    """A dataset of chains in chunks, or in parts; see `GraphMachine.sample`."""
    if chunks is not None and parts is not None:
        raise ValueError("parts must be left out where there are chunks")
    found = chunked_chains(machine, chunks, asked) if parts is None else parted_chains(machine, parts, asked)
    return need("xarray").Dataset(found[0], coords=found[1], attrs=found[2])
