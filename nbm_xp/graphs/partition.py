"""Graphs in parts: each part's units, with the units of others that they are joined with.

Contract: a part holds all that a sweep of its own units needs but what others have drawn since; which part a unit is in
changes nothing that is drawn. Own units come first, then those around them, each by rising slots: so the units of a
colour lie one after the other among both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from nbm_xp.machines.rows import numbers, positive_int
from nbm_xp.namespace import host_namespace, is_array, kernel, to_numpy
from nbm_xp.namespace.needs import is_there, need

from .clamping import Held
from .colouring import entries_of
from .layout import Layout

__all__ = ["Part", "numbers_of_parts", "partitioned"]

NOT_HELD: Final = 2**15 - 1


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a graph.

    Parameters
    ----------
    slots, around : array
        int64: the slots, in the whole graph, of its units and of those around it.
    ends, around_ends : tuple of ints
        Where each colour ends among both.
    begins, neighbours, couplings : array
        Of each unit, where its neighbours begin; these, by their places among units and those around; the couplings.
    fields : array
        Of its units.
    owners, shown_rows, rows : array
        int32: of each unit around, its part, its place among those that this part shows, and among all of its units.
    shown : array
        int32: the units that others need, by their places.
    shown_ends : tuple of ints
        Where each colour ends among these.
    held, held_values : array
        int64 and int8, of shape (…, 1): the units that are held, by rising places, and what they keep.
    """

    slots: Any
    around: Any
    ends: tuple[int, ...]
    around_ends: tuple[int, ...]
    begins: Any
    neighbours: Any
    couplings: Any
    fields: Any
    owners: Any
    shown_rows: Any
    rows: Any
    shown: Any
    shown_ends: tuple[int, ...]
    held: Any
    held_values: Any
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def units(self) -> int:
        """How many it has."""
        return int(self.slots.shape[0])

    @cached_property
    def near(self) -> list[int]:
        """The parts that units around it are in."""
        found: list[int] = host_namespace().unique_values(self.owners).tolist()
        return found

    @cached_property
    def layout(self) -> Layout:
        """Its units as a sweep visits them; neighbours may be units around it."""
        return self._laid_out(self.begins, self.neighbours, self.couplings)

    @cached_property
    def lower(self) -> Layout:
        """The same with neighbours of lesser colours alone, and twice their couplings: all edges of the graph once."""
        host = host_namespace()
        owner = host.repeat(host.arange(self.units), self.begins[1:] - self.begins[:-1])
        places = host.arange(self.units + self.around.shape[0])
        ends, around_ends = host.asarray(self.ends), host.asarray(self.around_ends)
        colours = host.where(
            places < self.units,
            host.searchsorted(ends, places, side="right"),
            host.searchsorted(around_ends, places - self.units, side="right"),
        )
        kept = colours[self.neighbours] < colours[owner]
        counts = host.bincount(owner[kept], minlength=self.units)
        begins = host.concat([host.zeros((1,), dtype=host.int64), host.cumulative_sum(counts)])
        return self._laid_out(begins, self.neighbours[kept], 2.0 * self.couplings[kept])

    def _laid_out(self, begins: Any, neighbours: Any, couplings: Any) -> Layout:
        none = neighbours[:0]
        return Layout(
            self.slots, self.ends, begins, neighbours, couplings, none, none, couplings[:0], self.fields, 0.0
        )  # fmt: skip

    def of_colour(self, colour: int) -> slice:
        """Where the units of a colour are."""
        return _of(self.ends, colour)

    def around_of_colour(self, colour: int) -> slice:
        """Where the units around it are that have a colour, among them."""
        return _of(self.around_ends, colour)

    def show(self, colour: int, rows: Any) -> Any:
        """What others need of what its units of a colour have: rows of these."""
        begin = self.of_colour(colour).start
        return rows[self.shown[_of(self.shown_ends, colour)] - begin, ...]

    def seen(self, number: int, colour: int) -> tuple[Any, Any]:
        """Of the units around of a colour that are in a part: rows of what that shows, and places here."""
        key = number, colour
        if key not in self.kept:
            host, here = host_namespace(), self.around_of_colour(colour)
            places = host.nonzero(self.owners[here] == number)[0]
            self.kept[key] = self.shown_rows[here][places], places
        found: tuple[Any, Any] = self.kept[key]
        return found

    def hold(self, rows: Any, begin: int, end: int) -> None:
        """Give units that are held what they keep: rows of what the units in some places have, which change."""
        first, last = host_namespace().searchsorted(self.held, host_namespace().asarray([begin, end])).tolist()
        rows[self.held[first:last] - begin, :] = self.held_values[first:last]

    def arrays(self) -> dict[str, Any]:
        """All of it, by name."""
        host = host_namespace()
        names = [name for name in self.__dataclass_fields__ if name != "kept"]
        return {name: host.asarray(getattr(self, name)) for name in names}

    @classmethod
    def of(cls, arrays: dict[str, Any]) -> Part:
        """The part that `arrays` has given."""
        host = host_namespace()
        ends = {name: tuple(arrays[name].tolist()) for name in ("ends", "around_ends", "shown_ends")}
        none = {"held": host.zeros((0,), dtype=host.int64), "held_values": host.zeros((0, 1), dtype=host.int8)}
        return cls(**none | arrays | ends)  # what was written before units could be held has none

    def __getstate__(self) -> dict[str, Any]:
        made = ("layout", "lower", "near")
        return {name: value for name, value in self.__dict__.items() if name not in made} | {"kept": {}}


