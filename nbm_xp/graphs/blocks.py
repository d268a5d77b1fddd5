"""Graphs divided into blocks: what a division and its blocks are, and their chains as tasks for Dask.

Contract: the bits of the undivided chains, however a graph is divided and whoever computes the blocks. A block has its
own units and a halo, the units of other blocks that its own depend on; a task takes it a step on, and gives each
neighbour what that needs for the next one. Dask and runs on disk drive the same blocks.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import ClassVar, TypeAlias

from nbm_xp.machines import Array
from nbm_xp.namespace import array_namespace
from nbm_xp.namespace.blocks import stepped

from .chain_groups import ChainGroup, Schedule, Step, series_variables
from .chains import Start
from .energy_model import EnergyModel
from .observables import StateMeans, Variables, about

__all__ = ["Block", "Division", "Index", "Shown", "blocked_chains"]

Index: TypeAlias = tuple[int, ...]
"""The place of a block."""

Shown: TypeAlias = dict[Index, Array]
"""What a block shows each of its neighbours; or what each of them shows it."""


class Block:
    """A part of a graph with its halo: pure steps from states to states, which lie in one array."""

    def begin(self, group: ChainGroup, states: Array = None) -> tuple[Array, Shown]:
        """The states that chains start from, random ones or those of shape (chains, block's shape); what is shown."""
        raise NotImplementedError

    def step(self, group: ChainGroup, states: Array, shown: Shown, step: Step) -> tuple[Array, Shown, Array]:
        """Go a step on: states, what is shown, and what was measured, of shape (measured, columns)."""
        raise NotImplementedError

    def array(self, group: ChainGroup, states: Array) -> Array:
        """The states of the block's own units, of shape (chains, block's shape)."""
        raise NotImplementedError

    def arrays(self) -> dict[str, Array]:
        """All of it by name, as files have it."""
        raise NotImplementedError


class Division:
    """How a graph is divided into blocks.

    Attributes
    ----------
    name : str
        Of tasks.
    axes : tuple of str
        The names of the axes of states.
    together : int
        How many chains run together, if not two by two.
    chunks : tuple of tuples of ints
        The lengths of blocks along each axis.
    sweeps_at_once, colours : int
        How many sweeps a step makes, and how many steps a sweep takes.
    """

    name: ClassVar[str]
    axes: tuple[str, ...]
    together: ClassVar[int]
    chunks: tuple[tuple[int, ...], ...]
    sweeps_at_once: int = 1
    colours: int = 1

    @property
    def blocks(self) -> list[Index]:
        """The places of all blocks, in C order."""
        return list(itertools.product(*(range(len(sizes)) for sizes in self.chunks)))

    def neighbours(self, block: Index) -> list[Index]:
        """The other blocks of which a block needs something, and which need something of it."""
        raise NotImplementedError

    def n_steps(self, schedule: Schedule) -> int:
        """How many steps a block takes."""
        return -(-schedule.total // self.sweeps_at_once) * self.colours

    def step(self, schedule: Schedule, number: int) -> Step:
        """What a step is."""
        return schedule.step(number, self.sweeps_at_once, self.colours)

    def by_unit(self, states: Array) -> Array:
        """States of shape (chains, …) in the order of blocks, in that of units."""
        return states

    def by_block(self, states: Array) -> Array:
        """States in the order of units, in that of blocks."""
        return states


def blocked_chains(
    machine: EnergyModel, division: Division, blocks: Mapping[Index, Block], start: Start, schedule: Schedule
) -> Variables:
    """Lay chains out as tasks of Dask's: the last states and what is observed, of which nothing is computed."""
    near = {block: division.neighbours(block) for block in blocks}
    steps = [division.step(schedule, number) for number in range(division.n_steps(schedule))]
    states, means = start.states, StateMeans(machine, start.group.names)
    observed = [number for number, step in enumerate(steps) if step.seen] if means.observables else []
    if states is not None:
        xp = array_namespace(states)
        states = division.by_block(xp.reshape(states, (start.group.n_chains, *map(sum, division.chunks))))
    groups, made = start.group.divided(division.together), []
    for group in groups:
        first = group.first_chain - start.group.first_chain
        some = None if states is None else states[first : first + group.n_chains, ...]
        shapes = [(len(step.seen), group.columns) for step in steps]
        chunks = (group.n_chains,), *division.chunks
        made.append(stepped(group, blocks, near, steps, chunks, shapes, some, division.name, observed))
    xp = array_namespace(made[0][0])
    last = division.by_unit(xp.concat([ends for ends, *_ in made]))
    found: Variables = {"state": (("chain", *division.axes), last, about("last states"))}
    if not schedule.seen:
        return found
    for each in zip(*(looked for *_, looked in made), strict=True):
        seen = xp.moveaxis(division.by_unit(xp.concat(list(each))), 0, -1)
        means.see(xp, xp.reshape(seen, (*machine.state_shape, -1)) if len(division.axes) == 1 else seen)
    return found | series_variables(groups, [columns for _, columns, _ in made]) | means.variables(division.axes)
