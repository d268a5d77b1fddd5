"""Chains of a lattice in chunks: laid out as tasks, computed when somebody asks, on threads or a cluster.

Contract: the bits of the undivided chains, whatever the chunks and whoever computes them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nbm_xp.boltzmann.randomness import entropy_of
from nbm_xp.namespace import array_namespace, host_namespace, is_array, is_lazy
from nbm_xp.namespace.stepping import stepped
from nbm_xp.rng import hashed_seed

from .brick_sweeps import Couplings, LatticeChain, couplings_of
from .bricks import Brick
from .chains import checked_states
from .division import Division, Index, Rim, divided
from .energy_model import EnergyModel
from .graph import finite
from .lattice_graph import Lattice
from .packed import packed, unpack
from .sweeps import RULES
from .values import Values

__all__ = ["LatticeWork", "checked_lattice", "chunked_chains", "finished", "names_of"]

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
        self, block: Index, kept: Any, rims: dict[Index, Rim], step: Step, couplings: Couplings
    ) -> tuple[Any, Rim, Any]:
        """Make some sweeps of a block: its states, what it shows of them, and what was measured."""
        sweep, count, seen = step
        brick = self._brick(block, 2 * count)
        flat = self._unpacked(brick, kept)
        middle = tuple(slice(brick.depth, brick.depth + n) for n in brick.size)
        for other, taken, place in self.division.pieces(block, brick.depth):
            if place == middle:
                continue
            there = tuple(slice(one.start + brick.depth, one.stop + brick.depth) for one in taken)
            mine = other == block
            brick.put(flat, place, brick.take(flat, there) if mine else self.division.part(other, rims[other], taken))
        totals = self.chain.sweep(flat, brick, couplings, sweep, count, seen)
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
    if not graph.two_colours:
        odd = next(n for n, ends in zip(graph.shape, graph.periodic, strict=True) if ends and n % 2)
        raise ValueError(f"chunks: periodic axes must be of even length, got {odd}")
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)} where there are chunks, got {rule!r}")
    return graph


def names_of(machine: EnergyModel, observe: Any) -> tuple[str, ...]:
    """What is to be observed of a lattice in chunks."""
    names = (observe,) if isinstance(observe, str) else tuple(observe)
    for name in names:
        if name not in ("energy", "magnetisation"):
            raise ValueError(f"observe must be of energy, magnetisation where there are chunks, got {name!r}")
    return names


def steps_of(sweep: int, burn_in: int, sweeps: int, every: int, at_once: int) -> list[Step]:
    """All sweeps, so many at once.

    Examples
    --------
    >>> steps_of(10, 1, 4, 2, 3)
    [(10, 3, (13,)), (13, 2, (15,))]
    """
    last = sweep + burn_in + sweeps
    seen = range(sweep + burn_in + every, last + 1, every)
    begins = range(sweep, last, at_once)
    return [
        (a, min(at_once, last - a), tuple(t for t in range(a + 1, min(a + at_once, last) + 1) if t in seen))
        for a in begins
    ]


def finished(values: Values, units: int, name: str, totals: Any) -> tuple[Any, str]:
    """What sums over all units, of shape (…, sums), say of a unit; and what to call it."""
    if name == "energy":
        return totals[..., 0] / units, "energy a unit"
    if values.kind != "potts":
        return totals[..., 1] / units, "mean value of a unit"
    share = totals[..., 1:].max(axis=-1) / units
    about = "order parameter: 0 where all values are as frequent, 1 where there is one alone"
    return (share * values.count - 1.0) / (values.count - 1.0), about


def given_to(
    graph: Lattice, couplings: Couplings, chain: LatticeChain, division: Division, depth: int
) -> dict[Index, Couplings]:
    """The couplings that each block's task is handed."""
    if couplings.multiples is None and isinstance(couplings.fields, float):
        return dict.fromkeys(division.blocks, couplings)
    return {
        block: couplings.of(chain.brick(division.offset(block), division.size(block), depth), graph)
        for block in division.blocks
    }