def _of(ends: Sequence[int], colour: int) -> slice:
    return slice(ends[colour - 1] if colour else 0, ends[colour])


def numbers_of_parts(layout: Layout, parts: Any) -> Any:
    """The part of each slot: as many parts as told, or those that each unit is told to be in.

    Parameters
    ----------
    layout : Layout
        Of the whole graph.
    parts : int or array of shape (units,)

    Returns
    -------
    array
        int32, of shape (units,), from 0 on; no part is empty.

    Raises
    ------
    ValueError
        If it is neither.
    """
    host, units = host_namespace(), layout.units
    wanted = f"parts must be an int, or a part for each of {units} units"
    if is_array(parts) or isinstance(parts, (list, tuple)):
        told = numbers(to_numpy(parts) if is_array(parts) else parts, "parts", host)
        if told.shape != (units,) or not host.isdtype(told.dtype, "integral"):
            raise ValueError(f"{wanted}, got {told.dtype} of shape {told.shape}")
        found = told[layout.order]
    else:
        count = positive_int(parts, "parts")
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


def partitioned(layout: Layout, numbers: Any, held: Held | None = None) -> list[Part]:
    """The parts of a graph.

    Parameters
    ----------
    layout : Layout
        Of the whole graph.
    numbers : array
        The part of each slot: see `numbers_of_parts`.
    held : Held, optional
        Units that are held.
    """
    host = host_namespace()
    places = host.zeros((layout.units,), dtype=host.int32)  # of each slot, in the part that is made
    ends, found, among = host.asarray(layout.ends), [], host.zeros((layout.units,), dtype=host.int32)
    order = host.argsort(numbers, stable=True)
    counts = host.bincount(numbers)
    values = host.full((layout.units,), NOT_HELD, dtype=host.int16)
    if held is not None:
        values[host.argsort(layout.order)[held[0]]] = held[1]
    for number, last in enumerate(host.cumulative_sum(counts).tolist()):
        slots = order[last - int(counts[number]) : last]
        entries, _ = entries_of(slots, layout.begins)
        there = layout.neighbours[entries]
        around = host.unique_values(there[numbers[there] != number])
        places[slots] = among[slots] = host.arange(slots.shape[0], dtype=host.int32)
        places[around] = host.arange(around.shape[0], dtype=host.int32) + slots.shape[0]
        degrees = layout.begins[slots + 1] - layout.begins[slots]
        none = host.zeros((0,), dtype=host.int32)
        begins = host.concat([host.zeros((1,), dtype=host.int64), host.cumulative_sum(degrees)])
        kept = host.concat([values[slots], values[around]])
        holding = host.nonzero(kept != NOT_HELD)[0]
        own_ends, around_ends = (tuple(host.searchsorted(x, ends).tolist()) for x in (slots, around))
        found.append(
            Part(
                slots, host.astype(around, host.int64), own_ends, around_ends, begins, places[there],
                layout.couplings[entries], layout.fields[slots, ...], numbers[around], none, none, none, (),
                holding, host.astype(kept[holding, None], host.int8),
            )
        )  # fmt: skip
    return _joined(found, among, layout.units)


def _joined(parts: list[Part], among: Any, units: int) -> list[Part]:
    """Tell parts what they show, and where what they see is among that."""
    host = host_namespace()
    needed = host.zeros((units,), dtype=host.bool)
    for part in parts:
        needed[part.around] = True
    rows = host.zeros((units,), dtype=host.int32)  # of a slot, among those of its colour that its part shows
    made = []
    for part in parts:
        shown = host.nonzero(needed[part.slots])[0]
        shown_ends = tuple(host.searchsorted(shown, host.asarray(part.ends)).tolist())
        for colour in range(len(part.ends)):
            here = part.slots[shown[_of(shown_ends, colour)]]
            rows[here] = host.arange(here.shape[0], dtype=host.int32)
        made.append(replace(part, shown=host.astype(shown, host.int32), shown_ends=shown_ends, kept={}))
    return [replace(part, shown_rows=rows[part.around], rows=among[part.around], kept={}) for part in made]
