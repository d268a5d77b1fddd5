"""Moves: the update rules of a sweep. To add a move, add an entry to `MOVES`, and loops of a local move to the core.

Contract: the same bits on every library. Sums are exact (see `layout`), exponentials are computed by
`nbm_xp.namespace.elementary`, and all other operations are correctly rounded under IEEE 754. The size of a cluster
depends on the data, so cluster moves synchronise with a device several times per sweep.

In a multi-spin sweep, a spin is set against its local field, of absolute value f, with the probability
q = 1 / (1 + exp(2 β f)), namely if ``u < ceil(q 2**41)``. The 10 high bits of the integer u come from random numbers
that a group of 64 chains shares, one bit per chain. The 31 low bits are the chain's own number, the same as in another
move's sweep; the compiled loop computes it only if the high bits do not decide the comparison, about once in a
thousand. A block of 64 slots takes 21 steps of the 64 streams of a group. High bit j, counted from the most
significant, is in steps 2 j (chains 0 to 30 of the group) and 2 j + 1 (chains 31 to 61), a chain per bit of the number
from the least significant; for chains 62 and 63 it is in bits 2 j and 2 j + 1 of step 20.

References
----------
R. H. Swendsen and J.-S. Wang, "Nonuniversal critical dynamics in Monte Carlo simulations", Physical Review Letters 58
(1987), 86-88; U. Wolff, "Collective Monte Carlo updating for spin systems", Physical Review Letters 62 (1989), 361-364.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, Protocol

from nbm_xp.machines import Array, Namespace
from nbm_xp.machines.units import Units
from nbm_xp.namespace import asarray, dtype_of, host_namespace, wide_dtypes
from nbm_xp.namespace.elementary import exp
from nbm_xp.namespace.kernels import kernel
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, State
from nbm_xp.rng import jump

from .chain_groups import LANES, ChainGroup, Numbers
from .energy_model import EnergyModel
from .layout import roots_of
from .terms import Colour


class MovingChains(Protocol):
    """The attributes of `Chains` that moves use."""

    machine: EnergyModel
    xp: Namespace
    states: Array
    betas: Array
    beta: Array
    free: Array
    numbers: tuple[Numbers, ...]


class Move:
    """An update rule.

    Attributes
    ----------
    name : str
    """

    name: str

    def check(self, machine: EnergyModel, betas: Array, first_chain: int, clamp: Any) -> None:
        """Raise `ValueError` if the move is not defined for these chains."""

    def numbers(self, machine: EnergyModel, seed: State) -> tuple[Numbers, ...]:
        """Return the sources of a sweep's random numbers; sweep 0 of ``Numbers(seed, units)`` gives initial states."""
        return (Numbers(seed, machine.n_units, first=1),)

    def sweep(self, chains: MovingChains, uniforms: list[Array]) -> Array:
        """Return the states after a sweep; the uniforms of each source have the shape (numbers, chains)."""
        raise NotImplementedError

    def compiled(self, chains: MovingChains, streams: list[Array], count: int) -> tuple[Any, list[Array]] | None:
        """Make sweeps by a compiled loop; return the states and each source's streams, or None without a loop."""
        return None


class LocalMove(Move):
    """A single-unit move: units are drawn given their neighbours, colour after colour. It can run on blocks of a graph.

    Parameters
    ----------
    name : str
    two, many : callables
        Functions that return the new values of a colour's units, for units of two values and for Potts units. Their
        arguments are namespace, colour, kind of units, states, old values, uniforms and β.
    """

    def __init__(self, name: str, two: Callable[..., Any], many: Callable[..., Any]) -> None:
        self.name, self._two, self._many = name, two, many

    def change(self, potts: bool) -> Callable[..., Any]:
        """Return the function that computes the new values of a colour's units."""
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
        own, layout, values = None, chains.machine.layout, chains.machine.kind
        if layout.factors is None and (chains.free is None or chains.free.shape[1] == 1):  # chains have equal clamps
            own = kernel("graphs.sweeps", chains.xp)
        found = own and own(layout, values, self.name, chains.states, streams[0], chains.beta, chains.free, count)
        return found and (found[0], [found[1]])


def _heat_bath(xp: Namespace, colour: Colour, values: Units, states: Array, old: Array, u: Array, beta: Array) -> Array:
    x = (beta * values.step) * colour.local_fields(xp, states)
    return values.of_bool(xp, u < 1.0 / (1.0 + exp(-x)))


