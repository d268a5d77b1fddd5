"""Chains of a machine's states: which random number belongs where, what chains start from, and their sweeps.

Contract: a number follows from the seed, the sweep, the slot of the unit and the number of the chain, and from nothing
else. So chains can be divided, sweeps interrupted and resumed, and slots drawn one by one, and neither the library nor
the number of chains that run together changes a bit. All numbers cost a step of the generator each; a single one six
products.

Chain c has `LANES` streams of MRG31k3p, numbers ``c * LANES`` and on from the seed's state, 2**72 steps apart. A sweep
of n units takes ``ceil(n / LANES)`` steps of each of them: in sweep t, slot s has output ``t * ceil(n / LANES) + s //
LANES`` of stream ``s % LANES``. Sweep 0 draws the first states.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nbm_xp.machines import Array, Namespace
from nbm_xp.machines.randomness import entropy_of
from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import (
    array_namespace,
    asarray,
    convert,
    default_namespace,
    get_namespace,
    host_namespace,
    is_array,
    is_lazy,
    library_name,
    to_numpy,
    wide_dtypes,
)
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS, STREAM_STEPS, State
from nbm_xp.rng import hashed_seed, jump, substreams
from nbm_xp.rng.uniforms import advance, elements, numbers

from . import moves
from .energy_model import Clamp, EnergyModel, check_machine, checked_clamp, checked_states
from .graph import finite
from .moves import LANES

__all__ = ["Chains", "Numbers", "Start", "started"]


@dataclass(frozen=True)
class Numbers:
    """The random numbers of some units, chain by chain and sweep by sweep.

    Parameters
    ----------
    seed : six ints
        The state that the streams are counted from.
    units : int
        How many slots a sweep visits.

    Examples
    --------
    >>> numbers = Numbers((234,) * 6, 100)
    >>> xp = host_namespace()
    >>> both = numbers.sweep(xp, numbers.states(0, 2, 5), 2)
    >>> alone = numbers.sweep(xp, numbers.states(1, 1, 5), 1)
    >>> both.shape, bool((both[:, 1:] == alone).all())
    ((100, 2), True)
    >>> bool((numbers.some(1, 5, 70, 80) == alone[70:80, 0]).all())
    True
    """

    seed: State
    units: int

    @property
    def steps(self) -> int:
        """How many steps of each stream a sweep takes."""
        return -(-self.units // LANES)

    def states(self, first_chain: int, chains: int, sweep: int) -> Array:
        """The states of all streams of some chains before a sweep, int32 in the host's memory.

        Of shape (LANES * chains, 6): all chains' first stream, then all chains' second one.
        """
        host = host_namespace()
        made = substreams(jump(self.seed, first_chain * LANES * STREAM_STEPS), chains * LANES)
        lanes_first = host.permute_dims(host.reshape(made, (chains, LANES, 6)), (1, 0, 2))
        return self.after(host.reshape(lanes_first, (chains * LANES, 6)), sweep)

    def after(self, states: Array, sweeps: int = 1) -> Array:
        """The states after so many sweeps more."""
        return advance(states, sweeps * self.steps * int(states.shape[0]))

    def sweep(self, xp: Namespace, states: Array, chains: int) -> Array:
        """The numbers of the next sweep, float64 of shape (units, chains), of a library."""
        with wide_dtypes(xp):
            drawn = numbers(xp, convert(states, xp), self.units * chains, "float64")
            return xp.reshape(drawn, (self.units, chains))

    def some(self, chain: int, sweep: int, begin: int, end: int) -> Array:
        """The numbers of some slots of one chain alone, in the host's memory."""
        host = host_namespace()
        first = jump(self.seed, chain * LANES * STREAM_STEPS)
        start = sweep * self.steps * LANES + begin
        return elements(first, LANES, host.asarray([start]), host.asarray([end - begin]), "float64")


@dataclass(frozen=True)
class Start:
    """What chains start from, wherever they run.

    Parameters
    ----------
    betas : array
        float64, of shape (chains,), in host memory.
    seed : six ints
        What all random numbers follow from.
    first_chain, sweep : int
        The number of the first chain, and how many sweeps there were before.
    states : array or None
        Of shape (chains, units); None for random states.
    clamp : Clamp or None
    """

    betas: Array
    seed: State
    first_chain: int = 0
    sweep: int = 0
    states: Array = None
    clamp: Clamp | None = None


