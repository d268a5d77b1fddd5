"""Moves: how a sweep changes the states of all chains. A new move is an entry of `MOVES`, and all else follows from it.

Contract: the same bits on every library. Sums are exact (see `layout`), exponentials are those of
`nbm_xp.rng.elementary`, and everything else is one operation that IEEE 754 fixes. How far a cluster reaches cannot be
known without a look at it, so cluster moves wait for a device some times in a sweep.

In a sweep by words, a spin turns against its local field, of size f, with the probability q = 1 / (1 + exp(2 β f)),
where ``u < ceil(q 2**41)``. The first ten bits of the integer u come from numbers that a group of 64 chains shares bit
by bit; the last 31 are a number of the chain's own, the one that it would have in another move's sweep, and are made
where the first ten leave the answer open: once in a thousand. A block of 64 slots takes 21 steps of the 64 streams of a
group. Bit j, from the most significant on, has in steps 2 j and 2 j + 1 the chains 0 to 30 and 31 to 61 of the group,
by the bits of the number from the least significant on; chains 62 and 63 have bits 2 j and 2 j + 1 of step 20.

References
----------
R. H. Swendsen and J.-S. Wang, "Nonuniversal critical dynamics in Monte Carlo simulations", Physical Review Letters 58
(1987), 86-88; U. Wolff, "Collective Monte Carlo updating for spin systems", Physical Review Letters 62 (1989), 361-364.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from nbm_xp.machines import Array, Namespace
from nbm_xp.machines.units import Units
from nbm_xp.namespace import asarray, dtype_of, host_namespace, wide_dtypes
from nbm_xp.namespace.kernels import kernel
from nbm_xp.rng.elementary import exp

from .energy_model import EnergyModel
from .layout import Colour, Layout, roots_of

__all__ = [
    "LANES", "MOVES", "ClusterMove", "LocalMove", "Move", "Source", "check_local", "energies", "local_fields",
    "move_of",
]  # fmt: skip

LANES: Final = 64
"""The random streams of a chain: enough to fill vector instructions, few enough to stay in the first cache."""


class MovingChains(Protocol):
    """What a move needs of `Chains`."""

    machine: EnergyModel
    xp: Namespace
    states: Array
    betas: Array
    beta: Array
    free: Array
    numbers: list[Any]


class Source(NamedTuple):
    """Random numbers of a sweep: which draw of the seed, how many, shared by how many chains, from which sweep."""

    draw: int
    numbers: int
    group: int = 1
    first: int = 0


class Move:
    """How a sweep changes states.

    Attributes
    ----------
    name : str
    kernel : str or None
        The compiled loop that makes whole sweeps, where there is one for a library.
    """

    name: str
    kernel: str | None = None

    def check(self, machine: EnergyModel, betas: Array, first_chain: int, clamp: Any) -> None:
        """Raise `ValueError` if such chains cannot move so."""

    def sources(self, machine: EnergyModel) -> tuple[Source, ...]:
        """The random numbers that a sweep takes; sweep 0 of draw 0 makes the first states."""
        return (Source(0, machine.n_units, first=1),)

    def sweep(self, chains: MovingChains, uniforms: list[Array]) -> Array:
        """The states after a sweep, by the uniforms of each source, of shape (count, chains)."""
        raise NotImplementedError

    def compiled(self, chains: MovingChains, streams: list[Array], count: int) -> tuple[Any, list[Array]] | None:
        """The states, and the streams of each source, after some sweeps by a compiled loop; None without one."""
        return None


class LocalMove(Move):
    """Each unit is drawn given its neighbours, colour after colour; such a move may run on blocks of a graph.

    Parameters
    ----------
    name : str
    two, many : callables
        The new values of a colour's units that have two values, and of those that have more: of namespace, colour,
        values, states, old values, uniforms and β.
    compiled : bool, optional
        Whether the compiled core has loops for it.
    """

    def __init__(self, name: str, two: Callable[..., Any], many: Callable[..., Any], compiled: bool = False) -> None:
        self.name, self._two, self._many = name, two, many
        self.kernel = "graphs.sweeps" if compiled else None

    def change(self, potts: bool) -> Callable[..., Any]:
        """What gives the new values of a colour's units."""
        return self._many if potts else self._two

    def sweep(self, chains: MovingChains, uniforms: list[Array]) -> Array:
        """See `Move`."""
        xp, values, states = chains.xp, chains.machine.kind, chains.states
        change = self.change(values.is_categorical)
        with wide_dtypes(xp):
            for colour in chains.machine.layout.on(xp).colours:
                begin, end = colour.begin, colour.end
                old = states[begin:end, :]
                new = change(xp, colour, values, states, old, uniforms[0][begin:end, :], chains.beta)
                if chains.free is not None:
                    new = xp.where(chains.free[begin:end, :], new, old)
                states = xp.concat([states[:begin, :], new, states[end:, :]], axis=0)
        return states

    def compiled(self, chains: MovingChains, streams: list[Array], count: int) -> tuple[Any, list[Array]] | None:
        """See `Move`."""
        own = kernel(self.kernel, chains.xp) if self.kernel else None
        layout, values = chains.machine.layout, chains.machine.kind
        found = own and own(layout, values, self.name, chains.states, streams[0], chains.beta, chains.free, count)
        return found and (found[0], [found[1]])