def _heat_bath_potts(
    xp: Namespace, colour: Colour, values: Units, states: Array, old: Array, u: Array, beta: Array
) -> Array:
    x = beta * colour.local_of_values(xp, states, values.count)
    weights = exp(x - xp.max(x, axis=0, keepdims=True))
    sums = [weights[0, ...]]
    for k in range(1, values.count):  # in this order on every library
        sums.append(sums[-1] + weights[k, ...])
    return xp.sum(xp.astype(u * sums[-1] >= xp.stack(sums[:-1]), old.dtype), axis=0, dtype=old.dtype)


def _metropolis(
    xp: Namespace, colour: Colour, values: Units, states: Array, old: Array, u: Array, beta: Array
) -> Array:
    x = (beta * values.step) * colour.local_fields(xp, states)
    upper = old == 1
    taken = u < exp(xp.where(upper, -x, x))
    return values.of_bool(xp, upper != taken)


def _metropolis_potts(
    xp: Namespace, colour: Colour, values: Units, states: Array, old: Array, u: Array, beta: Array
) -> Array:
    f = colour.local_of_values(xp, states, values.count)
    scaled = u * (values.count - 1.0)
    which = xp.floor(scaled)
    new = xp.astype((xp.astype(old, which.dtype) + 1.0 + which) % float(values.count), old.dtype)
    before = behind = f[0, ...]
    for k in range(1, values.count):
        before, behind = xp.where(old == k, f[k, ...], before), xp.where(new == k, f[k, ...], behind)
    return xp.where(scaled - which < exp(beta * (behind - before)), new, old)


class ClusterMove(Move):
    """A move of clusters of equal units joined by Swendsen–Wang bonds.

    Parameters
    ----------
    name : str
    change : callable
        Function that returns the new states. Its arguments are namespace, kind of units, states, the root of each
        slot's cluster, and a uniform for each unit.
    """

    def __init__(self, name: str, change: Callable[..., Any]) -> None:
        self.name, self._change = name, change

    def check(self, machine: EnergyModel, betas: Array, first_chain: int, clamp: Any) -> None:
        """See `Move`."""
        host, layout = host_namespace(), machine.layout
        _raise(self.name, {
            "is for spins and Potts units": machine.kind.name == "binary",
            "is for couplings of one number for each edge": layout.weights.ndim > 1,
            "is for machines without fields": host.any(layout.fields != 0),
            "is for ferromagnets: couplings must not be negative": host.any(layout.weights < 0),
            "is for machines without factors": layout.factors is not None,
            "cannot clamp units: clamp must be None": bool(clamp),
        })  # fmt: skip

    def numbers(self, machine: EnergyModel, seed: State) -> tuple[Numbers, ...]:
        """See `Move`."""
        return (Numbers(jump(seed, 2 * DRAW_STEPS), machine.graph.edges + machine.n_units),)

    def sweep(self, chains: MovingChains, uniforms: list[Array]) -> Array:
        """See `Move`."""
        xp, values, states, layout = chains.xp, chains.machine.kind, chains.states, chains.machine.layout
        placed, edges = layout.on(xp), int(layout.first.shape[0])
        with wide_dtypes(xp):
            ends = [xp.take(states, ends, axis=0) for ends in (placed.first, placed.second)]
            bonds = 1.0 - exp(-(chains.beta * values.step) * placed.bonds)
            roots = roots_of((ends[0] == ends[1]) & (uniforms[0][:edges, :] < bonds), layout)
            return self._change(xp, values, states, roots, uniforms[0][edges:, :])


def _swendsen_wang(xp: Namespace, values: Units, states: Array, roots: Array, uniforms: Array) -> Array:
    """Draw a new value for each cluster, by the uniform of its first slot."""
    return xp.take_along_axis(values.uniform_states(xp, uniforms), roots, axis=0)


def _wolff(xp: Namespace, values: Units, states: Array, roots: Array, uniforms: Array) -> Array:
    """Change the value of one cluster: the first uniform chooses a unit, the second the new value of its cluster."""
    units = int(states.shape[0])
    unit = xp.astype(xp.floor(uniforms[:1, :] * float(units)), dtype_of(xp, "int64"))
    chosen = roots == xp.take_along_axis(roots, unit, axis=0)
    number = uniforms[1:2, :] if units > 1 else uniforms * 0.0
    ahead = 1 + xp.astype(xp.floor(number * (values.count - 1.0)), dtype_of(xp, "int64"))
    before = (xp.astype(states, ahead.dtype) - values.least) // int(values.step)
    new = (before + ahead) % values.count * int(values.step) + values.least
    return xp.where(chosen, xp.astype(new, states.dtype), states)


