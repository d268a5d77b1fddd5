"""Chains of a lattice in chunks: laid out as tasks, computed when somebody asks, on threads or a cluster.

Contract: the bits of the undivided chains, whatever the chunks and whoever computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from nbm_xp.namespace import array_namespace, host_namespace
from nbm_xp.namespace.blocks import stepped

from .brick_sweeps import Couplings, LatticeChain, couplings_of
from .bricks import Brick
from .division import Division, Index, Rim, divided
from .energy_model import EnergyModel
from .labels import about
from .lattice_graph import Lattice
from .lazily import CORRELATIONS, MEANS, OVERLAP, Asked, Begun, Found, begun_lazily, checked_rule
from .observers import ABOUT_CORRELATIONS, ABOUT_MEANS, ABOUT_OVERLAP, means_along, products_along
from .packed import packed, unpack

__all__ = ["LatticeWork", "checked_lattice", "chunked_chains"]

Step = tuple[int, int, tuple[int, ...]]
"""How many sweeps there were before, how many are made, and which of all sweeps are measured."""


@dataclass(frozen=True)
class LatticeWork:
    """What tasks do for a chain.

    Parameters
    ----------
    chain : LatticeChain
    division : Division
    depth : int
        How many layers of itself a block shows.
    """

    chain: LatticeChain
    division: Division
    depth: int
    dtype: str = "int8"

    def begin(self, block: Index) -> tuple[Any, Rim]:
        """The states that a block begins with, and what it shows of them."""
        brick = self._brick(block, 2)
        return self._kept(brick, self.chain.fresh(brick))

    def resume(self, block: Index, states: Any) -> tuple[Any, Rim]:
        """States to begin with, as tasks keep them, and what they show."""
        brick = self._brick(block, 0)
        flat = self._nothing(brick)
        brick.put(flat, tuple(slice(0, n) for n in brick.size), states)
        return self._kept(brick, flat)

    def step(
        self,
        block: Index,
        kept: Any,
        rims: dict[Index, Rim],
        step: Step,
        couplings: Couplings,
        watch: Callable[[Any], None] | None = None,
    ) -> tuple[Any, Rim, Any]:
        """Make some sweeps of a block: its states, what it shows of them, and what was measured."""
        sweep, count, seen = step
        brick = self._brick(block, self.chain.lattice.reach * count)
        flat = self._unpacked(brick, kept)
        middle = tuple(slice(brick.depth, brick.depth + n) for n in brick.size)
        for other, taken, place in self.division.pieces(block, brick.depth):
            if place == middle:
                continue
            there = tuple(slice(one.start + brick.depth, one.stop + brick.depth) for one in taken)
            mine = other == block
            brick.put(flat, place, brick.take(flat, there) if mine else self.division.part(other, rims[other], taken))
        totals = self.chain.sweep(flat, brick, couplings, sweep, count, seen, watch)
        return *self._kept(brick, flat), totals

    def array(self, block: Index, kept: Any) -> Any:
        """The states of a block that were kept."""
        brick = self._brick(block, 0)
        return brick.inner(self._unpacked(brick, kept))

    def _brick(self, block: Index, depth: int) -> Brick:
        return self.chain.brick(self.division.offset(block), self.division.size(block), depth)

    def _nothing(self, brick: Brick) -> Any:
        host = host_namespace()
        return host.full((brick.units,), self.chain.nothing, dtype=host.int8)

    def _kept(self, brick: Brick, flat: Any) -> tuple[Any, Rim]:
        """The states of a brick as they are kept, and what it shows of them."""
        rim: list[Any] = []
        for layers in self.division.layers(brick.size, self.depth):
            place = layers and tuple(slice(one.start + brick.depth, one.stop + brick.depth) for one in layers)
            rim.append(place and brick.take(flat, place))
        return packed(self.chain.values, brick.own(flat)), tuple(rim)

    def _unpacked(self, brick: Brick, kept: Any) -> Any:
        """The states of a brick that were kept, with nothing around."""
        flat = self._nothing(brick)
        own = brick.own(flat)
        unpack(self.chain.values, kept, own)
        if brick.size[-1] % 2:
            own[..., 1, -1] = self.chain.nothing
        return flat


@dataclass(frozen=True)
class PairWork:
    """What tasks do for two chains of which the overlap is measured: blocks have both, along a first axis.

    Parameters
    ----------
    one, other : LatticeWork
    """

    one: LatticeWork
    other: LatticeWork
    dtype: str = "int8"

    def begin(self, block: Index) -> tuple[Any, Any]:
        """The states that a block begins with, and what it shows of them."""
        return self._together(work.begin(block[1:]) for work in (self.one, self.other))

    def resume(self, block: Index, states: Any) -> tuple[Any, Any]:
        """States to begin with, as tasks keep them, and what they show."""
        return self._together(work.resume(block[1:], states[k]) for k, work in enumerate((self.one, self.other)))

    def step(
        self, block: Index, kept: Any, rims: dict[Index, Any], step: Step, couplings: Couplings
    ) -> tuple[Any, Any, Any]:
        """Make some sweeps of both: their states, what they show, and what was measured of each and of both."""
        host, values = host_namespace(), self.one.chain.values
        seen: list[Any] = []
        products: list[float] = []

        def beside(states: Any) -> None:
            before = host.empty_like(states)
            unpack(values, seen[len(products)], before)
            products.append(float(host.sum(states * before, dtype=host.int64)))

        shown: tuple[dict[Index, Rim], ...] = tuple({place[1:]: rim[k] for place, rim in rims.items()} for k in (0, 1))
        keep = lambda states: seen.append(packed(values, states))  # noqa: E731
        *first, totals = self.one.step(block[1:], kept[0], shown[0], step, couplings, keep)
        *second, others = self.other.step(block[1:], kept[1], shown[1], step, couplings, beside)
        column = host.reshape(host.asarray(products, dtype=host.float64), (-1, 1))
        return *self._together((first, second)), host.concat([totals, others, column], axis=1)

    def array(self, block: Index, kept: Any) -> Any:
        """The states of a block that were kept."""
        works = zip((self.one, self.other), kept, strict=True)
        return host_namespace().stack([work.array(block[1:], states) for work, states in works])

    @staticmethod
    def _together(made: Iterable[Any]) -> tuple[Any, Any]:
        """What was kept of both, and what they show."""
        kept, shown = zip(*made, strict=True)
        return kept, shown


def checked_lattice(machine: EnergyModel, rule: str) -> Lattice:
    """The lattice of a machine that can be in chunks.

    Raises
    ------
    ValueError
        If it cannot be.
    """
    graph = machine.graph
    if not isinstance(graph, Lattice):
        raise ValueError(f"chunks: the machine must be on a lattice, got {graph!r}")
    checked_rule(rule, "chunks")
    return graph


def steps_of(sweep: int, burn_in: int, sweeps: int, every: int, at_once: int, looks: bool = False) -> list[Step]:
    """All sweeps, so many at once; where somebody looks at the states, what is measured ends a step.

    Examples
    --------
    >>> steps_of(10, 1, 4, 2, 3)
    [(10, 3, (13,)), (13, 2, (15,))]
    >>> steps_of(10, 1, 4, 2, 8, looks=True)
    [(10, 3, (13,)), (13, 2, (15,))]
    """
    last = sweep + burn_in + sweeps
    seen = range(sweep + burn_in + every, last + 1, every)
    begins = {*range(sweep, last, at_once), *(seen if looks else ()), last}
    return [(a, b - a, tuple(t for t in range(a + 1, b + 1) if t in seen)) for a, b in pairwise(sorted(begins))]


def given_to(
    graph: Lattice, couplings: Couplings, chain: LatticeChain, division: Division, depth: int
) -> dict[Index, Couplings]:
    """The couplings that each block's task is handed."""
    if couplings.multiples is None and isinstance(couplings.fields, float) and couplings.held is None:
        return dict.fromkeys(division.blocks, couplings)
    return {
        block: couplings.of(chain.brick(division.offset(block), division.size(block), depth), graph)
        for block in division.blocks
    }