def chunked_chains(
    machine: EnergyModel,
    chunks: Any,
    *,
    chains: int,
    sweeps: int,
    burn_in: int,
    beta: Any,
    rule: str,
    every: int,
    observe: Any,
    clamp: Any,
    initial: Any,
    after: Any,
    first_chain: int,
    random_state: Any,
    library: Any,
    at_once: int | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Variables, coordinates and attributes of a lattice's chains in chunks; see `GraphMachine.sample`.

    Parameters
    ----------
    at_once : int, optional
        How many sweeps a task makes.
    """
    graph, names = checked_lattice(machine, rule), names_of(machine, observe)
    division = divided(graph.shape, graph.periodic, chunks)
    for name, value in (("clamp", clamp), ("library", library)):
        if value is not None:
            raise ValueError(f"{name} must be left out where there are chunks")
    betas = finite(beta, "beta", (chains,)).tolist()
    sweep, entropy = 0, None
    if after is not None:
        if random_state is not None or initial is not None:
            raise ValueError("after: its chains have a seed and states, so random_state and initial must be None")
        entropy, sweep = tuple(map(int, after.attrs["seed"])), int(after.attrs["sweeps"])
        initial, first_chain = after["state"].data, int(after["chain"].values[0])
    seed = hashed_seed(entropy_of(random_state)) if entropy is None else hashed_seed(entropy)
    if initial is not None:
        initial = _initial(machine, initial, chains, graph.shape)
    couplings = couplings_of(machine)
    count = at_once or division.sweeps_at_once
    steps = steps_of(sweep, burn_in, sweeps, every, count)
    neighbours = {block: division.neighbours(block, 2 * count) for block in division.blocks}
    states, totals, given = [], [], {}
    for k, one in enumerate(betas):
        chain = LatticeChain(graph.shape, graph.periodic, machine.units, rule, seed, first_chain + k, one)
        for _, n, _ in steps:
            if n not in given:
                given[n] = given_to(graph, couplings, chain, division, 2 * n)
        handed = [given[n] for _, n, _ in steps]
        last, measured = stepped(
            LatticeWork(chain, division, 2 * count), steps, division.chunks, neighbours, handed,
            [(len(seen), chain.sums) for *_, seen in steps], None if initial is None else initial[k, ...], "lattice",
        )  # fmt: skip
        states.append(last)
        totals.append(measured)
    xp = array_namespace(states[0])
    axes = tuple(f"axis_{k}" for k in range(len(graph.shape)))
    found: dict[str, Any] = {"state": (("chain", *axes), xp.stack(states), {"long_name": "last states"})}
    seen = [t for *_, seen in steps for t in seen]
    for name in names if seen else ():
        values, about = finished(machine.values, machine.units_count, name, xp.stack(totals))
        found[name] = (("chain", "sweep"), values, {"long_name": about})
    host = host_namespace()
    coordinates = {
        "chain": host.arange(first_chain, first_chain + chains),
        "sweep": ("sweep", host.asarray(seen, dtype=host.int64)),
        "beta": ("chain", host.asarray(betas)),
    }
    attributes = {"machine": repr(machine), "rule": rule, "seed": list(seed), "sweeps": sweep + burn_in + sweeps}
    return found, coordinates, attributes


def _initial(machine: EnergyModel, states: Any, chains: int, shape: tuple[int, ...]) -> Any:
    """States to begin with, of shape (chains, …): an array of the units' shape, or of the lattice's."""
    array = states if is_array(states) else host_namespace().asarray(getattr(states, "data", states))
    xp = array_namespace(array)
    if math.prod(array.shape) != chains * machine.units_count:
        raise ValueError(f"initial must be of shape {(chains, *shape)}, got {tuple(array.shape)}")
    if not is_lazy(xp):
        array, xp = checked_states(machine, xp.reshape(array, (chains, -1)), chains), host_namespace()
    return xp.reshape(xp.astype(array, xp.int8), (chains, *shape))