class MultiSpin(Move):
    """Heat bath of spins with 64 chains packed into the bits of a word: see the module's description."""

    name = "multi_spin"
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
            "is for machines without factors": layout.factors is not None,
            "is for couplings of one size": host.any(host.abs(layout.weights) != host.abs(layout.weights[:1])),
            f"takes {group} chains together: n_chains and first_chain must be multiples of that":
            betas.shape[0] % group or first_chain % group,
            "is for chains of one inverse temperature, not negative": host.any(betas != betas[0]) or betas[0] < 0,
            "cannot clamp units: clamp must be None": bool(clamp),
        })  # fmt: skip

    def numbers(self, machine: EnergyModel, seed: State) -> tuple[Numbers, ...]:
        """See `Move`."""
        shared = -(-machine.n_units // LANES) * LANES * self.STEPS
        return *super().numbers(machine, seed), Numbers(jump(seed, 3 * DRAW_STEPS), shared, self.GROUP)

    def _thresholds(self, chains: MovingChains) -> list[int]:
        """Return the thresholds of the integer u for local fields of `degree`, `degree` - 2, … couplings."""
        host, layout = host_namespace(), chains.machine.layout
        size, degree = abs(float(layout.weights[0])), int(layout.begins[1])
        fields = host.asarray(range(degree, -1, -2), dtype=host.float64) * size
        return [math.ceil(q * 2.0**41) for q in (1.0 / (1.0 + exp((float(chains.betas[0]) * 2.0) * fields))).tolist()]

    def compiled(self, chains: MovingChains, streams: list[Array], count: int) -> tuple[Any, list[Array]] | None:
        """See `Move`."""
        own = kernel("graphs.words", chains.xp)
        if own is None:
            return None
        layout, bounds = chains.machine.layout, self._thresholds(chains)
        states, shared = own(layout, chains.states, streams[1], streams[0], bounds, count)
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
                field = colour.local_fields(xp, states)
                bound = xp.zeros(field.shape, dtype=float64)
                for number, value in zip(range(degree, -1, -2), thresholds, strict=True):
                    bound = xp.where(xp.abs(field) == number * size, float(value), bound)
                upper = (field > 0) != (u[colour.begin : colour.end, :] < bound)
                new = 2 * xp.astype(upper, states.dtype) - 1
                states = xp.concat([states[: colour.begin, :], new, states[colour.end :, :]], axis=0)
        return states


def _raise(name: str, reasons: dict[str, Any]) -> None:
    """Raise `ValueError` with the first reason whose condition is true."""
    for reason, holds in reasons.items():
        if holds:
            raise ValueError(f"rule {name!r} {reason}")


MOVES: Final[dict[str, Move]] = {  # by name, which is the value of `rule`
    move.name: move
    for move in (
        LocalMove("heat_bath", _heat_bath, _heat_bath_potts),
        LocalMove("metropolis", _metropolis, _metropolis_potts),
        MultiSpin(),
        ClusterMove("swendsen_wang", _swendsen_wang),
        ClusterMove("wolff", _wolff),
    )
}


def draw(group: ChainGroup, states: Array, places: Array | slice, colour: Colour, uniforms: Array) -> None:
    """Draw a colour's units, the rows `places` of states in host memory, in place, by the group's local move."""
    host, move = host_namespace(), MOVES[group.rule]
    assert isinstance(move, LocalMove)
    change = move.change(group.kind.is_categorical)
    states[places] = change(host, colour, group.kind, states, states[places], uniforms, host.asarray([group.betas]))


def move_of(rule: str) -> Move:
    """Return the move with this name; raise `ValueError` if there is none."""
    if rule not in MOVES:
        raise ValueError(f"rule must be one of {', '.join(MOVES)}, got {rule!r}")
    return MOVES[rule]


def check_local(rule: str, chunks: Any, shards: Any) -> str | None:
    """Return which argument defines blocks, or None; raise `ValueError` for both, or if the move runs on no blocks."""
    if chunks is not None and shards is not None:
        raise ValueError("shards must be None where there are chunks")
    where = None if chunks is None and shards is None else "shards" if chunks is None else "chunks"
    local = [name for name, move in MOVES.items() if isinstance(move, LocalMove)]
    if where is not None and rule not in local:
        wanted = f"one of {', '.join(local)} where there are {where}"
        raise ValueError(f"rule must be {wanted}, got {rule!r}: the others need the undivided graph ({where}=None)")
    return where
