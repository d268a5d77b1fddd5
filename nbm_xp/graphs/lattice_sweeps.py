"""Sweeps and measurements of a lattice's blocks.

Contract: the same bits as `chains.Chains`, for every division into blocks, with and without compiled loops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from nbm_xp.machines import Array
from nbm_xp.namespace import host_namespace, kernel

from .chain_groups import ChainGroup, Schedule, Step
from .chains import Block, Index, Shown, Start
from .energy_model import EnergyModel
from .lattice_blocks import Couplings, LatticeDivision, LatticeMemory, SlotRuns, check_lattice, couplings_of, divided
from .moves import draw
from .observables import STATES, totals
from .terms import Colour, Terms


@dataclass(frozen=True)
class LatticeBlock(Block):
    """A block of a lattice; its states have the shape (chains, block's shape), without the halo.

    Parameters
    ----------
    division : LatticeDivision
    index : tuple of ints
        Index of the block.
    couplings : Couplings
        Couplings of the block and its halo.
    """

    division: LatticeDivision
    index: Index
    couplings: Couplings

    def begin(self, group: ChainGroup, states: Array = None) -> tuple[Array, Shown]:
        """See `Block`."""
        memory, host, kind = self.division.memory(self.index), host_namespace(), group.kind
        if states is None:
            free = replace(group, rule="heat_bath", betas=(0.0,) * group.n_chains)
            sweeps = _sweeps(free, memory, self.couplings)
            flat = host.full((group.n_chains, memory.units), _nothing(group), dtype=host.int8)
            for colour in range(self.division.graph.colour_count):
                sweeps.draw(flat, memory.runs(0, colour), 0)
            states = host.asarray(memory.own(flat), copy=True)
            if not kind.is_categorical:  # the heat bath takes small uniforms to the upper value
                states = sum(kind.values) - states
        return states, self.division.shown(self.index, states)

    def step(self, group: ChainGroup, states: Array, shown: Shown, step: Step) -> tuple[Array, Shown, Array]:
        """Make the sweeps of a step; see `Block`."""
        host, graph, memory = host_namespace(), self.division.graph, self.division.memory(self.index)
        couplings = self.couplings
        padded = host.full((group.n_chains, *memory.padded), _nothing(group), dtype=host.int8)
        flat = memory.flat(self.division.with_halo(self.index, states, shown, padded))
        sweeps = _sweeps(group, memory, couplings)
        clamped, values = (slice(0, 0), 0) if couplings.clamped is None else (couplings.clamped, couplings.values)
        flat[:, clamped] = values
        rows, last = [host.zeros((0, group.columns))], step.sweep + step.n_sweeps
        own = [memory.runs(0, colour) for colour in range(graph.colour_count)] if step.seen else []
        for sweep in range(step.sweep + 1, last + 1):
            for colour in range(graph.colour_count):
                margin = graph.reach * (last - sweep) + graph.colour_count - 1 - colour
                sweeps.draw(flat, memory.runs(margin, colour), sweep)
                flat[:, clamped] = values  # units of a colour are not neighbours
            if sweep in step.seen:
                rows.append(_measured(group, sweeps, memory, own, flat))
        states = host.asarray(memory.own(flat), copy=True)
        return states, self.division.shown(self.index, states), host.concat(rows)

    def arrays(self) -> dict[str, Array]:
        """See `Block`."""
        return {name: value for name, value in vars(self.couplings).items() if value is not None}


def _nothing(group: ChainGroup) -> int:
    """Return the value of positions without a unit; it adds 0 to all sums."""
    return -1 if group.kind.is_categorical else 0


def _measured(group: ChainGroup, sweeps: Any, memory: LatticeMemory, runs: Sequence[SlotRuns], flat: Array) -> Array:
    """Measure a block's own units; `runs` are those of each colour.

    An edge belongs to its unit of the greater colour, whose neighbours of lesser colours are up to date in the halo.
    """
    host, colours = host_namespace(), len(runs)
    own = host.reshape(memory.own(flat), (group.n_chains, -1)).T if "overlap" in group.names else flat
    found: Any = 0.0
    flat = host.asarray(flat, copy=True) if colours > 2 else flat
    for colour in reversed(range(colours)):
        pairs, alone, *sums = sweeps.sums(flat, runs[colour])
        found = found + host.stack([-(alone + pairs * (colour > 0)), *sums])
        if colour > 1:
            flat[:, memory.runs(1, colour).each()[0]] = _nothing(group)
    return group.measured(found[0], own, found[1:])


def _sweeps(group: ChainGroup, memory: LatticeMemory, couplings: Couplings) -> Any:
    """Return the object that draws and measures a block's units, compiled if possible."""
    own = None if group.kind.is_categorical else kernel("graphs.Bricks", host_namespace())
    return (own or PortableSweeps)(group, memory, couplings)


class PortableSweeps:
    """Draws and measures a block's units by the functions of `moves`."""

    def __init__(self, group: ChainGroup, memory: LatticeMemory, couplings: Couplings) -> None:
        self.group, self.memory, self.couplings = group, memory, couplings

    @cached_property
    def fields(self) -> Array:
        """Fields of all positions, of shape (units, 1 or values)."""
        fields, units = self.couplings.fields, self.memory.units
        return host_namespace().broadcast_to(fields, (*(fields.shape[:1] or (1,)), units)).T

    def _colour(self, runs: SlotRuns) -> tuple[Array, Colour]:
        """Return the positions of runs, and their neighbours, couplings and fields as a `Colour`."""
        host, axes, couplings = host_namespace(), len(self.memory.size), self.couplings
        places, odd = runs.each()
        neighbours = places[:, None, None] + self.memory.steps[odd]
        if couplings.multiples is None:
            weights = host.full(neighbours.shape, couplings.unit)
        else:  # edges are stored at their first units
            owner = host.where(host.asarray([True, False]), places[:, None, None], neighbours)
            weights = couplings.unit * host.astype(couplings.multiples[host.arange(axes)[:, None], owner], host.float64)
        count = places.shape[0]
        edges = Terms(count, host.reshape(neighbours, (-1,)), host.reshape(weights, (-1, 1)), 2 * axes)
        return places, Colour(0, count, self.fields[places, :], (edges,))

    def draw(self, flat: Array, runs: SlotRuns, sweep: int) -> None:
        """Draw the units of runs, in place."""
        if runs.places.shape[0]:
            uniforms = self.group.uniforms(runs.slots, sweep, runs.counts)
            draw(self.group, flat.T, *self._colour(runs), uniforms)

    def sums(self, flat: Array, runs: SlotRuns) -> Array:
        """Sum over the units of runs, for each chain: the terms of edges, those of fields, and `totals`."""
        host, kind = host_namespace(), self.group.kind
        places, colour = self._colour(runs)
        (edges,) = colour.terms
        own, around = flat.T[places], flat.T[edges.others]
        beside = host.repeat(own, 2 * len(self.memory.size), axis=0)
        if kind.is_categorical:
            near = around == beside
            alone = host.take_along_axis(colour.fields, host.astype(own, host.int64), axis=1)
        else:
            near, alone = around * beside, colour.fields * own
        pairs = host.sum(host.astype(near, host.float64) * edges.couplings, axis=0)
        found = host.stack([pairs, host.sum(alone, axis=0)])
        return host.concat([found, host.astype(totals(host, kind, own), host.float64)])


def lattice_block(division: LatticeDivision, index: Index, whole: Couplings) -> LatticeBlock:
    """Return a block of a lattice with the given couplings of the whole lattice."""
    return LatticeBlock(division, index, whole.of(division.memory(index)))


def lattice_blocks(
    machine: EnergyModel, chunks: Any, start: Start, schedule: Schedule
) -> tuple[LatticeDivision, dict[Index, LatticeBlock]]:
    """Return the division of a machine's lattice into blocks, and the blocks; see `GraphMachine.sample`.

    If means of states are observed, each measured sweep is the last sweep of a task.

    Raises
    ------
    ValueError
        If the graph is not a lattice, or the chunks are invalid.
    """
    graph = check_lattice(machine)
    division = divided(graph.shape, graph.periodic, chunks)
    if set(start.group.names) & set(STATES):
        most, whole = division.sweeps_at_once, math.gcd(schedule.burn_in, schedule.thin)
        division = replace(division, at_once=max(k for k in range(1, most + 1) if whole % k == 0))
    couplings = couplings_of(machine, start.clamp)
    return division, {index: lattice_block(division, index, couplings) for index in division.blocks}