def local_fields(xp: Namespace, colour: Colour, states: Array) -> Array:
    """The local fields of a colour's units, of shape (slots, chains)."""
    wide = xp.astype(xp.take(states, colour.neighbours, axis=0), dtype_of(xp, "float64"))
    return colour.sums(xp, wide) + colour.fields


def _local_of_each(xp: Namespace, colour: Colour, states: Array, count: int) -> list[Array]:
    """The local fields of each value of Potts units."""
    around = xp.take(states, colour.neighbours, axis=0)
    float64 = dtype_of(xp, "float64")
    return [colour.sums(xp, xp.astype(around == k, float64)) + colour.fields[:, k : k + 1] for k in range(count)]


def _heat_bath(xp: Namespace, colour: Colour, values: Units, states: Array, old: Array, u: Array, beta: Array) -> Array:
    x = (beta * values.step) * local_fields(xp, colour, states)
    return values.of_bool(xp, u < 1.0 / (1.0 + exp(-x)))


def _heat_bath_potts(
    xp: Namespace, colour: Colour, values: Units, states: Array, old: Array, u: Array, beta: Array
) -> Array:
    x = [beta * f for f in _local_of_each(xp, colour, states, values.count)]
    largest = x[0]
    for other in x[1:]:
        largest = xp.maximum(largest, other)
    sums = [exp(x[0] - largest)]
    for other in x[1:]:
        sums.append(sums[-1] + exp(other - largest))
    point = u * sums[-1]
    new = xp.zeros(old.shape, dtype=old.dtype)
    for total in sums[:-1]:
        new = new + xp.astype(point >= total, old.dtype)
    return new


def _metropolis(
    xp: Namespace, colour: Colour, values: Units, states: Array, old: Array, u: Array, beta: Array
) -> Array:
    x = (beta * values.step) * local_fields(xp, colour, states)
    upper = old == 1
    taken = u < exp(xp.where(upper, -x, x))
    return values.of_bool(xp, upper != taken)


def _metropolis_potts(
    xp: Namespace, colour: Colour, values: Units, states: Array, old: Array, u: Array, beta: Array
) -> Array:
    f = _local_of_each(xp, colour, states, values.count)
    scaled = u * (values.count - 1.0)
    which = xp.floor(scaled)
    new = xp.astype((xp.astype(old, which.dtype) + 1.0 + which) % float(values.count), old.dtype)
    before, behind = f[0], f[0]
    for k in range(1, values.count):
        before, behind = xp.where(old == k, f[k], before), xp.where(new == k, f[k], behind)
    return xp.where(scaled - which < exp(beta * (behind - before)), new, old)


class ClusterMove(Move):
    """Clusters of equal units, joined by Swendsen's and Wang's bonds, change together.

    Parameters
    ----------
    name : str
    change : callable
        The new states: of namespace, values, states, the root of each slot's cluster, and the uniforms beyond those of
        the edges, one for each unit.
    """

    def __init__(self, name: str, change: Callable[..., Any]) -> None:
        self.name, self._change = name, change

    def check(self, machine: EnergyModel, betas: Array, first_chain: int, clamp: Any) -> None:
        """See `Move`."""
        host, layout = host_namespace(), machine.layout
        _raise(self.name, {
            "is for spins and Potts units": machine.kind.name == "binary",
            "is for machines without fields": host.any(layout.fields != 0),
            "is for ferromagnets: couplings must not be negative": host.any(layout.weights < 0),
            "cannot clamp units: clamp must be None": bool(clamp),
        })  # fmt: skip

    def sources(self, machine: EnergyModel) -> tuple[Source, ...]:
        """See `Move`."""
        return (Source(2, machine.graph.edges + machine.n_units),)

    def sweep(self, chains: MovingChains, uniforms: list[Array]) -> Array:
        """See `Move`."""
        xp, values, states, layout = chains.xp, chains.machine.kind, chains.states, chains.machine.layout
        placed, edges = layout.on(xp), int(layout.first.shape[0])
        with wide_dtypes(xp):
            ends = [xp.take(states, ends, axis=0) for ends in (placed.first, placed.second)]
            bonds = 1.0 - exp(-(chains.beta * values.step) * _weights(xp, layout))
            roots = roots_of(xp, layout, (ends[0] == ends[1]) & (uniforms[0][:edges, :] < bonds))
            return self._change(xp, values, states, roots, uniforms[0][edges:, :])


