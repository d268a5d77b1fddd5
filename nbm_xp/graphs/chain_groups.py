"""Groups of chains that run together: their random numbers, measurements and schedules.

Contract: a random number depends only on the seed, the sweep, the slot of the unit and the number of the chain. So
chains can be divided, sweeps interrupted and resumed, and slots drawn one by one; neither the library nor the number of
chains that run together changes a bit. In sequence, a number costs one step of the generator; a single number costs six
products.

Chain c has `LANES` streams of MRG31k3p, numbers ``c * LANES`` to ``c * LANES + LANES - 1`` from the seed's state, 2**72
steps apart. A sweep of n units takes ``ceil(n / LANES)`` steps of each stream: in sweep t, slot s has output
``t * ceil(n / LANES) + s // LANES`` of stream ``s % LANES``. Sweep 0 draws the initial states.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple

from nbm_xp.machines import Array, Namespace
from nbm_xp.machines.units import Units
from nbm_xp.namespace import array_namespace, convert, dtype_of, host_namespace, wide_dtypes
from nbm_xp.namespace.mrg31k3p.integers import STREAM_STEPS, State
from nbm_xp.rng import jump, substreams
from nbm_xp.rng.uniforms import advance, elements, numbers

from .energy_model import units_of
from .observables import SERIES, Variables, about, totals

LANES: Final = 64  # streams of a chain: enough to fill vector instructions, few enough for the L1 cache


@dataclass(frozen=True)
class Numbers:
    """The random numbers of chains and sweeps.

    Parameters
    ----------
    seed : six ints
        State of the generator from which streams are counted.
    units : int
        Count of random numbers per chain and sweep.
    together : int, optional
        Number of consecutive chains that share all numbers.
    first : int, optional
        Number of sweeps whose random numbers are skipped.

    Examples
    --------
    >>> numbers = Numbers((234,) * 6, 100)
    >>> xp = host_namespace()
    >>> both = numbers.sweep(xp, numbers.states(0, 2, 5), 2)
    >>> alone = numbers.sweep(xp, numbers.states(1, 1, 5), 1)
    >>> both.shape, bool((both[:, 1:] == alone).all())
    ((100, 2), True)
    """

    seed: State
    units: int
    together: int = 1
    first: int = 0

    @property
    def steps(self) -> int:
        """Number of steps of each stream per sweep."""
        return -(-self.units // LANES)

    def states(self, first_chain: int, chains: int, sweep: int) -> Array:
        """Return the states of all streams of chains before a sweep, int32 in host memory.

        The shape is (LANES * chains, 6): the first stream of all chains, then their second stream, and so on.
        """
        host, first, chains = host_namespace(), first_chain // self.together, chains // self.together
        made = substreams(jump(self.seed, first * LANES * STREAM_STEPS), chains * LANES)
        lanes_first = host.permute_dims(host.reshape(made, (chains, LANES, 6)), (1, 0, 2))
        return self.after(host.reshape(lanes_first, (chains * LANES, 6)), self.first + sweep)

    def after(self, states: Array, sweeps: int = 1) -> Array:
        """Advance states of streams by a number of sweeps."""
        return advance(states, sweeps * self.steps * int(states.shape[0]))

    def sweep(self, xp: Namespace, states: Array, chains: int) -> Array:
        """Return the uniforms of the next sweep, float64 of shape (units, chains // together), in a library."""
        shape = self.units, chains // self.together
        with wide_dtypes(xp):
            return xp.reshape(numbers(xp, convert(states, xp), math.prod(shape), "float64"), shape)


@dataclass(frozen=True)
class ChainGroup:
    """Chains that run together, on a whole graph or on its blocks.

    Parameters
    ----------
    n_units : int
        Number of units of the whole graph.
    units : str or int
        Kind of units: see `GraphMachine`.
    rule : str
        Name of a move: see `nbm_xp.graphs.moves.MOVES`.
    seed : six ints
        State of the generator from which all random numbers follow.
    first_chain : int
        Number of the first chain.
    betas : tuple of floats
        Inverse temperature of each chain.
    names : tuple of str
        Names of the observables.
    """

    n_units: int
    units: str | int
    rule: str
    seed: State
    first_chain: int
    betas: tuple[float, ...]
    names: tuple[str, ...] = ()

    dtype: ClassVar[str] = "int8"

    @cached_property
    def kind(self) -> Units:
        """Kind of units."""
        return units_of(self.units)

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self.betas)

    def divided(self, together: int) -> list[ChainGroup]:
        """Divide the chains into groups of `together` chains, or of at least 2 if pairs are measured."""
        size = max(together, 2 if "overlap" in self.names else 1)
        return [
            replace(self, first_chain=self.first_chain + k, betas=self.betas[k : k + size])
            for k in range(0, self.n_chains, size)
        ]

    # Random numbers

    @cached_property
    def numbers(self) -> Numbers:
        """Random numbers of all units."""
        return Numbers(self.seed, self.n_units)

    @cached_property
    def streams(self) -> Array:
        """Initial states of the chains' streams."""
        return self.numbers.states(self.first_chain, self.n_chains, 0)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}

    def begins(self, slots: Array, sweep: int) -> Array:
        """Return the positions of slots' random numbers in a chain's sequence."""
        return sweep * self.numbers.steps * LANES + slots

    def uniforms(self, slots: Array, sweep: int, counts: Array | int = 1) -> Array:
        """Return the uniforms of runs of `counts` slots, from each of `slots`, in a sweep: shape (total, chains)."""
        host, chains = host_namespace(), self.n_chains
        lengths = host.zeros_like(slots) + counts * chains
        drawn = elements(self.streams, self.begins(slots, sweep) * chains, lengths, "float64")
        return host.reshape(drawn, (-1, chains))

    # Measurements: sums over all units, which are additive over blocks

    @property
    def sums(self) -> int:
        """Number of sums per chain: the energy, and the sum of the values, or the Potts units of each value."""
        return 1 + (self.kind.count if self.kind.is_categorical else 1)

    @property
    def columns(self) -> int:
        """Number of measured numbers: each sum of all chains, then the products of pairs."""
        return self.sums * self.n_chains + ("overlap" in self.names) * (self.n_chains // 2)

    def measured(self, energies: Array, states: Array, sums: Array = None) -> Array:
        """Measure states of shape (units, chains); return an array of their library, float64, of shape (1, columns)."""
        xp = array_namespace(states)
        with wide_dtypes(xp):
            found = [energies[None, :], totals(xp, self.kind, states) if sums is None else sums]
            if "overlap" in self.names:  # products of the two chains of each pair
                found.append(xp.sum(states[:, ::2] * states[:, 1::2], axis=0, dtype=dtype_of(xp, "int64")))
            float64 = dtype_of(xp, "float64")
            return xp.concat([xp.reshape(xp.astype(x, float64), (1, -1)) for x in found], axis=1)

    def long_name(self, name: str) -> str:
        """Return the long name of a series."""
        if self.kind.is_categorical and name != "energy":
            return "order parameter: 0 where all values are as frequent, 1 where there is one alone"
        return SERIES[name]

    def series(self, name: str, columns: Array) -> Array:
        """Compute a series, per unit, of shape (chains or pairs, sweeps), from measurements.

        Parameters
        ----------
        name : str
            Name of an observable in `SERIES`.
        columns : array of shape (sweeps, columns)
            Measurements: see `measured`.
        """
        xp, each = array_namespace(columns), self.sums * self.n_chains
        if name == "overlap":
            return columns[:, each:].T / self.n_units
        sums = xp.permute_dims(xp.reshape(columns[:, :each], (-1, self.sums, self.n_chains)), (2, 0, 1)) / self.n_units
        if name == "energy":
            return sums[..., 0]
        if self.kind.is_categorical:
            return (xp.max(sums[..., 1:], axis=-1) * self.kind.count - 1.0) / (self.kind.count - 1.0)
        return xp.abs(sums[..., 1]) if name == "abs_magnetisation" else sums[..., 1]


def series_variables(groups: Sequence[ChainGroup], columns: Sequence[Array]) -> Variables:
    """Return the series of all groups as variables, from the measurements of each group."""
    xp = array_namespace(*columns)
    found: Variables = {}
    for name in groups[0].names:
        if name in SERIES:
            values = xp.concat([group.series(name, each) for group, each in zip(groups, columns, strict=True)])
            along = "pair" if name == "overlap" else "chain"
            found[name] = (along, "sweep"), values, about(groups[0].long_name(name))
    return found


class Step(NamedTuple):
    """A step of a block: some sweeps, or one colour of a sweep.

    Attributes
    ----------
    sweep, n_sweeps : int
        Number of sweeps made before, and number of sweeps of the step.
    colour : int
        Colour that is drawn, if a sweep takes several steps; else 0.
    seen : tuple of ints
        Numbers of the sweeps after which states are measured.
    """

    sweep: int
    n_sweeps: int
    colour: int
    seen: tuple[int, ...]


@dataclass(frozen=True)
class Schedule:
    """The sweeps that are made, and those after which states are measured.

    Parameters
    ----------
    first : int
        Number of sweeps made before.
    burn_in, n_sweeps, thin : int
        After `burn_in` sweeps, `n_sweeps` are made, and states are measured after every `thin`-th of them.
    """

    first: int
    burn_in: int
    n_sweeps: int
    thin: int

    @property
    def total(self) -> int:
        """Total number of sweeps."""
        return self.burn_in + self.n_sweeps

    @property
    def seen(self) -> range:
        """Numbers of the sweeps after which states are measured."""
        begin = self.first + self.burn_in
        return range(begin + self.thin, begin + self.n_sweeps + 1, self.thin)

    def step(self, number: int, at_once: int, colours: int = 1) -> Step:
        """Return a step of `at_once` sweeps, or of one of a sweep's colours.

        Examples
        --------
        >>> [tuple(Schedule(10, 1, 4, 2).step(number, 3)) for number in (0, 1)]
        [(10, 3, 0, (13,)), (13, 2, 0, (15,))]
        """
        some, colour = divmod(number, colours)
        begin = some * at_once
        count, sweep = min(at_once, self.total - begin), self.first + begin
        made = range(sweep + 1, sweep + count + 1) if colour == colours - 1 else ()
        return Step(sweep, count, colour, tuple(t for t in made if t in self.seen))