def chunked_chains(machine: EnergyModel, chunks: Any, asked: Asked, at_once: int | None = None) -> Found:
    """A lattice's chains in chunks; see `GraphMachine.sample`.

    Parameters
    ----------
    machine : EnergyModel
    chunks : int or sequence
    asked : Asked
    at_once : int, optional
        How many sweeps a task makes.
    """
    graph = checked_lattice(machine, asked.rule)
    division = divided(graph.shape, graph.periodic, chunks)
    begun = begun_lazily(machine, asked, graph.shape, "chunks", (OVERLAP, CORRELATIONS, MEANS))
    couplings = couplings_of(machine, begun.held)
    count = at_once or division.sweeps_at_once
    steps = steps_of(begun.sweep, asked.burn_in, asked.sweeps, asked.every, count, begun.looks)
    works = [
        LatticeWork(
            LatticeChain(
                graph.shape, graph.periodic, machine.units, asked.rule, begun.seed, begun.first_chain + k, beta
            ),
            division,
            graph.reach * count,
        )
        for k, beta in enumerate(begun.betas)
    ]
    neighbours = {block: division.neighbours(block, graph.reach * count) for block in division.blocks}
    given = {n: given_to(graph, couplings, works[0].chain, division, graph.reach * n) for n in {n for _, n, _ in steps}}
    handed, seen = [given[n] for _, n, _ in steps], [t for *_, seen in steps for t in seen]
    lengths, sums = [len(seen) for *_, seen in steps], works[0].chain.sums
    looks = [number for number, length in enumerate(lengths) if length] if begun.looks else []
    axes = tuple(f"axis_{k}" for k in range(len(graph.shape)))
    if OVERLAP not in begun.names:
        made = [
            stepped(
                work, steps, division.chunks, neighbours, handed, [(length, sums) for length in lengths],
                None if begun.initial is None else begun.initial[k, ...], "lattice", looks,
            )
            for k, work in enumerate(works)
        ]  # fmt: skip
        xp = array_namespace(made[0][0])
        totals = xp.stack([measured for _, measured, _ in made]) if seen else None
        found = begun.found(machine, asked, axes, xp.stack([last for last, *_ in made]), seen, totals)
        return _looked_at(begun, found, graph, axes, [looked for *_, looked in made])
    near = {(0, *block): [(0, *other) for other in others] for block, others in neighbours.items()}
    told = [{(0, *block): value for block, value in one.items()} for one in handed]
    made = [
        stepped(
            PairWork(works[k], works[k + 1]), steps, ((2,), *division.chunks), near, told,
            [(length, 2 * sums + 1) for length in lengths],
            None if begun.initial is None else begun.initial[k : k + 2, ...], "lattices", looks,
        )
        for k in range(0, len(works), 2)
    ]  # fmt: skip
    xp = array_namespace(made[0][0])
    states = xp.concat([last for last, *_ in made])
    if not seen:
        return begun.found(machine, asked, axes, states, seen, None)
    each = [measured[:, k : k + sums] for _, measured, _ in made for k in (0, sums)]
    found = begun.found(machine, asked, axes, states, seen, xp.stack(each))
    overlaps = xp.stack([measured[:, -1] for _, measured, _ in made]) / machine.units_count
    found[0][OVERLAP] = (("pair", "sweep"), overlaps, about(ABOUT_OVERLAP))
    return _looked_at(
        begun, found, graph, axes, [[both[k, ...] for both in looked] for *_, looked in made for k in (0, 1)]
    )  # fmt: skip


