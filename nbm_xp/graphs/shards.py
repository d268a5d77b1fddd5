"""Graphs divided into shards: each shard's units, with its halo, the units of others that they are joined with.

Contract: a shard holds all that a sweep of its own units needs but what others have drawn since; which shard a unit is
in changes nothing that is drawn. Own units come first, then the halo, each by rising slots: so the units of a colour
lie one after the other among both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from nbm_xp.machines.rows import numbers, positive_int
from nbm_xp.namespace import host_namespace, is_array, kernel, to_numpy
from nbm_xp.package import is_there, need

from .colouring import entries_of
from .energy_model import Clamp
from .layout import Layout

__all__ = ["Shard", "shard_numbers", "shards_of"]

FREE: Final = 2**15 - 1


@dataclass(frozen=True, eq=False)
class Shard:
    """A part of a graph, with its halo.

    Parameters
    ----------
    slots, halo : array
        int64: the slots, in the whole graph, of its units and of those of the halo.
    ends, halo_ends : tuple of ints
        Where each colour ends among both.
    begins, neighbours, couplings : array
        Of each unit, where its neighbours begin; these, by their places among units and the halo; the couplings.
    fields : array
        Of its units.
    owners, shown_rows, rows : array
        int32: of each unit of the halo, its shard, its place among those that this shard shows, and among all of its
        units.
    shown : array
        int32: the units that others need, by their places.
    shown_ends : tuple of ints
        Where each colour ends among these.
    clamped, clamped_values : array
        int64 and int8, of shape (…, 1): the units that are clamped, by rising places, and their values.
    """

    slots: Any
    halo: Any
    ends: tuple[int, ...]
    halo_ends: tuple[int, ...]
    begins: Any
    neighbours: Any
    couplings: Any
    fields: Any
    owners: Any
    shown_rows: Any
    rows: Any
    shown: Any
    shown_ends: tuple[int, ...]
    clamped: Any
    clamped_values: Any
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def units(self) -> int:
        """How many it has."""
        return int(self.slots.shape[0])

    @cached_property
    def near(self) -> list[int]:
        """The shards that the units of the halo are in."""
        found: list[int] = host_namespace().unique_values(self.owners).tolist()
        return found

    @cached_property
    def layout(self) -> Layout:
        """Its units as a sweep visits them; neighbours may be units of the halo."""
        none = self.neighbours[:0]
        return Layout(
            self.slots, self.ends, self.begins, self.neighbours, self.couplings, none, none, self.couplings[:0],
            self.fields, 0.0,
        )  # fmt: skip

    @cached_property
    def lower(self) -> Layout:
        """The same with neighbours of lesser colours alone, and twice their couplings: all edges of the graph once."""
        host = host_namespace()
        owner = host.repeat(host.arange(self.units), self.begins[1:] - self.begins[:-1])
        places = host.arange(self.units + self.halo.shape[0])
        ends, halo_ends = host.asarray(self.ends), host.asarray(self.halo_ends)
        colours = host.where(
            places < self.units,
            host.searchsorted(ends, places, side="right"),
            host.searchsorted(halo_ends, places - self.units, side="right"),
        )
        kept = colours[self.neighbours] < colours[owner]
        counts = host.bincount(owner[kept], minlength=self.units)
        begins = host.concat([host.zeros((1,), dtype=host.int64), host.cumulative_sum(counts)])
        neighbours, couplings = self.neighbours[kept], self.couplings[kept]
        fields = host.concat([self.fields, host.zeros((self.halo.shape[0], *self.fields.shape[1:]))])
        return Layout(
            self.slots, self.ends, begins, neighbours, 2.0 * couplings, owner[kept], neighbours, couplings, fields, 0.0
        )

    def of_colour(self, colour: int) -> slice:
        """Where the units of a colour are."""
        return _of(self.ends, colour)

    def halo_of_colour(self, colour: int) -> slice:
        """Where the units of a colour are in the halo."""
        return _of(self.halo_ends, colour)

    def show(self, colour: int, rows: Any) -> Any:
        """What others need of what its units of a colour have: rows of these."""
        begin = self.of_colour(colour).start
        return rows[self.shown[_of(self.shown_ends, colour)] - begin, ...]

    def seen(self, number: int, colour: int) -> tuple[Any, Any]:
        """Of a colour of the halo, the units that are in a shard: rows of what that shows, and places here."""
        key = number, colour
        if key not in self.kept:
            host, here = host_namespace(), self.halo_of_colour(colour)
            places = host.nonzero(self.owners[here] == number)[0]
            self.kept[key] = self.shown_rows[here][places], places
        found: tuple[Any, Any] = self.kept[key]
        return found

    def clamp(self, rows: Any, begin: int, end: int) -> None:
        """Give clamped units their values, in rows of the units in some places, which change."""
        first, last = host_namespace().searchsorted(self.clamped, host_namespace().asarray([begin, end])).tolist()
        rows[self.clamped[first:last] - begin, :] = self.clamped_values[first:last]

    def arrays(self) -> dict[str, Any]:
        """All of it, by name."""
        host = host_namespace()
        names = [name for name in self.__dataclass_fields__ if name != "kept"]
        return {name: host.asarray(getattr(self, name)) for name in names}

    @classmethod
    def of(cls, arrays: dict[str, Any]) -> Shard:
        """The shard that `arrays` has given."""
        ends = {name: tuple(arrays[name].tolist()) for name in ("ends", "halo_ends", "shown_ends")}
        return cls(**arrays | ends)

    def __getstate__(self) -> dict[str, Any]:
        made = ("layout", "lower", "near")
        return {name: value for name, value in self.__dict__.items() if name not in made} | {"kept": {}}


def _of(ends: Sequence[int], colour: int) -> slice:
    return slice(ends[colour - 1] if colour else 0, ends[colour])


def shard_numbers(layout: Layout, shards: Any) -> Any:
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


def _by_metis(layout: Layout, count: int) -> Any:
    """Parts that few edges lead out of."""
    pymetis = need("pymetis")
    found = pymetis.part_graph(count, pymetis.CSRAdjacency(layout.begins, layout.neighbours))
    return host_namespace().asarray(found[1])


def _by_breadth(layout: Layout, count: int) -> Any:
    """Equal shares of a walk that goes to near units first."""
    host, units = host_namespace(), layout.units
    found = host.zeros((units,), dtype=host.int32)
    if count > 1:
        found[_walk(layout)] = host.arange(units) * count // units
    return found


def _walk(layout: Layout) -> Any:
    """The slots as a walk comes to them: from the least one that it has not come to, near ones first."""
    host, units = host_namespace(), layout.units
    own = kernel("graphs.breadth", host)
    if own is not None:
        return own(layout.begins, layout.neighbours)
    seen, least = host.zeros((units,), dtype=host.bool), 0
    stretches: list[Any] = []
    while True:
        rest = host.nonzero(~seen[least:])[0]
        if not rest.shape[0]:
            return host.concat(stretches)
        least += int(rest[0])
        front = host.asarray([least])
        while front.shape[0]:
            seen[front] = True
            stretches.append(front)
            there = layout.neighbours[entries_of(front, layout.begins)[0]]
            new, first = host.unique(there[~seen[there]], return_index=True)
            front = new[host.argsort(first)]


def shards_of(layout: Layout, numbers: Any, clamp: Clamp | None = None) -> list[Shard]:
    """The shards of a graph.

    Parameters
    ----------
    layout : Layout
        Of the whole graph.
    numbers : array
        The shard of each slot: see `shard_numbers`.
    clamp : Clamp, optional
    """
    host = host_namespace()
    places = host.zeros((layout.units,), dtype=host.int32)  # of each slot, in the shard that is made
    ends, found, among = host.asarray(layout.ends), [], host.zeros((layout.units,), dtype=host.int32)
    order = host.argsort(numbers, stable=True)
    counts = host.bincount(numbers)
    values = host.full((layout.units,), FREE, dtype=host.int16)
    if clamp is not None:
        values[host.argsort(layout.order)[clamp[0]]] = clamp[1]
    for number, last in enumerate(host.cumulative_sum(counts).tolist()):
        slots = order[last - int(counts[number]) : last]
        entries, _ = entries_of(slots, layout.begins)
        there = layout.neighbours[entries]
        halo = host.unique_values(there[numbers[there] != number])
        places[slots] = among[slots] = host.arange(slots.shape[0], dtype=host.int32)
        places[halo] = host.arange(halo.shape[0], dtype=host.int32) + slots.shape[0]
        degrees = layout.begins[slots + 1] - layout.begins[slots]
        none = host.zeros((0,), dtype=host.int32)
        begins = host.concat([host.zeros((1,), dtype=host.int64), host.cumulative_sum(degrees)])
        kept = host.concat([values[slots], values[halo]])
        clamped = host.nonzero(kept != FREE)[0]
        own_ends, halo_ends = (tuple(host.searchsorted(x, ends).tolist()) for x in (slots, halo))
        found.append(
            Shard(
                slots, host.astype(halo, host.int64), own_ends, halo_ends, begins, places[there],
                layout.couplings[entries], layout.fields[slots, ...], numbers[halo], none, none, none, (),
                clamped, host.astype(kept[clamped, None], host.int8),
            )
        )  # fmt: skip
    return _joined(found, among, layout.units)


def _joined(shards: list[Shard], among: Any, units: int) -> list[Shard]:
    """The same shards, which know what they show, and where what they see is among that."""
    host = host_namespace()
    needed = host.zeros((units,), dtype=host.bool)
    for shard in shards:
        needed[shard.halo] = True
    rows = host.zeros((units,), dtype=host.int32)  # of a slot, among those of its colour that its shard shows
    made = []
    for shard in shards:
        shown = host.nonzero(needed[shard.slots])[0]
        shown_ends = tuple(host.searchsorted(shown, host.asarray(shard.ends)).tolist())
        for colour in range(len(shard.ends)):
            here = shard.slots[shown[_of(shown_ends, colour)]]
            rows[here] = host.arange(here.shape[0], dtype=host.int32)
        made.append(replace(shard, shown=host.astype(shown, host.int32), shown_ends=shown_ends, kept={}))
    return [replace(shard, shown_rows=rows[shard.halo], rows=among[shard.halo], kept={}) for shard in made]
