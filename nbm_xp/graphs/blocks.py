"""Graphs divided into blocks: interfaces of divisions and blocks, and chains as Dask tasks.

Contract: the same bits as the undivided chains, for every division and every scheduler. A block has its own units and a
halo: the units of other blocks on which its own units depend. A task makes one step of a block and returns, for each
neighbour, the states that this neighbour needs in the next step. Dask and runs on disk use the same blocks.
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

Index: TypeAlias = tuple[int, ...]  # index of a block along each axis of the division

Shown: TypeAlias = dict[Index, Array]  # halo states that a block sends to, or receives from, each of its neighbours


class Block:
    """A block of a graph with its halo; its methods are pure functions of the states."""

    def begin(self, group: ChainGroup, states: Array = None) -> tuple[Array, Shown]:
        """Return the initial states, and what is shown to the neighbours.

        States are random if None, else given with the shape (chains, block's shape).
        """
        raise NotImplementedError

    def step(self, group: ChainGroup, states: Array, shown: Shown, step: Step) -> tuple[Array, Shown, Array]:
        """Make a step; return states, what is shown to neighbours, and measurements of shape (measured, columns)."""
        raise NotImplementedError

    def array(self, group: ChainGroup, states: Array) -> Array:
        """Return the states of the block's own units, of shape (chains, block's shape)."""
        raise NotImplementedError

    def arrays(self) -> dict[str, Array]:
        """Return the block's arrays by name, as they are stored in files."""
        raise NotImplementedError


class Division:
    """A division of a graph into blocks.

    Attributes
    ----------
    name : str
        Prefix of task names.
    axes : tuple of str
        Names of the axes of states.
    together : int
        Number of chains per task; at least 2 where pairs of chains are measured.
    chunks : tuple of tuples of ints
        Lengths of the blocks along each axis.
    sweeps_at_once, colours : int
        Number of sweeps per step, and number of steps per sweep; one of them is 1.
    """

    name: ClassVar[str]
    axes: tuple[str, ...]
    together: ClassVar[int]
    chunks: tuple[tuple[int, ...], ...]
    sweeps_at_once: int = 1
    colours: int = 1

    @property
    def blocks(self) -> list[Index]:
        """Indices of all blocks, in C order."""
        return list(itertools.product(*(range(len(sizes)) for sizes in self.chunks)))

    def neighbours(self, block: Index) -> list[Index]:
        """Return the blocks with which a block exchanges halos."""
        raise NotImplementedError

    def n_steps(self, schedule: Schedule) -> int:
        """Return the number of steps of a schedule."""
        return -(-schedule.total // self.sweeps_at_once) * self.colours

    def step(self, schedule: Schedule, number: int) -> Step:
        """Return a step of a schedule by its number."""
        return schedule.step(number, self.sweeps_at_once, self.colours)

    def by_unit(self, states: Array) -> Array:
        """Reorder states, of shape (chains, …), from the order of blocks to the order of units."""
        return states

    def by_block(self, states: Array) -> Array:
        """Reorder states from the order of units to the order of blocks."""
        return states


def blocked_chains(
    machine: EnergyModel, division: Division, blocks: Mapping[Index, Block], start: Start, schedule: Schedule
) -> Variables:
    """Return the last states and the observables of chains in blocks as lazy Dask arrays."""
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