def started(
    machine: EnergyModel,
    n_chains: int,
    beta: Array,
    random_state: Any,
    *,
    initial: Any = None,
    clamp: dict[int, int] | None = None,
    first_chain: int = 0,
) -> Start:
    """What chains start from, by the arguments of `GraphMachine.sample`.

    Raises
    ------
    ValueError
        If an argument is not what it can be.
    """
    check_machine(machine)
    n_chains = positive_int(n_chains, "n_chains")
    betas = finite(beta, "beta", (n_chains,))
    first_chain, clamped = positive_int(first_chain, "first_chain", 0), checked_clamp(machine, clamp)
    seed, sweep = None, 0
    if hasattr(initial, "data_vars"):
        if random_state is not None:
            raise ValueError("random_state must be None where initial is a dataset, whose chains have a seed")
        try:
            seed, sweep = tuple(map(int, initial.attrs["seed"])), int(initial.attrs["sweeps"])
            initial, first_chain = initial["state"].data, int(initial["chain"].values[0])
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError("initial must be states, or the dataset that sample returned") from error
    if initial is not None:
        array = initial if is_array(initial) else host_namespace().asarray(getattr(initial, "data", initial))
        xp = array_namespace(array)
        if math.prod(array.shape) != n_chains * machine.n_units:
            raise ValueError(f"initial must be of shape {(n_chains, machine.n_units)}, got {tuple(array.shape)}")
        if is_lazy(xp):
            initial = xp.astype(array, xp.int8)
        else:
            initial = checked_states(machine, xp.reshape(array, (n_chains, -1)), n_chains)
    state = hashed_seed(entropy_of(random_state)) if seed is None else hashed_seed(seed)
    return Start(betas, state, first_chain, sweep, initial, clamped)


class Chains:
    """Chains that run together in memory; their states are in one array of any library.

    Parameters
    ----------
    machine : EnergyModel
    start : Start
    rule : str, optional
        One of `nbm_xp.graphs.moves.MOVES`.
    library : str or namespace, optional
        The library of the states; by default the configured one.

    Attributes
    ----------
    states : array
        int8, of shape (units, chains), in the order of slots.
    sweep : int
        How many sweeps there were.
    """

    def __init__(self, machine: EnergyModel, start: Start, rule: str = "heat_bath", library: Any = None) -> None:
        host, self.move = host_namespace(), moves.move_of(rule)
        xp = default_namespace() if library is None else get_namespace(library) if isinstance(library, str) else library
        if is_lazy(xp):
            raise ValueError(
                f"library must be one whose arrays have values at once, got {library_name(xp)}: chunks (of a lattice) "
                "or shards (of any graph) lay the work out for Dask, by moves of single units; clusters reach through "
                "the whole graph, which must be in memory"
            )
        self.machine, self.xp, self.seed, self.first_chain = machine, xp, start.seed, start.first_chain
        self.count, self.sweep = int(start.betas.shape[0]), start.sweep
        self._clamp = start.clamp
        self.set_betas(start.betas)
        layout, first = machine.layout, Numbers(start.seed, machine.n_units)
        if start.states is None:
            made = machine.kind.uniform_states(host, first.sweep(host, self._streams(first, 0), self.count))
        else:
            made = host.take(checked_states(machine, start.states, self.count), layout.order, axis=1).T
        self.free = None
        if start.clamp is not None:
            slots = host.argsort(layout.order)[start.clamp[0]]
            free, made = host.ones((machine.n_units, 1), dtype=host.bool), host.asarray(made, copy=True)
            made[slots, :], free[slots, 0] = start.clamp[1][:, None], False
            self.free = asarray(free, xp)
        self.states = asarray(host.ascontiguousarray(made), xp)
        self._sources = self.move.sources(machine)
        self.numbers = [Numbers(jump(start.seed, source.draw * DRAW_STEPS), source.numbers) for source in self._sources]
        self._rng = [
            self._streams(each, start.sweep + source.first, source.group)
            for each, source in zip(self.numbers, self._sources, strict=True)
        ]
        with wide_dtypes(xp):
            self._by_unit = asarray(host.argsort(layout.order), xp, "int64")

    def _streams(self, numbers: Numbers, sweep: int, group: int = 1) -> Array:
        return numbers.states(self.first_chain // group, self.count // group, sweep)

    def step(self, count: int = 1) -> None:
        """Make so many sweeps."""
        found = self.move.compiled(self, self._rng, count)
        if found is not None:
            self.states, self._rng = found
            self.sweep += count
            return
        for _ in range(count):
            uniforms = [
                each.sweep(self.xp, streams, self.count // source.group)
                for each, streams, source in zip(self.numbers, self._rng, self._sources, strict=True)
            ]
            self._rng = [each.after(streams) for each, streams in zip(self.numbers, self._rng, strict=True)]
            self.states = self.move.sweep(self, uniforms)
            self.sweep += 1

    def set_betas(self, betas: Array) -> None:
        """Give the chains other inverse temperatures."""
        self.move.check(self.machine, betas, self.first_chain, self._clamp)
        self.betas = betas
        with wide_dtypes(self.xp):
            self.beta = asarray(host_namespace().reshape(betas, (1, -1)), self.xp, "float64")

    def energies(self) -> Array:
        """The energy of each chain, float64 of shape (chains,)."""
        return moves.energies(self.xp, self.machine.layout, self.machine.kind, self.states)

    def by_unit(self) -> Array:
        """The states in the order of units, of shape (units, chains)."""
        with wide_dtypes(self.xp):
            return self.xp.take(self.states, self._by_unit, axis=0)

    def rows(self, which: Array = None) -> Array:
        """The states of all chains, or of some, as a NumPy array of shape (chains, units)."""
        states = self.states
        with wide_dtypes(self.xp):
            if which is not None:
                states = self.xp.take(states, asarray(which, self.xp, "int64"), axis=1)
            found = self.xp.take(states, self._by_unit, axis=0)
        return host_namespace().ascontiguousarray(to_numpy(found).T)
