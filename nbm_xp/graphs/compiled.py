"""Kernels of machines on graphs for NumPy arrays, by the compiled core.

They give the same bits as the portable functions of `nbm_xp.graphs`, which are used where a kernel returns None.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from nbm_xp.machines import Array
from nbm_xp.machines.units import Units
from nbm_xp.namespace.core import functions
from nbm_xp.namespace.mrg31k3p.integers import transition
from nbm_xp.namespace.mrg31k3p.numpy_draws import number_by_number

from .adjacency import Rows
from .chain_groups import LANES, ChainGroup, Step
from .lattice_blocks import Couplings, LatticeMemory, SlotRuns
from .layout import Layout, multiples_of
from .shards import Shard

RULES: Final = {"heat_bath": 0, "metropolis": 1}
_ALL_FREE, NO_MULTIPLES, _NO_RUNS, NO_LEVELS, _NO_COUPLINGS = (
    np.empty(0, kind) for kind in ("bool", "int8", "int64", "int32", "float64")
)
_WORTH_A_RUN: Final = 8  # least average length of runs, in slots, for which runs are used
MOST_SUM: Final = 2000  # largest sum of multiples for which a table is made
_FEW_LEVELS: Final = 8  # largest number of levels that are compared in sequence; with more, the table is indexed


def rows(units: int, first: Array, second: Array) -> Array:
    """See `nbm_xp.graphs.adjacency.neighbour_rows`."""
    begins, neighbours = np.empty(units + 1, np.int64), np.empty(2 * first.size, np.int32)
    edges = np.empty_like(neighbours)
    ends = (np.require(x, np.int32, "C") for x in (first, second))
    functions["graph_rows"](*ends, begins, neighbours, edges)
    return begins, neighbours, edges


def reordered(order: Array, slots: Array, rows: Rows, first: Array, second: Array) -> Array:
    """See `nbm_xp.graphs.adjacency.reordered_rows`."""
    found = tuple(map(np.empty_like, rows))
    functions["graph_reordered"](order, slots, *rows, *found)
    return found


def colours(begins: Array, neighbours: Array) -> tuple[Any, tuple[int, int] | None]:
    """Colour units greedily; return the colours, and the units of a repeated edge or None."""
    units = begins.size - 1
    found, seen, used = np.empty(units, np.int32), np.full(units, -1, np.int32), np.full(units + 1, -1, np.int32)
    place = functions["graph_colours"](begins, neighbours, found, seen, used)
    if place < 0:
        return found, None
    unit = int(np.searchsorted(begins, place, side="right")) - 1
    return found, (min(unit, int(neighbours[place])), max(unit, int(neighbours[place])))


def _along_runs(layout: Layout) -> tuple[Array, Array]:
    """Return couplings in the order of runs, and the runs, if these are long; else the couplings, and no runs."""
    kept = layout.kept.get("runs")
    if kept is None:
        kept, found = (layout.couplings, _NO_RUNS), np.empty(layout.units + 1, np.int64)
        count = functions["graph_runs"](np.asarray(layout.ends, np.int64), layout.begins, layout.neighbours, found)
        if count * _WORTH_A_RUN <= layout.units:
            kept = np.empty_like(layout.couplings), found[: count + 1].copy()
            functions["graph_by_run"](kept[1], layout.begins, layout.couplings, kept[0])
        layout.kept["runs"] = kept
    return kept


def _loops_of(layout: Layout, values: Units, single: bool) -> tuple[Array, Array, Array, float, int, int]:
    """Return the arguments of the loops for a layout; they are cached. Runs are used for a single chain only.

    Returns
    -------
    couplings, multiples, runs : arrays
        Couplings, in the order of runs if there are runs, and as small multiples of `unit`; empty if impossible.
    unit, most, stride : float, int, int
        Largest sum of multiples, and distance of the sums.
    """
    kept = layout.kept.get(("loops", values, single))
    if kept is not None:
        return kept  # type: ignore[no-any-return]
    couplings, runs = _along_runs(layout) if single else (layout.couplings, _NO_RUNS)
    multiples, unit, most, degrees = None, 0.0, 0, np.diff(layout.begins)
    if bool((layout.fields == layout.fields[0]).all()):
        unit, multiples = multiples_of(couplings)
    if multiples is not None:
        sizes = np.add.reduceat(np.append(np.rint(np.abs(layout.couplings) / unit), 0.0), layout.begins[:-1])
        most = int(np.where(degrees == 0, 0, sizes).max())
    if multiples is None or not 0 < most <= MOST_SUM:
        multiples = NO_MULTIPLES
    # all sums have the same parity: every second level does not occur
    odd = values.least == -1 and multiples.size and (multiples % 2 != 0).all() and (degrees % 2 == most % 2).all()
    kept = layout.kept["loops", values, single] = couplings, multiples, runs, unit, most, 2 if odd else 1
    return kept


def table_of(
    most: int, stride: int, unit: float, field: float, values: Units, metropolis: bool, beta: Array
) -> tuple[Array, Array]:
    """Return the levels of integer sums and, for each, the largest 31-bit integer for which the draw succeeds.

    Success is the upper value for the heat bath. For Metropolis it is a change of the value, with a table for each of
    the two values.

    Parameters
    ----------
    most, stride : int
        Largest sum, and distance of the sums.
    unit, field : float
        The local field of a sum s is ``s * unit + field``.
    """
    few = (2 * most) // stride <= _FEW_LEVELS
    sums = np.arange(-most, most + 1, stride if few else 1)
    local = sums[:, None] * unit + field
    betas = beta.reshape(1, -1)
    x = (betas[:, : 1 if (betas == betas[0, 0]).all() else None] * values.step) * local  # alike: of one chain
    tables = [x, -x] if metropolis else [-x]
    made = []
    for exponent in tables:
        power = np.ascontiguousarray(exponent)
        functions["exp"](power.reshape(-1))
        p = np.minimum(power, 1.0) if metropolis else 1.0 / (1.0 + power)
        made.append(np.ceil(p * 2.0**31) - 1.0)
    levels = sums[1:].astype(np.int32) if few else np.empty(0, np.int32)
    table = np.concatenate(made).astype(np.int32)
    return levels, np.repeat(table, betas.shape[1] // table.shape[1], axis=1)


def _rule_of(layout: Layout, values: Units, rule: str, beta: Array, single: bool = False) -> tuple[Array, ...]:
    """Return couplings, multiples, runs, levels and table for a rule; arrays that do not apply are empty."""
    if values.is_categorical:
        return np.ravel(layout.couplings), NO_MULTIPLES, _NO_RUNS, NO_LEVELS, NO_LEVELS
    couplings, multiples, runs, unit, most, stride = _loops_of(layout, values, single)
    levels = NO_LEVELS, NO_LEVELS
    if multiples.size:
        levels = table_of(most, stride, unit, layout.fields[0], values, rule == "metropolis", beta)
    return couplings, multiples, runs, *levels


def sweeps(
    layout: Layout, values: Units, rule: str, states: Array, streams: Array, beta: Array, free: Any, count: int
) -> tuple[Array, Array]:
    """Make sweeps; return the states and the streams' states."""
    spins = np.array(states, order="C")
    numbers = np.array(number_by_number(streams, streams.shape[0]))
    couplings, multiples, runs, levels, table = _rule_of(layout, values, rule, beta, states.shape[1] == 1)
    functions["graph_sweeps"](
        np.asarray(layout.ends, np.int64), layout.begins, layout.neighbours, couplings, multiples, layout.fields,
        _ALL_FREE if free is None else free, beta.reshape(-1) * values.step, runs, levels, table, spins, numbers,
        count, RULES[rule], values.least, int(values.step), values.count if values.is_categorical else 0,
    )  # fmt: skip
    return spins, numbers.view(np.int32).T


