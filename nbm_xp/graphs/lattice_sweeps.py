"""Sweeps of a lattice's block, and what is measured of its units.

Contract: the bits of `chains.Chains`, for every division into blocks, by arrays and by compiled loops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from nbm_xp.namespace import host_namespace, kernel
from nbm_xp.namespace.mrg31k3p.integers import STREAM_STEPS, State
from nbm_xp.rng import jump
from nbm_xp.rng.uniforms import elements

from .blocks import ChainGroup
from .energy_model import Clamp, EnergyModel
from .graph import Lattice, uniform_value
from .lattice_blocks import LatticeBlock, SlotRuns
from .layout import Colour, rounded
from .moves import LANES, MOVES, LocalMove

__all__ = ["Couplings", "LatticeChain", "couplings_of"]

AT_ONCE: Final = 2**20
"""So many states are made at once, of whose numbers there are several arrays."""


@dataclass(frozen=True)
class Couplings:
    """The couplings and fields of a lattice or a block: couplings are whole multiples of one number where they can be.

    Parameters
    ----------
    unit : float
        What multiples are of; 1 where couplings are no multiples.
    multiples : array or None
        int8 or float64; None where each is 1. Of shape (edges,), or of a block (axes, units).
    fields : float or array
        Of all units, or of each: of the lattice's shape, or of a block (units,); of Potts units with one more axis, a
        lattice's last one and a block's first one.
    largest : int
        The size of the largest multiple; 0 where couplings are no multiples.
    odd : bool
        Whether all multiples are odd.
    clamp : Clamp or None
        The clamped units and their values; of a block their places, and what is in each.
    """

    unit: float
    multiples: Any
    fields: Any
    largest: int
    odd: bool
    clamp: Clamp | None = None

    def of(self, block: LatticeBlock, graph: Lattice) -> Couplings:
        """Those of a block."""
        multiples = None if self.multiples is None else block.of_edges(graph, self.multiples)
        fields = self.fields if isinstance(self.fields, float) else block.of_units(self.fields)
        clamp = None if self.clamp is None else block.places_of(*self.clamp)
        return replace(self, multiples=multiples, fields=fields, clamp=clamp)


def couplings_of(machine: EnergyModel, clamp: Clamp | None = None) -> Couplings:
    """A lattice machine's couplings and fields, rounded as its layout's are, and its clamped units."""
    host, resolution = host_namespace(), machine.resolution
    weights, own = machine.by_edge_and_unit
    one, field = uniform_value(weights), uniform_value(own)
    if field is not None and not machine.kind.is_categorical:
        fields: Any = float(rounded(host.asarray(field), resolution))
    else:
        shape = (*machine.graph.shape, *own.shape[1:])  # type: ignore[misc]
        fields = host.reshape(rounded(own, resolution), shape)
    if one is not None:
        return Couplings(float(rounded(host.asarray(one), resolution)), None, fields, 1, True, clamp)
    weights = rounded(weights, resolution)
    sizes = host.abs(weights)
    least = float(host.min(sizes[sizes > 0])) if host.any(sizes > 0) else 1.0
    whole, largest = host.round(weights / least), float(host.max(sizes)) / least
    if largest > 127 or not host.all(whole * least == weights):
        return Couplings(1.0, weights, fields, 0, False, clamp)
    multiples = host.astype(whole, host.int8)
    return Couplings(least, multiples, fields, int(largest), bool(host.all(multiples & 1)), clamp)


@dataclass(frozen=True)
class LatticeChain:
    """A chain of a lattice's states.

    Parameters
    ----------
    group : ChainGroup
        The chains that run together.
    place : int
        Which of them it is.
    graph : Lattice
    """

    group: ChainGroup
    place: int
    graph: Lattice

    @property
    def beta(self) -> float:
        """Its inverse temperature."""
        return self.group.betas[self.place]

    @property
    def move(self) -> LocalMove:
        """How units are drawn."""
        move = MOVES[self.group.rule]
        assert isinstance(move, LocalMove)
        return move

    @property
    def nothing(self) -> int:
        """What stands where no unit is, which adds nothing to a sum."""
        return -1 if self.group.kind.is_categorical else 0

    @property
    def colours(self) -> range:
        """The colours that a sweep draws one after the other."""
        return range(self.graph.colour_count)

    @property
    def first_stream(self) -> State:
        """The state that the chain's first stream starts in."""
        return jump(self.group.seed, (self.group.first_chain + self.place) * LANES * STREAM_STEPS)

    def begins(self, runs: SlotRuns, sweep: int) -> Any:
        """Where the numbers of runs begin among those of the chain."""
        return sweep * self.group.numbers.steps * LANES + runs.slots

    def fresh(self, block: LatticeBlock) -> Any:
        """Random states of a block, with nothing in its halo."""
        host, values = host_namespace(), self.group.kind
        flat = host.full((block.units,), self.nothing, dtype=host.int8)
        if values.is_categorical:
            for colour in self.colours:
                for runs in block.runs(0, colour).parts(AT_ONCE):
                    flat[runs.each()[0]] = values.at_random(host, self.uniforms(runs, 0))
            return flat
        # at β = 0 the heat bath's upper value is drawn by lesser numbers, `at_random`'s by greater ones
        hot = replace(self.group, rule="heat_bath", betas=(0.0,) * self.group.n_chains)
        work = replace(self, group=hot).work(block, Couplings(1.0, None, 0.0, 1, True))
        for colour in self.colours:
            work.draw(flat, block.runs(0, colour), 0)
        own = block.own(flat)
        own[...] = 2 * values.least + int(values.step) - own
        return flat

    def work(self, block: LatticeBlock, couplings: Couplings) -> Any:
        """What draws and measures a block's units."""
        own = kernel("graphs.brick", host_namespace()) if self.move.kernel else None
        return (None if own is None else own(self, block, couplings)) or PortableSweep(self, block, couplings)

    def sweep(
        self,
        flat: Any,
        block: LatticeBlock,
        couplings: Couplings,
        sweep: int,
        count: int,
        seen: tuple[int, ...],
        watch: Callable[[Any], None] | None = None,
    ) -> Any:
        """Make sweeps of a block.

        Parameters
        ----------
        flat : array
            int8: the states of the block and of its halo of ``graph.reach * count`` layers, which change.
        sweep, count : int
            How many sweeps there were before, and how many to make.
        seen : tuple of ints
            After which of all sweeps is measured.
        watch : callable, optional
            Is called with the block's own states whenever is measured.

        Returns
        -------
        array
            float64, of shape (seen, sums).
        """
        host, work, rows = host_namespace(), self.work(block, couplings), []
        colours, reach = self.colours, self.graph.reach
        own = [[block.runs(margin, colour) for colour in colours] for margin in (0, 1)] if seen else []
        places, values = couplings.clamp or (slice(0, 0), 0)
        flat[places] = values
        for now in range(sweep + 1, sweep + count + 1):
            for colour in colours:
                margin = reach * (sweep + count - now) + colours[-1] - colour
                work.draw(flat, block.runs(margin, colour), now)
                flat[places] = values  # units of a colour do not see one another
            if now in seen:
                rows.append(self._measured(work, flat, *own))
                if watch is not None:
                    watch(block.inner(flat))
        return host.reshape(host.asarray(rows, dtype=host.float64), (len(rows), self.group.sums))

    def _measured(self, work: Any, flat: Any, own: list[SlotRuns], near: list[SlotRuns]) -> list[float]:
        """The sums of the units of a block, colour by colour; `near` has the units around it too.

        An edge belongs to its unit of the greater colour: what of the other one is known here is of this sweep.
        """
        if len(own) == 2:
            return work.measure(flat, own)  # type: ignore[no-any-return]
        host, none, totals = host_namespace(), own[0].none, [0.0] * self.group.sums
        flat = host.asarray(flat, copy=True)
        for colour in reversed(self.colours):
            found = work.measure(flat, [none, own[colour]] if colour else [own[0], none])
            totals = [total + one for total, one in zip(totals, found, strict=True)]
            flat[near[colour].each()[0]] = self.nothing
        return totals

    def uniforms(self, runs: SlotRuns, sweep: int) -> Any:
        """The numbers that units are drawn with in a sweep."""
        begins = self.begins(runs, sweep)
        return elements(self.first_stream, LANES, begins, runs.counts, "float64")