def _weights(xp: Namespace, layout: Layout) -> Array:
    """The couplings of all edges, of shape (edges, 1); of shape (1, 1) where they are equal."""
    if "equal" not in layout.kept:
        host = host_namespace()
        layout.kept["equal"] = layout.weights.shape[0] > 0 and bool(host.all(layout.weights == layout.weights[0]))
    weights = layout.on(xp).weights
    return weights[:1, :] if layout.kept["equal"] else weights


def _swendsen_wang(xp: Namespace, values: Units, states: Array, roots: Array, uniforms: Array) -> Array:
    """All clusters are drawn anew, each by the number of the first of its slots."""
    return xp.take_along_axis(values.uniform_states(xp, uniforms), roots, axis=0)


def _wolff(xp: Namespace, values: Units, states: Array, roots: Array, uniforms: Array) -> Array:
    """The cluster of the unit that the first number chooses gets another value, which the second one chooses."""
    units = int(states.shape[0])
    unit = xp.astype(xp.floor(uniforms[:1, :] * float(units)), dtype_of(xp, "int64"))
    chosen = roots == xp.take_along_axis(roots, unit, axis=0)
    number = uniforms[1:2, :] if units > 1 else uniforms * 0.0
    ahead = 1 + xp.astype(xp.floor(number * (values.count - 1.0)), dtype_of(xp, "int64"))
    before = (xp.astype(states, ahead.dtype) - values.least) // int(values.step)
    new = (before + ahead) % values.count * int(values.step) + values.least
    return xp.where(chosen, xp.astype(new, states.dtype), states)


