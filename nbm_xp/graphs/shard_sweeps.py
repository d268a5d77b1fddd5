"""Sweeps of a graph's shard, a colour at a time, and what is measured of its units.

Contract: the bits of `chains.Chains`, for every division into shards, by arrays and by compiled loops. A task draws one
colour of one shard, in chains that run together, after the shards near it have shown what they drew before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from nbm_xp.machines import Array
from nbm_xp.namespace import array_namespace, host_namespace
from nbm_xp.namespace.kernels import kernel

from .blocks import ChainGroup, Division, Index, Shown, Step, Work, packed, unpack
from .energy_model import Clamp, EnergyModel
from .moves import MOVES, energies
from .shards import Shard, shard_numbers, shards_of

__all__ = ["ShardDivision", "ShardState", "ShardWork", "sharded"]

AT_ONCE: Final = 2**20
"""So many states are made at once, of whose numbers there are several arrays."""


class ShardState:
    """States of the units of a shard and of its halo, colour by colour: nothing changes them.

    What draws works on all of them in one array. It is passed on to the states that are drawn, so that only what has
    changed is copied; where these are drawn a second time, it is made anew.

    Parameters
    ----------
    own, halo : tuple of arrays
        int8: of each colour, of shape (units, chains).
    whole : array, optional
        All of them one after the other, which the caller gives away.
    """

    def __init__(self, own: tuple[Array, ...], halo: tuple[Array, ...], whole: Array = None) -> None:
        self.own, self.halo = own, halo
        self._whole = [] if whole is None else [whole]

    @classmethod
    def of(cls, shard: Shard, whole: Array) -> ShardState:
        """States of all units of a shard and its halo, one after the other."""
        n = shard.units
        return cls(_by_colour(whole[:n], shard.ends), _by_colour(whole[n:], shard.halo_ends), whole)

    def taken(self) -> Array:
        """All states in one array that may be changed."""
        try:
            return self._whole.pop()
        except IndexError:
            return host_namespace().concat([*self.own, *self.halo])

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_whole": []}

    def __sizeof__(self) -> int:
        return int(sum(x.nbytes for x in (*self.own, *self.halo, *self._whole)))


@dataclass(frozen=True, eq=False)
class ShardDivision(Division):
    """A graph's shards.

    Parameters
    ----------
    near : list of lists of ints
        Of each shard the others that it sees.
    sizes : list of ints
        How many units each has.
    order : array
        The units in the order of shards.
    colours : int
        How many colours a sweep has.
    """

    near: list[list[int]]
    sizes: list[int]
    order: Array
    colours: int

    name, axes = "graph", ("unit",)
    together = 64  # the states of a unit fill a line of the cache

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:  # type: ignore[override]
        """See `Division`."""
        return (tuple(self.sizes),)

    def neighbours(self, block: Index) -> list[Index]:
        """See `Division`."""
        return [(other,) for other in self.near[block[0]]]

    def work(self, group: ChainGroup) -> ShardWork:
        """See `Division`."""
        return ShardWork(group)

    def by_unit(self, states: Array) -> Array:
        """See `Division`."""
        return array_namespace(states).take(states, host_namespace().argsort(self.order), axis=1)

    def by_block(self, states: Array) -> Array:
        """See `Division`."""
        return array_namespace(states).take(states, self.order, axis=1)


def sharded(
    machine: EnergyModel, shards: int | Array, clamp: Clamp | None = None
) -> tuple[ShardDivision, dict[Index, Shard]]:
    """A graph divided into shards, and these; see `GraphMachine.sample`."""
    host, layout = host_namespace(), machine.layout
    made = shards_of(layout, shard_numbers(layout, shards), clamp)
    order = host.concat([layout.order[shard.slots] for shard in made])
    division = ShardDivision([shard.near for shard in made], [shard.units for shard in made], order, len(layout.ends))
    return division, {(number,): shard for number, shard in enumerate(made)}


@dataclass(frozen=True)
class ShardWork(Work):
    """One colour of a shard.

    Its state is nothing at first, for the first step makes it, with the shard that it is handed; or an array of the
    states to begin with; later a `ShardState`. It shows nothing at first, or all of its states; later what others need
    of the colour that was drawn.

    Parameters
    ----------
    group : ChainGroup
    """

    group: ChainGroup

    def begin(self, block: Index) -> tuple[None, Shown]:
        """See `Work`."""
        return None, ()

    def resume(self, block: Index, states: Array) -> tuple[Any, Shown]:
        """See `Work`."""
        return states, (states,)

    def step(
        self, block: Index, state: Any, shown: Mapping[Index, Shown], step: Step, given: Shard
    ) -> tuple[ShardState, Shown, Array]:
        """Draw the units of a colour; what is measured after it is so after the last colour of a sweep."""
        host, shard, colour, sweep = host_namespace(), given, step.colour, step.sweep + 1
        others = {other[1]: rows[0] for other, rows in shown.items() if rows}
        if not isinstance(state, ShardState):
            whole = self._begun(shard, state, others)
            state, halo = ShardState.of(shard, whole), None
        else:
            whole, halo = state.taken(), list(state.halo)
            self._see(shard, whole, halo, others, (colour - 1) % len(shard.ends))
        here = shard.of_colour(colour)
        own = kernel("graphs.part", host) if MOVES[self.group.rule].kernel else None
        if here.start < here.stop and (own is None or not own(self.group, shard, whole, sweep, colour)):
            around = shard.layout.on(host).colours[colour]
            self.group.draw(whole, here, around, self.group.uniforms(shard.slots[here], sweep))
        shard.clamp(whole[here], here)  # units of a colour do not see one another
        drawn = host.asarray(whole[here], copy=True)
        after = (*state.own[:colour], drawn, *state.own[colour + 1 :])
        measured = host.zeros((0, self.group.columns))
        if step.seen:
            measured = self.group.measured(energies(host, shard.lower, self.group.kind, whole), whole[: shard.units])
        found = ShardState(after, state.halo if halo is None else tuple(halo), whole)
        return found, (shard.show(colour, drawn),), measured

    def array(self, block: Index, state: ShardState) -> Array:
        """See `Work`."""
        return host_namespace().concat(list(state.own)).T

    def saved(self, state: ShardState | None) -> tuple[Array, ...]:
        """See `Work`."""
        if state is None:
            return ()
        return (packed(self.group.kind, host_namespace().concat([*state.own, *state.halo])),)

    def loaded(self, arrays: tuple[Array, ...], given: Shard) -> ShardState | None:
        """See `Work`."""
        if not arrays:
            return None
        host = host_namespace()
        whole = host.empty((given.units + given.halo.shape[0], self.group.n_chains), dtype=host.int8)
        unpack(self.group.kind, arrays[0], whole)
        return ShardState.of(given, whole)

    def _begun(self, shard: Shard, given: Array, others: Mapping[int, Array]) -> Array:
        """What units of a shard and its halo begin with: random states, or those given, of all units of all shards."""
        host, group, n = host_namespace(), self.group, shard.units
        slots = host.concat([shard.slots, shard.halo])
        whole = host.empty((slots.shape[0], group.n_chains), dtype=host.int8)
        if given is None:
            every = max(1, AT_ONCE // group.n_chains)
            for k in range(0, slots.shape[0], every):
                whole[k : k + every] = group.kind.uniform_states(host, group.uniforms(slots[k : k + every], 0))
        else:
            whole[:n] = given.T
            for number in shard.near:
                places = host.nonzero(shard.owners == number)[0]
                whole[n + places] = others[number].T[shard.rows[places]]
        shard.clamp(whole, slice(None))
        return whole

    def _see(self, shard: Shard, whole: Array, halo: list[Array], others: Mapping[int, Array], colour: int) -> None:
        """Write what others have shown of a colour to the halo."""
        if not others:
            return
        host, here = host_namespace(), shard.halo_of_colour(colour)
        rows = host.empty_like(halo[colour])
        for number, shown in others.items():
            from_rows, places = shard.seen(number, colour)
            rows[places] = shown[from_rows]
        halo[colour] = whole[shard.units + here.start : shard.units + here.stop] = rows


def _by_colour(rows: Array, ends: tuple[int, ...]) -> tuple[Array, ...]:
    """Rows of each colour, as arrays of their own."""
    host = host_namespace()
    return tuple(host.asarray(rows[a:b], copy=True) for a, b in zip((0, *ends[:-1]), ends, strict=True))
