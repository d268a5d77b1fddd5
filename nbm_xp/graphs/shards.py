"""Graphs divided into shards: each shard's units, with its halo, the units of others that they are joined with.

Contract: the bits of `chains.Chains`, for every division into shards, by arrays and by compiled loops. A task draws one
colour of one shard, in chains that run together, after the shards near it have shown what they drew before. Own units
come first, by rising slots, so that those of a colour follow one another; then the halo, shard after shard, and of each
by rising slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Final

from nbm_xp.machines import Array
from nbm_xp.machines.rows import numbers, positive_int
from nbm_xp.namespace import array_namespace, host_namespace, is_array, kernel, to_numpy
from nbm_xp.package import is_there, need

from .blocks import Block, Division, Index, Shown
from .chain_groups import ChainGroup, Step
from .energy_model import Clamp, EnergyModel
from .layout import Layout, entries_of
from .moves import MOVES, energies

__all__ = ["Shard", "ShardDivision", "shard_numbers", "sharded", "shards_of"]

AT_ONCE: Final = 2**20
"""So many states are made at once, of whose numbers there are several arrays."""
FREE: Final = -128
"""Stands for the value of a unit that is not clamped."""


@dataclass(frozen=True, eq=False)
class ShardDivision(Division):
    """A graph's shards.

    Parameters
    ----------
    near : array
        bool, of shape (shards, shards): which of them see one another.
    sizes : array
        How many units each has.
    order : array
        The units in the order of shards.
    colours : int
        How many colours a sweep has.
    """

    near: Array
    sizes: Array
    order: Array
    colours: int

    name, axes = "graph", ("unit",)
    together = 64  # the states of a unit fill a line of the cache

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
        """The division that `arrays` has given."""
        return cls(arrays["near"], arrays["sizes"], arrays["order"], int(arrays["colours"]))

    def by_unit(self, states: Array) -> Array:
        """See `Division`."""
        return array_namespace(states).take(states, host_namespace().argsort(self.order), axis=1)

    def by_block(self, states: Array) -> Array:
        """See `Division`."""
        return array_namespace(states).take(states, self.order, axis=1)


@dataclass(frozen=True, eq=False)
class Shard(Block):
    """A part of a graph, with its halo; its states have the shape (units, chains).

    They are those of its own units at first, and of these and the halo after a step.

    Parameters
    ----------
    colour_ends : array
        Where each colour ends among the slots of the whole graph.
    slots, halo : array
        int64: the slots, in the whole graph, of its units and of those of the halo.
    begins, neighbours, couplings : array
        Of each unit, where its neighbours begin; these, by their places among units and the halo; the couplings.
    fields : array
        Of its units.
    near, halo_ends : array
        The shards that units of the halo are in, and where those of each end.
    shown, shown_ends : array
        The units that each of these shards needs, by their places, and where those of each end.
    clamped : array
        int8: the value of each unit that is clamped; `FREE` of the others.
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
        """How many it has."""
        return int(self.slots.shape[0])

    def of_colour(self, slots: Array, colour: int | None) -> slice:
        """Which of some slots, which rise, are of a colour, or of any."""
        if colour is None:
            return slice(0, slots.shape[0])
        ends = self.colour_ends[max(0, colour - 1) : colour + 1]
        begin, end = (0, *host_namespace().searchsorted(slots, ends).tolist())[-2:]
        return slice(begin, end)

    @cached_property
    def layout(self) -> Layout:
        """Its units as a sweep visits them; neighbours may be units of the halo."""
        none, ends = self.neighbours[:0], tuple(host_namespace().searchsorted(self.slots, self.colour_ends).tolist())
        return Layout(
            self.slots, ends, self.begins, self.neighbours, none, self.couplings, none, none, self.couplings[:0],
            self.fields,
        )  # fmt: skip

    @cached_property
    def lower(self) -> Layout:
        """The same with couplings to lesser colours alone, and these twice: all edges of the graph once."""
        host = host_namespace()
        owner = host.repeat(host.arange(self.units), self.begins[1:] - self.begins[:-1])
        colours = host.searchsorted(self.colour_ends, host.concat([self.slots, self.halo]), side="right")
        weights = host.where(colours[self.neighbours] < colours[owner], self.couplings, 0.0)
        fields = host.concat([self.fields, host.zeros((self.halo.shape[0], *self.fields.shape[1:]))])
        return replace(
            self.layout, couplings=2.0 * weights, first=owner, second=self.neighbours, weights=weights, fields=fields,
            kept={},
        )  # fmt: skip

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
        """Draw the units of a colour; what is measured after it is so after the last colour of a sweep."""
        host, colour, colours = host_namespace(), step.colour, self.colour_ends.shape[0]
        whole = host.empty((self.units + self.halo.shape[0], group.n_chains), dtype=host.int8)
        whole[: states.shape[0]] = states
        before = (colour - 1) % colours if states.shape[0] == whole.shape[0] else None  # at first others show all
        for other, begin, end in _parts(self.near, self.halo_ends):
            here = self.of_colour(self.halo[begin:end], before)
            rows = slice(self.units + begin + here.start, self.units + begin + here.stop)
            whole[rows] = shown[other]
        here = self.of_colour(self.slots, colour)
        own = kernel("graphs.part", host) if MOVES[group.rule].kernel else None
        if own is not None:
            own(group, self, whole, here, step)
        elif here.start < here.stop:
            around = self.layout.on(host).colours[colour]
            group.draw(whole, here, around, group.uniforms(self.slots[here], step.sweep + 1))
        self._clamp(whole, here)  # units of a colour do not see one another
        measured = host.zeros((0, group.columns))
        if step.seen:
            measured = group.measured(energies(host, self.lower, group.kind, whole), whole[: self.units])
        return whole, self._shows(whole, colour), measured

    def array(self, group: ChainGroup, states: Array) -> Array:
        """See `Block`."""
        return states[: self.units].T

    def _shows(self, states: Array, colour: int | None) -> Shown:
        """What others need of what its units of a colour have."""
        found: Shown = {}
        for other, begin, end in _parts(self.near, self.shown_ends):
            places = self.shown[begin:end]
            found[other] = states[places[self.of_colour(self.slots[places], colour)]]
        return found

    def _clamp(self, states: Array, here: slice) -> None:
        """Give clamped units their values, in the states of units in some places, which change."""
        clamped = self.clamped[here]
        places = host_namespace().nonzero(clamped != FREE)[0]
        states[here][places] = clamped[places, None]

    def arrays(self) -> dict[str, Array]:
        """See `Block`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __getstate__(self) -> dict[str, Any]:
        return self.arrays()


def _parts(near: Array, ends: Array) -> Iterator[tuple[Index, int, int]]:
    """The place of each shard that is near, and where its part begins and ends."""
    begin = 0
    for other, end in zip(near.tolist(), ends.tolist(), strict=True):
        yield (other,), begin, end
        begin = end


def shard_numbers(layout: Layout, shards: int | Array) -> Array:
    """The shard of each slot: of so many shards, or of those that each unit is said to be in.

    Parameters
    ----------
    layout : Layout
        Of the whole graph.
    shards : int or array of shape (units,)

    Returns
    -------
    array
        int32, of shape (units,), from 0 on; no shard is empty.

    Raises
    ------
    ValueError
        If it is neither.
    """
    host, units = host_namespace(), layout.units
    wanted = f"shards must be an int, or a shard for each of {units} units"
    if is_array(shards) or isinstance(shards, (list, tuple)):
        given = numbers(to_numpy(shards) if is_array(shards) else shards, "shards", host)
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
    """Parts that few edges lead out of."""
    pymetis = need("pymetis")
    found = pymetis.part_graph(count, pymetis.CSRAdjacency(layout.begins, layout.neighbours))
    return host_namespace().asarray(found[1])


def _by_breadth(layout: Layout, count: int) -> Array:
    """Equal shares of a breadth-first walk."""
    host, units = host_namespace(), layout.units
    found = host.zeros((units,), dtype=host.int32)
    joined = host.ones(layout.neighbours.shape, dtype=host.int8)
    matrix = need("scipy.sparse").csr_array((joined, layout.neighbours, layout.begins), shape=(units, units))
    walk = need("scipy.sparse.csgraph").reverse_cuthill_mckee(matrix, symmetric_mode=True)
    found[walk] = host.arange(units) * count // units
    return found


def shards_of(layout: Layout, numbers: Array, clamp: Clamp | None = None) -> list[Shard]:
    """The shards of a graph.

    Parameters
    ----------
    layout : Layout
        Of the whole graph.
    numbers : array
        The shard of each slot: see `shard_numbers`.
    clamp : Clamp, optional
    """
    host, units = host_namespace(), layout.units
    ends = host.cumulative_sum(host.bincount(numbers)).tolist()
    own = host.split(host.argsort(numbers, stable=True), ends[:-1])
    clamped = host.full((units,), FREE, dtype=host.int8)
    if clamp is not None:
        clamped[host.argsort(layout.order)[clamp[0]]] = clamp[1]
    joined, halos = [], []
    for number, slots in enumerate(own):
        joined.append(layout.neighbours[entries_of(slots, layout.begins)[0]])
        halo = host.unique_values(joined[-1][numbers[joined[-1]] != number])
        halos.append(host.astype(halo[host.argsort(numbers[halo], stable=True)], host.int64))
    owners = [numbers[halo] for halo in halos]
    places, found = host.zeros((units,), dtype=host.int32), []
    for number, (slots, halo) in enumerate(zip(own, halos, strict=True)):
        places[slots], places[halo] = host.arange(slots.shape[0]), host.arange(halo.shape[0]) + slots.shape[0]
        near, counts = host.unique_counts(owners[number])
        shown = [places[halos[other][owners[other] == number]] for other in near.tolist()]
        entries, _ = entries_of(slots, layout.begins)
        degrees = layout.begins[slots + 1] - layout.begins[slots]
        found.append(
            Shard(
                host.asarray(layout.ends), slots, halo,
                host.concat([host.zeros((1,), dtype=host.int64), host.cumulative_sum(degrees)]),
                places[joined[number]], layout.couplings[entries], layout.fields[slots, ...],
                near, host.cumulative_sum(counts), host.concat([places[:0], *shown]),
                host.cumulative_sum(host.asarray([some.shape[0] for some in shown], dtype=host.int64)), clamped[slots],
            )
        )  # fmt: skip
    return found


def sharded(
    machine: EnergyModel, shards: int | Array, clamp: Clamp | None = None
) -> tuple[ShardDivision, dict[Index, Shard]]:
    """A graph divided into shards, and these; see `GraphMachine.sample`."""
    host, layout = host_namespace(), machine.layout
    made = shards_of(layout, shard_numbers(layout, shards), clamp)
    order = host.concat([layout.order[shard.slots] for shard in made])
    near = host.zeros((len(made), len(made)), dtype=host.bool)
    for number, shard in enumerate(made):
        near[number, shard.near] = True
    division = ShardDivision(near, host.asarray([shard.units for shard in made]), order, len(layout.ends))
    return division, {(number,): shard for number, shard in enumerate(made)}
