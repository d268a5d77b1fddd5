"""Graphs divided into shards: each shard's units, with its halo, their neighbours in other shards.

Contract: the same bits as `chains.Chains`, for every division into shards, with and without compiled loops. A task
draws one colour of one shard in a group of chains, after the neighbouring shards have drawn the colour before. A
shard's own units come first, in increasing order of slots, so the units of a colour are contiguous; then the halo,
ordered by shard and slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Final

from nbm_xp.machines import Array
from nbm_xp.namespace import array_namespace, host_namespace, is_array, kernel
from nbm_xp.namespace.errors import positive_int
from nbm_xp.package import is_there, need

from .adjacency import in_runs
from .chain_groups import ChainGroup, Step
from .chains import Block, Division, Index, Shown
from .energy_model import Clamp, EnergyModel
from .graph import on_host
from .layout import Layout, energies
from .moves import draw

AT_ONCE: Final = 2**20  # number of initial states drawn at a time, which bounds the memory of temporary arrays
FREE: Final = -128  # marks a unit that is not clamped in `Shard.clamped`


@dataclass(frozen=True, eq=False)
class ShardDivision(Division):
    """A division of a graph into shards.

    Parameters
    ----------
    near : array
        bool, of shape (shards, shards): whether an edge joins two shards.
    sizes : array
        Number of units of each shard.
    order : array
        Units in the order of shards.
    colours : int
        Number of colours of a sweep.
    """

    near: Array
    sizes: Array
    order: Array
    colours: int

    name, axes = "graph", ("unit",)
    together = 64  # the states of a unit fill a cache line

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:  # type: ignore[override]
        """See `Division`."""
        return (tuple(self.sizes.tolist()),)

    def neighbours(self, block: Index) -> list[Index]:
        """See `Division`."""
        return [(other,) for other in host_namespace().nonzero(self.near[block[0]])[0].tolist()]

    def arrays(self) -> dict[str, Array]:
        """See `Division`."""
        return {field.name: host_namespace().asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> ShardDivision:
        """Construct a division from the result of `arrays`."""
        return cls(arrays["near"], arrays["sizes"], arrays["order"], int(arrays["colours"]))

    def by_unit(self, states: Array) -> Array:
        """See `Division`."""
        return array_namespace(states).take(states, host_namespace().argsort(self.order), axis=1)

    def by_block(self, states: Array) -> Array:
        """See `Division`."""
        return array_namespace(states).take(states, self.order, axis=1)


@dataclass(frozen=True, eq=False)
class Shard(Block):
    """A shard of a graph, with its halo.

    States have the shape (units, chains): the own units in the beginning, and own units and halo after a step.

    Parameters
    ----------
    colour_ends : array
        End of each colour among the slots of the whole graph.
    slots, halo : array
        int64: slots in the whole graph of the shard's units, and of its halo.
    begins, neighbours, couplings : array
        Adjacency of the units in compressed rows; neighbours are indices into the units followed by the halo.
    fields : array
        Fields of the units.
    near, halo_ends : array
        Neighbouring shards, and the end of each shard's units in the halo.
    shown, shown_ends : array
        Indices of the units that each neighbouring shard needs, and the end of each shard's part.
    clamped : array
        int8: value of each clamped unit, and `FREE` for other units.
    """

    colour_ends: Array
    slots: Array
    halo: Array
    begins: Array
    neighbours: Array
    couplings: Array
    fields: Array
    near: Array
    halo_ends: Array
    shown: Array
    shown_ends: Array
    clamped: Array

    @property
    def units(self) -> int:
        """Number of own units."""
        return int(self.slots.shape[0])

    def of_colour(self, slots: Array, colour: int | None) -> slice:
        """Return the range of a colour in increasing slots; the whole range if the colour is None."""
        if colour is None:
            return slice(0, slots.shape[0])
        ends = self.colour_ends[max(0, colour - 1) : colour + 1]
        begin, end = (0, *host_namespace().searchsorted(slots, ends).tolist())[-2:]
        return slice(begin, end)

    @cached_property
    def layout(self) -> Layout:
        """Layout of the own units; neighbours may be in the halo."""
        none, ends = self.neighbours[:0], tuple(host_namespace().searchsorted(self.slots, self.colour_ends).tolist())
        return Layout(
            self.slots, ends, self.begins, self.neighbours, none, none, none, None, self.couplings,
            self.couplings[:0], fields=self.fields,
        )  # fmt: skip

    @cached_property
    def lower(self) -> Layout:
        """Layout for energies: each edge is in the shard of its unit of the greater colour; `couplings` are doubled."""
        host = host_namespace()
        owner = host.repeat(host.arange(self.units), self.begins[1:] - self.begins[:-1])
        colours = host.searchsorted(self.colour_ends, host.concat([self.slots, self.halo]), side="right")
        below = host.reshape(colours[self.neighbours] < colours[owner], (-1, *(1 for _ in self.couplings.shape[1:])))
        weights = host.where(below, self.couplings, 0.0)
        fields = host.concat([self.fields, host.zeros((self.halo.shape[0], *self.fields.shape[1:]))])
        return replace(
            self.layout, couplings=2.0 * weights, first=self.neighbours, second=owner, weights=weights, fields=fields
        )

    def begin(self, group: ChainGroup, states: Array = None) -> tuple[Array, Shown]:
        """See `Block`."""
        host = host_namespace()
        if states is None:
            states = host.empty((self.units, group.n_chains), dtype=host.int8)
            every = max(1, AT_ONCE // group.n_chains)
            for k in range(0, self.units, every):
                some = slice(k, k + every)
                states[some] = group.kind.uniform_states(host, group.uniforms(self.slots[some], 0))
        else:
            states = host.asarray(states.T, copy=True, order="C")
        self._clamp(states, slice(None))
        return states, self._shows(states, None)

    def step(self, group: ChainGroup, states: Array, shown: Shown, step: Step) -> tuple[Array, Shown, Array]:
        """Draw the units of a colour; measure if the step requires it, which is after the last colour of a sweep."""
        host, colour, colours = host_namespace(), step.colour, self.colour_ends.shape[0]
        whole = host.empty((self.units + self.halo.shape[0], group.n_chains), dtype=host.int8)
        whole[: states.shape[0]] = states
        before = (colour - 1) % colours if states.shape[0] == whole.shape[0] else None  # all at first
        for other, begin, end in _parts(self.near, self.halo_ends):
            here = self.of_colour(self.halo[begin:end], before)
            rows = slice(self.units + begin + here.start, self.units + begin + here.stop)
            whole[rows] = shown[other]
        here = self.of_colour(self.slots, colour)
        own = kernel("graphs.part", host)
        if own is not None:
            own(group, self, whole, here, step)
        elif here.start < here.stop:
            around = self.layout.on(host).colours[colour]
            draw(group, whole, here, around, group.uniforms(self.slots[here], step.sweep + 1))
        self._clamp(whole, here)  # units of a colour are not neighbours
        measured = host.zeros((0, group.columns))
        if step.seen:
            measured = group.measured(energies(whole, self.lower, group.kind), whole[: self.units])
        return whole, self._shows(whole, colour), measured

    def array(self, states: Array) -> Array:
        """See `Block`."""
        return states[: self.units].T

    def _shows(self, states: Array, colour: int | None) -> Shown:
        """Return the states of a colour's units that each neighbouring shard needs."""
        found: Shown = {}
        for other, begin, end in _parts(self.near, self.shown_ends):
            places = self.shown[begin:end]
            found[other] = states[places[self.of_colour(self.slots[places], colour)]]
        return found

    def _clamp(self, states: Array, here: slice) -> None:
        """Set the clamped units within a range of own units to their values, in place."""
        clamped = self.clamped[here]
        places = host_namespace().nonzero(clamped != FREE)[0]
        states[here][places] = clamped[places, None]

    def arrays(self) -> dict[str, Array]:
        """See `Block`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __getstate__(self) -> dict[str, Any]:
        return self.arrays()


def _parts(near: Array, ends: Array) -> Iterator[tuple[Index, int, int]]:
    """Yield the index of each neighbouring shard, and the begin and the end of its part."""
    begin = 0
    for other, end in zip(near.tolist(), ends.tolist(), strict=True):
        yield (other,), begin, end
        begin = end


def shard_numbers(layout: Layout, shards: int | Array) -> Array:
    """Return the shard of each slot.

    Parameters
    ----------
    layout : Layout
        Layout of the whole graph.
    shards : int or array of shape (units,)
        Number of shards, or the shard of each unit.

    Returns
    -------
    array
        int32, of shape (units,), from 0; no shard is empty.

    Raises
    ------
    ValueError
        If `shards` is invalid.
    """
    host, units = host_namespace(), layout.units
    wanted = f"shards must be an int, or a shard for each of {units} units"
    if is_array(shards) or isinstance(shards, (list, tuple)):
        given = on_host(shards, "shards")
        if given.shape != (units,) or not host.isdtype(given.dtype, "integral"):
            raise ValueError(f"{wanted}, got {given.dtype} of shape {given.shape}")
        found = given[layout.order]
    else:
        count = positive_int(shards, "shards")
        if count > units:
            raise ValueError(f"{wanted}, of which there are no more than units, got {count}")
        found = _by_metis(layout, count) if count > 1 and is_there("pymetis") else _by_breadth(layout, count)
    return host.astype(host.unique_inverse(found).inverse_indices.reshape(-1), host.int32)


def _by_metis(layout: Layout, count: int) -> Array:
    """Partition the graph with METIS, which makes the number of edges between shards small."""
    pymetis = need("pymetis")
    found = pymetis.part_graph(count, pymetis.CSRAdjacency(layout.begins, layout.neighbours))
    return host_namespace().asarray(found[1])


def _by_breadth(layout: Layout, count: int) -> Array:
    """Partition the graph into equal parts of its reverse Cuthill–McKee order."""
    host, units = host_namespace(), layout.units
    found = host.zeros((units,), dtype=host.int32)
    joined = host.ones(layout.neighbours.shape, dtype=host.int8)
    matrix = need("scipy.sparse").csr_array((joined, layout.neighbours, layout.begins), shape=(units, units))
    walk = need("scipy.sparse.csgraph").reverse_cuthill_mckee(matrix, symmetric_mode=True)
    found[walk] = host.arange(units) * count // units
    return found


def shards_of(layout: Layout, numbers: Array, clamp: Clamp | None = None) -> list[Shard]:
    """Return the shards of a graph.

    Parameters
    ----------
    layout : Layout
        Layout of the whole graph.
    numbers : array
        Shard of each slot: see `shard_numbers`.
    clamp : Clamp, optional
        Clamped units.
    """
    host, units = host_namespace(), layout.units
    ends = host.cumulative_sum(host.bincount(numbers)).tolist()
    own = host.split(host.argsort(numbers, stable=True), ends[:-1])
    clamped = host.full((units,), FREE, dtype=host.int8)
    if clamp is not None:
        clamped[host.argsort(layout.order)[clamp[0]]] = clamp[1]
    degrees, entries, halos = [], [], []
    for number, slots in enumerate(own):
        degrees.append(layout.begins[slots + 1] - layout.begins[slots])
        entries.append(in_runs(layout.begins[slots], degrees[-1]))
        joined = layout.neighbours[entries[-1]]
        halo = host.unique_values(joined[numbers[joined] != number])
        halos.append(host.astype(halo[host.argsort(numbers[halo], stable=True)], host.int64))
    owners = [numbers[halo] for halo in halos]
    places, found = host.zeros((units,), dtype=host.int32), []
    for number, (slots, halo) in enumerate(zip(own, halos, strict=True)):
        places[slots], places[halo] = host.arange(slots.shape[0]), host.arange(halo.shape[0]) + slots.shape[0]
        near, counts = host.unique_counts(owners[number])
        shown = [places[halos[other][owners[other] == number]] for other in near.tolist()]
        found.append(Shard(
            host.asarray(layout.ends), slots, halo,
            host.cumulative_sum(degrees[number], include_initial=True),
            places[layout.neighbours[entries[number]]], layout.couplings[entries[number]], layout.fields[slots, ...],
            near, host.cumulative_sum(counts), host.concat([places[:0], *shown]),
            host.cumulative_sum(host.asarray([some.shape[0] for some in shown], dtype=host.int64)), clamped[slots],
        ))  # fmt: skip
    return found


def sharded(
    machine: EnergyModel, shards: int | Array, clamp: Clamp | None = None
) -> tuple[ShardDivision, dict[Index, Shard]]:
    """Return the division of a machine's graph into shards, and the shards; see `GraphMachine.sample`."""
    if machine.has_factors:
        raise ValueError("shards: the machine must not have factors")
    host, layout = host_namespace(), machine.layout
    made = shards_of(layout, shard_numbers(layout, shards), clamp)
    order = host.concat([layout.order[shard.slots] for shard in made])
    near = host.zeros((len(made), len(made)), dtype=host.bool)
    for number, shard in enumerate(made):
        near[number, shard.near] = True
    division = ShardDivision(near, host.asarray([shard.units for shard in made]), order, len(layout.ends))
    return division, {(number,): shard for number, shard in enumerate(made)}