def energies(states: Array, layout: Layout, values: Units) -> Array:
    """See `nbm_xp.graphs.layout.energies`."""
    found = np.empty(states.shape[1])
    couplings, spins = np.ravel(layout.couplings), np.ascontiguousarray(states)
    given = (layout.begins, layout.neighbours, couplings, layout.fields, spins, found)
    if values.is_categorical:
        functions["potts_energies"](*given, values.count)
    else:
        functions["graph_energies"](*given)
    return found


def roots(joined: Array, layout: Layout) -> Array:
    """See `nbm_xp.graphs.layout.roots_of`."""
    found, one = np.empty((layout.units, joined.shape[1]), np.int32), np.empty(layout.units, np.int32)
    for chain in range(joined.shape[1]):
        some = joined[:, chain]
        functions["graph_roots"](layout.first[some], layout.second[some], one)
        found[:, chain] = one
    return found


def words(
    layout: Layout, states: Array, shared: Array, own: Array, bounds: list[int], count: int
) -> tuple[Array, Array]:
    """Make multi-spin sweeps; return the states, and the states of the shared streams. See `nbm_xp.graphs.moves`."""
    units, chains = states.shape
    lanes, groups = shared.shape[0] // (chains // 64), chains // 64
    together = np.array(number_by_number(shared, shared.shape[0])).reshape(6, lanes, groups)
    alone = number_by_number(own, own.shape[0]).reshape(6, lanes, chains)
    couplings, runs = _along_runs(layout)
    degree, negative = int(layout.begins[1]), (couplings < 0).astype(np.int8)
    neighbours = layout.neighbours
    if runs.size:
        neighbours = np.ascontiguousarray(neighbours.reshape(-1, degree)[runs[:-1]])
    out, moved = np.empty_like(states), np.empty_like(together)
    for group in range(groups):
        part = slice(64 * group, 64 * group + 64)
        packed = np.packbits(states[:, part] > 0, axis=1, bitorder="little").view("<u8").reshape(-1).astype(np.uint64)
        streams = np.ascontiguousarray(together[:, :, group])
        functions["graph_words"](
            np.asarray(layout.ends, np.int64), degree, neighbours, negative, np.asarray(bounds, np.int64), packed,
            streams, np.ascontiguousarray(alone[:, :, part]), runs, count,
        )  # fmt: skip
        moved[:, :, group] = streams
        bits = np.unpackbits(packed.astype("<u8").view(np.uint8).reshape(units, 8), axis=1, bitorder="little")
        out[:, part] = (2 * bits).view(np.int8) - 1
    return out, moved.reshape(6, -1).view(np.int32).T