def _looked_at(begun: Begun, found: Found, graph: Lattice, axes: tuple[str, ...], seen: list[list[Any]]) -> Found:
    """What was found, with what is made of the states of each chain after each sweep that was looked at."""
    if not (begun.looks and seen[0]):
        return found
    xp, d = array_namespace(seen[0][0]), len(axes)
    chains, count = [xp.stack(states) for states in seen], len(seen[0])
    if CORRELATIONS in begun.names:
        along = [products_along(xp, states, graph, tuple(range(1, d + 1))) for states in chains]
        sums = [xp.stack([xp.sum(of_axis, axis=0) for of_axis in each]) for each in zip(*along, strict=True)]
        means = means_along(xp, sums, graph, count)
        found[0][CORRELATIONS] = (("chain", "axis", "distance"), means, about(ABOUT_CORRELATIONS))
    if MEANS in begun.names:
        units = xp.stack([_mean(states) for states in chains])
        pairs = [
            xp.concat([
                xp.reshape(_mean(_products(states, axis, ring)), (-1,)) for axis, ring in enumerate(graph.periodic, 1)
            ])
            for states in chains
        ]  # fmt: skip
        found[0]["unit_means"] = (("chain", *axes), units, about(ABOUT_MEANS["unit_means"]))
        found[0]["edge_means"] = (("chain", "edge"), xp.stack(pairs), about(ABOUT_MEANS["edge_means"]))
    return found


def _mean(states: Any) -> Any:
    """The mean over a first axis, of a sum that is exact."""
    xp = array_namespace(states)
    return xp.sum(states, axis=0, dtype=xp.int64) / states.shape[0]


def _products(states: Any, axis: int, ring: bool) -> Any:
    """The products of units and the next ones along an axis."""
    xp, head = array_namespace(states), (slice(None),) * axis
    if ring:
        return states * xp.roll(states, -1, axis=axis)
    return states[(*head, slice(None, -1), ...)] * states[(*head, slice(1, None), ...)]