class MultiSpin(Move):
    """Heat bath of spins, 64 chains in the bits of a word, with as many bits of random numbers as the answers need."""

    name, kernel = "multi_spin", "graphs.words"
    GROUP, PLANES, MOST_NEIGHBOURS = 64, 10, 7
    STEPS = 2 * PLANES + 1

    def check(self, machine: EnergyModel, betas: Array, first_chain: int, clamp: Any) -> None:
        """See `Move`."""
        host, layout = host_namespace(), machine.layout
        degrees, most, group = layout.begins[1:] - layout.begins[:-1], self.MOST_NEIGHBOURS, self.GROUP
        _raise(self.name, {
            "is for spins without fields": machine.kind.name != "spin" or host.any(layout.fields != 0),
            f"is for units with as many neighbours each, from 1 to {most}": not 1 <= int(degrees[0]) <= most
            or host.any(degrees != degrees[0]),
            "is for couplings of one size": host.any(host.abs(layout.weights) != host.abs(layout.weights[:1])),
            f"takes {group} chains together: n_chains and first_chain must be multiples of that":
            betas.shape[0] % group or first_chain % group,
            "is for chains of one inverse temperature, not negative": host.any(betas != betas[0]) or betas[0] < 0,
            "cannot clamp units: clamp must be None": bool(clamp),
        })  # fmt: skip

    def sources(self, machine: EnergyModel) -> tuple[Source, ...]:
        """See `Move`."""
        shared = -(-machine.n_units // LANES) * LANES * self.STEPS
        return Source(0, machine.n_units, first=1), Source(3, shared, self.GROUP)

    def _thresholds(self, chains: MovingChains) -> list[int]:
        """Below which integer u a spin turns against a field of the largest size, of two neighbours less, and so on."""
        host, layout = host_namespace(), chains.machine.layout
        size, degree = abs(float(layout.weights[0])), int(layout.begins[1])
        fields = host.asarray(range(degree, -1, -2), dtype=host.float64) * size
        return [math.ceil(q * 2.0**41) for q in (1.0 / (1.0 + exp((float(chains.betas[0]) * 2.0) * fields))).tolist()]

    def compiled(self, chains: MovingChains, streams: list[Array], count: int) -> tuple[Any, list[Array]] | None:
        """See `Move`."""
        own = kernel(self.kernel, chains.xp)
        if own is None:
            return None
        states, shared = own(
            chains.machine.layout, chains.states, streams[1], streams[0], self._thresholds(chains), count
        )  # fmt: skip
        return states, [chains.numbers[0].after(streams[0], count), shared]

    def sweep(self, chains: MovingChains, uniforms: list[Array]) -> Array:
        """See `Move`."""
        xp, layout, states, (own, shared) = chains.xp, chains.machine.layout, chains.states, uniforms
        n, count = states.shape
        with wide_dtypes(xp):
            float64 = dtype_of(xp, "float64")
            z = xp.reshape(shared * 2.0**31, (-1, self.STEPS, LANES, count // self.GROUP, 1))
            places = [asarray([2.0**k for k in range(bits)], xp, "float64") for bits in (31, 2)]
            high = None
            for plane in range(self.PLANES):
                last = xp.floor(z[:, -1, ...] / 4.0**plane)
                words = (z[:, 2 * plane, ...], places[0]), (z[:, 2 * plane + 1, ...], places[0]), (last, places[1])
                bits = xp.concat([xp.floor(word / place) % 2.0 for word, place in words], axis=-1)
                high = bits if high is None else 2.0 * high + bits
            u = xp.reshape(high, (-1, count))[:n, :] * 2.0**31 + own * 2.0**31
            size, degree = abs(float(layout.weights[0])), int(layout.begins[1])
            thresholds = self._thresholds(chains)
            for colour in layout.on(xp).colours:
                field = local_fields(xp, colour, states)
                bound = xp.zeros(field.shape, dtype=float64)
                for number, value in zip(range(degree, -1, -2), thresholds, strict=True):
                    bound = xp.where(xp.abs(field) == number * size, float(value), bound)
                upper = (field > 0) != (u[colour.begin : colour.end, :] < bound)
                new = 2 * xp.astype(upper, states.dtype) - 1
                states = xp.concat([states[: colour.begin, :], new, states[colour.end :, :]], axis=0)
        return states


def _raise(name: str, reasons: dict[str, Any]) -> None:
    """Raise with the first reason that holds."""
    for reason, holds in reasons.items():
        if holds:
            raise ValueError(f"rule {name!r} {reason}")


MOVES: Final[dict[str, Move]] = {
    move.name: move
    for move in (
        LocalMove("heat_bath", _heat_bath, _heat_bath_potts, compiled=True),
        LocalMove("metropolis", _metropolis, _metropolis_potts, compiled=True),
        MultiSpin(),
        ClusterMove("swendsen_wang", _swendsen_wang),
        ClusterMove("wolff", _wolff),
    )
}
"""All moves, by the names that `rule` takes."""


def move_of(rule: str) -> Move:
    """The move of a name."""
    if rule not in MOVES:
        raise ValueError(f"rule must be one of {', '.join(MOVES)}, got {rule!r}")
    return MOVES[rule]


def check_local(rule: str, where: str) -> None:
    """Raise `ValueError` for a move that cannot run on blocks; `where` is the argument that asks for blocks."""
    local = [name for name, move in MOVES.items() if isinstance(move, LocalMove)]
    if rule not in local:
        raise ValueError(
            f"rule must be one of {', '.join(local)} where there are {where}, got {rule!r}: "
            f"the others need the undivided graph ({where}=None)"
        )


def energies(xp: Namespace, layout: Layout, values: Units, states: Array) -> Array:
    """The energy of each chain, float64 of shape (chains,); no sum is rounded."""
    own = kernel("graphs.energies", xp)
    found = None if own is None else own(layout, values, states)
    if found is not None:
        return found
    placed = layout.on(xp)
    with wide_dtypes(xp):
        float64 = dtype_of(xp, "float64")
        a, b = (xp.take(states, ends, axis=0) for ends in (placed.first, placed.second))
        if values.is_categorical:
            pairs = xp.astype(a == b, float64)
            each = [xp.astype(states == k, float64) * placed.fields[:, k : k + 1] for k in range(values.count)]
            alone = sum((xp.sum(x, axis=0) for x in each[1:]), xp.sum(each[0], axis=0))
        else:
            pairs = xp.astype(a * b, float64)
            alone = xp.sum(xp.astype(states, float64) * placed.fields, axis=0)
        return -(xp.sum(pairs * placed.weights, axis=0) + alone)