@lru_cache(maxsize=8)
def _lanes(group: ChainGroup) -> Array:
    """Return the initial states of the chains' streams, of shape (6, lanes * chains)."""
    return np.array(number_by_number(group.streams, group.streams.shape[0]))


@lru_cache(maxsize=4096)
def _jump(steps: int) -> Array:
    return np.asarray(transition(steps), np.uint32).reshape(-1)


def _jumps(rows: Array) -> tuple[Array, Array]:
    """Return for each row the number of the jump that leads to it from the row before (0 steps at first); the jumps."""
    apart, which = np.unique(np.diff(rows, prepend=rows[0]), return_inverse=True)
    return which.astype(np.int64, copy=False), np.concatenate([_jump(int(steps)) for steps in apart])


def _row(steps: int) -> Array:
    """Return the rows of the transition matrices that give the output after a number of steps."""
    first, second = transition(steps + 1)
    return np.asarray((*first[0], *second[0]), np.uint32)


class Bricks:
    """Draws and measures a lattice's block: see `nbm_xp.graphs.lattice_sweeps.PortableSweeps`."""

    def __init__(self, group: ChainGroup, memory: LatticeMemory, couplings: Couplings) -> None:
        self.group, self.steps = group, memory.steps.reshape(-1)
        multiples, fields, axes = couplings.multiples, couplings.fields, len(memory.size)
        self.unit, self.fields = float(couplings.unit), fields.reshape(-1)
        self.field = 0.0 if fields.ndim else float(fields)
        betas, values = np.asarray(group.betas), group.kind
        self.scales = betas * values.step
        self.levels, table = NO_LEVELS, np.empty((0, group.n_chains), np.int32)
        whole = np.ones(1, np.int8) if multiples is None else multiples.reshape(-1)
        most = 2 * axes * max(int(whole.max()), -int(whole.min())) if whole.dtype == np.int8 else 0
        if 0 < most <= MOST_SUM and not fields.ndim:
            self.multiples, self.couplings = NO_MULTIPLES if multiples is None else whole, _NO_COUPLINGS
            # all sums have the same parity: every second sum does not occur
            odd = values.least == -1 and all(memory.graph.periodic) and bool((whole & 1).all())
            metropolis = group.rule == "metropolis"
            self.levels, table = table_of(most, 2 if odd else 1, self.unit, self.field, values, metropolis, betas)
        else:  # sums in double precision
            whole = np.full(axes * memory.units, self.unit) if multiples is None else whole * self.unit
            self.multiples, self.couplings, self.unit = NO_MULTIPLES, whole.astype(np.float64, copy=False), 1.0
        self.tables = np.ascontiguousarray(table.T)

    def draw(self, flat: Array, runs: SlotRuns, sweep: int) -> None:
        """Draw the units of runs, in place."""
        if not runs.places.size:
            return
        begins = self.group.begins(runs.slots, sweep)
        rows = begins // LANES
        which, jumps = _jumps(rows)
        lanes = _lanes(self.group).reshape(6, LANES, -1)
        for chain, states in enumerate(flat):
            functions["graph_brick"](
                runs.places, runs.counts, begins, runs.odd, which, jumps, _row(int(rows[0])),
                np.ascontiguousarray(lanes[:, :, chain]).reshape(-1), self.steps, self.multiples, self.couplings,
                self.fields, self.scales[chain : chain + 1], self.levels, self.tables[chain], states,
                RULES[self.group.rule], self.group.kind.least, int(self.group.kind.step),
            )  # fmt: skip

    def sums(self, flat: Array, runs: SlotRuns) -> Array:
        """Sum over the units of runs, for each chain: the terms of edges, those of fields, and the values."""
        found = np.zeros((flat.shape[0], 3))
        for states, sums in zip(flat, found, strict=True):
            functions["graph_brick_sums"](
                runs.places, runs.counts, runs.odd, self.steps, self.multiples, self.couplings, self.fields, states,
                sums,
            )  # fmt: skip
        alone = found[:, 1] if self.fields.size > 1 else self.field * found[:, 2]
        return np.stack([found[:, 0] * self.unit, alone, found[:, 2]])


def part(group: ChainGroup, shard: Shard, whole: Array, here: slice, step: Step) -> None:
    """Draw the units of a colour of a shard, in place: see `nbm_xp.graphs.shards`."""
    values, layout, slots = group.kind, shard.layout, shard.slots[here]
    if not slots.size:
        return
    if ("jumps", step.colour) not in layout.kept:
        which, jumps = _jumps(slots // LANES)
        layout.kept["jumps", step.colour] = which.astype(np.int32), jumps
    which, jumps = layout.kept["jumps", step.colour]
    row = _row((step.sweep + 1) * group.numbers.steps + int(slots[0]) // LANES)
    beta = np.asarray([group.betas])
    couplings, multiples, _, levels, table = _rule_of(layout, values, group.rule, beta)
    functions["graph_part"](
        slots, which, jumps, row, _lanes(group).reshape(-1), layout.begins, layout.neighbours, couplings, multiples,
        layout.fields, beta.reshape(-1) * values.step, levels, table, whole, here.start, RULES[group.rule],
        values.least, int(values.step), values.count if values.is_categorical else 0,
    )  # fmt: skip
