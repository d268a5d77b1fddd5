"""Chains of a graph in parts: laid out as tasks, computed when somebody asks, on threads or a cluster.

Contract: the bits of the undivided chains, whatever the parts and whoever computes them. A task draws one colour of one
part, in some chains that run together, after the parts near have shown what they drew before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from nbm_xp.namespace import array_namespace, host_namespace
from nbm_xp.namespace.needs import need
from nbm_xp.namespace.stepping import stepped

from .chunked import chunked_chains
from .energy_model import EnergyModel
from .lazily import Asked, Found, begun_lazily, checked_rule
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
    begun = begun_lazily(machine, asked, (machine.units_count,), "parts")
    made = partitioned(layout, numbers_of_parts(layout, parts))
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
    states, totals = [], []
    for first in range(0, asked.chains, TOGETHER):
        betas = tuple(begun.betas[first : first + TOGETHER])
        count, start = len(betas), None
        bundle = Bundle(
            machine.units_count, machine.units, asked.rule, begun.seed, begun.first_chain + first, betas
        )  # fmt: skip
        if begun.initial is not None:
            xp = array_namespace(begun.initial)
            start = xp.take(begun.initial[first : first + count, :], units, axis=1).T
        shapes = [(int(counts), count * bundle.sums) for *_, counts in steps]
        ends, sums = stepped(
            PartWork(bundle), steps, (tuple(part.units for part in made), (count,)), neighbours,
            [given] * len(steps), shapes, start,
            "graph",
        )  # fmt: skip
        xp = array_namespace(ends)
        states.append(xp.take(ends, host.argsort(units), axis=0).T)
        if seen:
            totals.append(xp.permute_dims(xp.reshape(sums, (len(seen), bundle.sums, count)), (2, 0, 1)))
    return begun.found(machine, asked, ("unit",), xp.concat(states), seen, xp.concat(totals) if seen else None)


def divided_chains(machine: EnergyModel, chunks: Any, parts: Any, asked: Asked) -> Any:
    """A dataset of chains in chunks, or in parts; see `GraphMachine.sample`."""
    if chunks is not None and parts is not None:
        raise ValueError("parts must be left out where there are chunks")
    found = chunked_chains(machine, chunks, asked) if parts is None else parted_chains(machine, parts, asked)
    return need("xarray").Dataset(found[0], coords=found[1], attrs=found[2])