class PortableSweep:
    """Draws and sums of a block's units by the functions of `moves`."""

    def __init__(self, chain: LatticeChain, block: LatticeBlock, couplings: Couplings) -> None:
        host = host_namespace()
        self.chain, self.block, self.kind = chain, block, chain.group.kind
        self.axes, self.units = len(chain.graph.shape), block.units
        self.couplings, self.unit = couplings.multiples, couplings.unit
        fields = couplings.fields
        rows = self.kind.count if self.kind.is_categorical else 1
        self.fields = host.reshape(
            host.full((self.units,), fields) if isinstance(fields, float) else fields, (rows, self.units)
        ).T
        self.beta = host.asarray([[chain.beta]])

    def _colour(self, runs: SlotRuns) -> tuple[Any, Colour]:
        """The places of runs, and what is around them."""
        host = host_namespace()
        places, odd = runs.each()
        steps = self.block.steps[odd]
        neighbours = places[:, None, None] + steps
        if self.couplings is None:
            weights = host.full(neighbours.shape, self.unit)
        else:
            owner = host.where(host.asarray([True, False]), places[:, None, None], neighbours)  # of the edge: its first
            weights = self.unit * host.astype(self.couplings[host.arange(self.axes)[:, None], owner], host.float64)
        return places, Colour(
            0, places.shape[0], host.reshape(neighbours, (-1,)), host.reshape(weights, (-1, 1)), 2 * self.axes, None,
            self.fields[places, :],
        )  # fmt: skip

    def draw(self, flat: Any, runs: SlotRuns, sweep: int) -> None:
        """Draw units anew."""
        host, chain = host_namespace(), self.chain
        if not runs.places.shape[0]:
            return
        places, colour = self._colour(runs)
        uniforms = chain.uniforms(runs, sweep)[:, None]
        change = chain.move.change(self.kind.is_categorical)
        flat[places] = change(
            host, colour, self.kind, flat[:, None], flat[places][:, None], uniforms, self.beta
        )[:, 0]  # fmt: skip

    def measure(self, flat: Any, runs: list[SlotRuns]) -> list[float]:
        """The energy of units of two colours; then the sum of all values, or of Potts units how many have each.

        An edge belongs to its unit of the second colour: what is around that was drawn before.
        """
        host, found = host_namespace(), []
        pairs, alone = 0.0, 0.0
        for colour in (0, 1):
            places, around = self._colour(runs[colour])
            own = flat[places]
            found.append(own)
            near = host.reshape(flat[around.neighbours], (-1, 2 * self.axes))
            weights = host.reshape(around.couplings, near.shape)
            if self.kind.is_categorical:
                which = host.astype(own, host.int64)[:, None]
                alone += float(host.sum(host.take_along_axis(around.fields, which, axis=1)))
                pairs += colour * float(host.sum(weights * (near == own[:, None])))
            else:
                alone += float(host.sum(around.fields[:, 0] * own))
                pairs += colour * float(host.sum(weights * near * own[:, None]))
        own = host.concat(found)
        if self.kind.is_categorical:
            return [-(pairs + alone), *(float(host.sum(own == k)) for k in self.kind.values)]
        return [-(pairs + alone), float(host.sum(own, dtype=host.int64))]
