"""Sweeps of a part of a graph, a colour at a time, and what is measured on its units.

Contract: the bits of `chains.Chains`, whichever parts a graph is divided into, and whether arrays make them or loops of
the library's own. What is measured are sums without rounding, so that those of all parts may be added in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from nbm_xp.namespace import host_namespace, kernel
from nbm_xp.namespace.mrg31k3p.integers import State
from nbm_xp.rng.uniforms import elements

from .draws import LANES, Numbers
from .layout import Layout
from .partition import Part
from .sweeps import RULES
from .values import Values, values_of

__all__ = ["Bundle", "PartStates", "Shown"]

AT_ONCE: Final = 2**20
"""So many states are made at once, of whose numbers there are several arrays."""

Shown = tuple[int | None, Any]
"""What a part shows: a colour, and what the units have that others need; or None, and what all of its units have."""


class PartStates:
    """States of the units of a part, and of those around it, colour by colour: nothing changes them.

    What draws works on all of them in one array. It is handed on to the states that are drawn, so that only what has
    changed is copied; where these are drawn a second time, it is made anew.

    Parameters
    ----------
    own, around : tuple of arrays
        int8: of each colour, of shape (units, chains).
    whole : array, optional
        All of them one after the other, which the caller gives away.
    """

    def __init__(self, own: tuple[Any, ...], around: tuple[Any, ...], whole: Any = None) -> None:
        self.own, self.around = own, around
        self._whole = [] if whole is None else [whole]

    def taken(self) -> Any:
        """All states in one array that may be changed."""
        try:
            return self._whole.pop()
        except IndexError:
            return host_namespace().concat([*self.own, *self.around])

    @property
    def array(self) -> Any:
        """The states of its own units."""
        return host_namespace().concat(list(self.own))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_whole": []}

    def __sizeof__(self) -> int:
        return int(sum(x.nbytes for x in (*self.own, *self.around, *self._whole)))


@dataclass(frozen=True)
class Bundle:
    """Chains that run together on parts of a graph, as tasks know them.

    Parameters
    ----------
    units : int
        How many the whole graph has.
    kind : str or int
        What units can be.
    rule : {"heat_bath", "metropolis"}
    seed : six ints
        What all random numbers follow from.
    first_chain : int
        The number of the first of them.
    betas : tuple of floats
        Of each.
    in_pairs : bool, optional
        Whether the products of two chains each are measured too.
    """

    units: int
    kind: Any
    rule: str
    seed: State
    first_chain: int
    betas: tuple[float, ...]
    in_pairs: bool = False

    @property
    def values(self) -> Values:
        """What a unit can be."""
        return values_of(self.kind)

    @property
    def chains(self) -> int:
        """How many there are."""
        return len(self.betas)

    @property
    def sums(self) -> int:
        """How many sums are measured of each."""
        return 1 + (self.values.count if self.values.kind == "potts" else 1)

    @property
    def columns(self) -> int:
        """How many numbers are measured: sums, each of all chains, then those of pairs."""
        return self.sums * self.chains + self.in_pairs * (self.chains // 2)

    @property
    def numbers(self) -> Numbers:
        """The random numbers of all units."""
        return Numbers(self.seed, self.units)

    @cached_property
    def streams(self) -> Any:
        """The states that the chains' streams start in."""
        return self.numbers.states(self.first_chain, self.chains, 0)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "streams"}

    def uniforms(self, slots: Any, sweep: int) -> Any:
        """The numbers of some slots in a sweep, of shape (slots, chains)."""
        host = host_namespace()
        begins = (sweep * self.numbers.steps * LANES + slots) * self.chains
        lengths = host.full(slots.shape, self.chains)
        drawn = elements(self.streams, LANES * self.chains, begins, lengths, "float64")
        return host.reshape(drawn, (-1, self.chains))

    def begin(self, part: Part) -> PartStates:
        """Random states."""
        host, every = host_namespace(), max(1, AT_ONCE // self.chains)
        made = []
        for slots in (part.slots, part.around):
            pieces = [slots[k : k + every] for k in range(0, max(1, slots.shape[0]), every)]
            made.append(host.concat([self.values.at_random(host, self.uniforms(piece, 0)) for piece in pieces]))
        return self._begun(part, *made)

    def told(self, part: Part, own: Any, others: Mapping[int, Any]) -> PartStates:
        """States that are given: of all units of the part, and of all those of each part near."""
        host = host_namespace()
        around = host.zeros((part.around.shape[0], self.chains), dtype=host.int8)
        for number in part.near:
            places = host.nonzero(part.owners == number)[0]
            around[places] = others[number][part.rows[places]]
        return self._begun(part, host.asarray(own, copy=True), around)

    def _begun(self, part: Part, own: Any, around: Any) -> PartStates:
        """What units of a part and around it begin with, but for those that are held."""
        part.hold(own, 0, part.units)
        part.hold(around, part.units, part.units + part.around.shape[0])
        return PartStates(_by_colour(own, part.ends), _by_colour(around, part.around_ends))

    def step(
        self, part: Part, states: PartStates, shown: Mapping[int, Shown], sweep: int, colour: int, seen: bool
    ) -> tuple[PartStates, Shown, Any]:
        """Draw the units of a colour.

        Parameters
        ----------
        part : Part
        states : PartStates
        shown : mapping
            What the parts near have shown after the step before: the same colour, all of them; or nothing.
        sweep, colour : int
        seen : bool
            Whether it is measured after this, which must be the last colour of a sweep.

        Returns
        -------
        states : PartStates
        shown : tuple
            What others need of them.
        totals : array
            float64, of shape (1, columns); (0, columns) where nothing is measured.
        """
        host = host_namespace()
        whole, around = states.taken(), list(states.around)
        for number, (which, rows) in shown.items():
            if which is None:
                continue
            here, (from_rows, places) = part.around_of_colour(which), part.seen(number, which)
            if not places.shape[0]:
                continue
            if around[which] is states.around[which]:
                around[which] = host.empty_like(states.around[which])
            around[which][places] = rows[from_rows]
        for which, (new, old) in enumerate(zip(around, states.around, strict=True)):
            if new is not old:
                here = part.around_of_colour(which)
                whole[part.units + here.start : part.units + here.stop] = new
        own = kernel("graphs.part", host)
        if own is None or not own(self, part, whole, sweep, colour):
            self._draw(part, whole, sweep, colour)
        here = part.of_colour(colour)
        drawn = whole[here]
        part.hold(drawn, here.start, here.stop)  # units of a colour do not see one another
        drawn = host.asarray(drawn, copy=True)
        after = (*states.own[:colour], drawn, *states.own[colour + 1 :])
        totals = self._measure(part, whole) if seen else host.zeros((0, self.columns))
        return PartStates(after, tuple(around), whole), (colour, part.show(colour, drawn)), totals

    def _draw(self, part: Part, whole: Any, sweep: int, colour: int) -> None:
        """Draw units by the functions of `sweeps`."""
        host, here = host_namespace(), part.of_colour(colour)
        if here.start == here.stop:
            return
        change = RULES[self.rule][self.values.kind == "potts"]
        uniforms, beta = self.uniforms(part.slots[here], sweep), host.asarray([self.betas])
        at = part.layout.on(host).colours[colour]
        whole[here] = change(host, at, self.values, whole, whole[here], uniforms, beta)

    def _measure(self, part: Part, whole: Any) -> Any:
        """The energy of edges to lesser colours, and of units; then the sums of values, or how many have each.

        An edge is the part's that has its unit of the greater colour: what is known there of the other one, which was
        drawn before, is of this sweep.
        """
        host = host_namespace()
        own = kernel("graphs.energies", host)
        found = None if own is None else own(part.lower, self.values, whole)
        energies = self._energies(part.lower, whole) if found is None else found
        mine = whole[: part.units]
        if self.values.kind == "potts":
            sums = [host.sum(mine == k, axis=0) for k in self.values.all]
        else:
            sums = [host.sum(mine, axis=0, dtype=host.int64)]
        if self.in_pairs:
            sums.append(host.sum(mine[:, ::2] * mine[:, 1::2], axis=0, dtype=host.int64))
        return host.concat([energies, *(host.astype(x, host.float64) for x in sums)])[None, :]

    def _energies(self, lower: Layout, whole: Any) -> Any:
        host, fields = host_namespace(), lower.fields
        mine = whole[: lower.units]
        owner = host.repeat(host.arange(lower.units), lower.begins[1:] - lower.begins[:-1])
        a, b, weights = mine[owner], whole[lower.neighbours], 0.5 * lower.couplings[:, None]
        if self.values.kind == "potts":
            alone = sum((host.sum((mine == k) * fields[:, k : k + 1], axis=0) for k in self.values.all), 0.0)
            return -(host.sum((a == b) * weights, axis=0) + alone)
        return -(host.sum((a * b) * weights, axis=0) + host.sum(mine * fields[:, None], axis=0))


def _by_colour(rows: Any, ends: tuple[int, ...]) -> tuple[Any, ...]:
    """Rows of each colour, as arrays of their own."""
    host = host_namespace()
    return tuple(host.asarray(rows[a:b], copy=True) for a, b in zip((0, *ends[:-1]), ends, strict=True))
