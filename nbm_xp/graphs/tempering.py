"""Simulated annealing and parallel tempering, placement of temperatures, and states of lowest energy.

Contract: all results follow from the seed. In parallel tempering, chains keep their states and random streams and
exchange their temperatures; results are in the order of temperatures.

References
----------
K. Hukushima and K. Nemoto, "Exchange Monte Carlo method and application to spin glass simulations", Journal of the
Physical Society of Japan 65 (1996), 1604-1608.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.machines import Array
from nbm_xp.machines.exchanges import distances, due, laid_out, odd_pairs
from nbm_xp.machines.randomness import entropy_of
from nbm_xp.machines.rows import numbers
from nbm_xp.namespace import host_namespace, to_numpy
from nbm_xp.namespace.elementary import exp
from nbm_xp.namespace.errors import positive_int
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS
from nbm_xp.package import need
from nbm_xp.rng import jump

from .chain_groups import ChainGroup, Numbers
from .chains import Chains, started
from .energy_model import EnergyModel
from .measures import diagnose
from .observables import INVERSE_TEMPERATURE, SWEEPS, about


class LowestStates:
    """The lowest energy that each chain has found, and its state.

    Attributes
    ----------
    energies : numpy.ndarray of shape (chains,)
        Infinite before the first call of `see`.
    states : numpy.ndarray of shape (chains, units)
    """

    def __init__(self, chains: Chains) -> None:
        host = host_namespace()
        self._chains = chains
        self.energies = host.full((chains.count,), host.inf)
        self.states = chains.rows()

    def see(self) -> Array:
        """Update the records from the chains' present states; return their present energies."""
        host = host_namespace()
        now = to_numpy(self._chains.energies())
        better = now < self.energies
        if host.any(better):
            self.energies = host.where(better, now, self.energies)
            which = host.nonzero(better)[0]
            self.states[which, :] = self._chains.rows(which)
        return now


class Tempering:
    """Sets of chains in parallel tempering, one chain for each inverse temperature.

    Parameters
    ----------
    machine : EnergyModel
    betas : array
        Inverse temperatures, in increasing order. Of a single one, `step` only sweeps.
    n_sets : int
        Number of sets. Chains exchange their temperatures within a set.
    random_state, clamp
        See `GraphMachine.sample`.
    rule, library
        See `Chains`.

    Attributes
    ----------
    order : array
        int, of shape (sets, temperatures): number of the chain at each temperature.
    tried, made : arrays
        Number of proposed and of accepted exchanges of each adjacent pair, of shape (temperatures - 1,).
    """

    def __init__(
        self, machine: EnergyModel, betas: Any, n_sets: int, random_state: Any, rule: str = "heat_bath",
        clamp: dict[int, int] | None = None, library: Any = None,
    ) -> None:  # fmt: skip
        host, count = host_namespace(), int(betas.shape[0])
        self.betas, self.sets = betas, n_sets
        start = started(machine, n_sets * count, host.tile(betas, n_sets), random_state, rule=rule, clamp=clamp)
        self.running = Chains(machine, start, library)
        self.order = host.reshape(host.arange(n_sets * count), (n_sets, count))
        self.lowest = LowestStates(self.running)
        self._numbers = Numbers(jump(start.group.seed, DRAW_STEPS), count - 1)
        self._streams = self._numbers.states(0, n_sets, 0)
        self._odd, self.turn = host.asarray(odd_pairs(count - 1)), 0
        self.forget()

    def forget(self) -> None:
        """Reset the counts of exchanges."""
        host = host_namespace()
        self.tried, self.made = (host.zeros((self.betas.shape[0] - 1,)) for _ in range(2))

    @property
    def acceptance(self) -> Array:
        """Acceptance rate of the exchanges of each adjacent pair."""
        return self.made / host_namespace().maximum(self.tried, 1.0)

    def step(self) -> Array:
        """Sweep all chains, then propose exchanges; return the energies before them, of shape (sets, temperatures)."""
        host = host_namespace()
        self.running.step()
        if self.betas.shape[0] == 1:
            return None
        now = self.lowest.see()[self.order]
        u = self._numbers.sweep(host, self._streams, self.sets).T
        self._streams = self._numbers.after(self._streams)
        chance = exp(host.minimum((self.betas[1:] - self.betas[:-1]) * (now[:, 1:] - now[:, :-1]), 0.0))
        turn = due(self._odd, self.turn)
        swap = (u < chance) * turn
        self.tried, self.made = self.tried + turn * self.sets, self.made + host.sum(swap, axis=0)
        none = swap[:, :1] * 0.0
        partners = host.arange(now.shape[1]) + host.concat([swap, none], axis=1) - host.concat([none, swap], axis=1)
        self.order = host.take_along_axis(self.order, host.astype(partners, host.int64), axis=1)
        self.turn = 1 - self.turn
        place = host.argsort(host.reshape(self.order, (-1,)))
        self.running.set_betas(host.tile(self.betas, self.sets)[place])
        return now


def checked_betas(betas: Any, rising: bool = True) -> Array:
    """Validate two or more inverse temperatures; return them as a float64 array.

    Raises
    ------
    ValueError
        If they are fewer than two or not finite, or `rising` is true and they do not increase.
    """
    host = host_namespace()
    found = numbers(betas, "betas", host, "float64")
    if found.ndim != 1 or found.shape[0] < 2 or not host.all(host.isfinite(found)):
        raise ValueError(f"betas must be two finite numbers or more, got {betas!r}")
    if rising and not host.all(found[1:] > found[:-1]):
        raise ValueError(f"betas must rise, got {found.tolist()}")
    return found


def placed_ladder(
    machine: EnergyModel, low: float, high: float, acceptance: float = 0.3, *, n_sweeps: int = 400, rounds: int = 4,
    random_state: Any = None, rule: str = "heat_bath", clamp: dict[int, int] | None = None, library: Any = None,
) -> Array:  # fmt: skip
    """Place inverse temperatures such that all adjacent pairs exchange at the same rate.

    Parameters
    ----------
    machine : EnergyModel
    low, high : float
        First and last inverse temperature.
    acceptance : float, optional
        Target acceptance rate of exchanges.
    n_sweeps : int, optional
        Number of sweeps of the first round; each round has twice as many as the round before.
    rounds : int, optional
        Number of rounds, each of which places the temperatures again.
    random_state, rule, clamp, library
        See `GraphMachine.sample`.

    Returns
    -------
    numpy.ndarray
        Inverse temperatures, float64, in increasing order; their number follows from `acceptance`.

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> ladder = placed_ladder(GraphMachine(lattice((8, 8))), 0.1, 0.6, random_state=1)
    >>> float(ladder[0]), float(ladder[-1]), len(ladder)
    (0.1, 0.6, 6)
    """
    host = host_namespace()
    ends = checked_betas([low, high])
    if not 0 < acceptance < 1:
        raise ValueError(f"acceptance must be between 0 and 1, got {acceptance}")
    betas = host.linspace(ends[0], ends[1], 16)
    for turn in range(positive_int(rounds, "rounds")):
        tempering = Tempering(machine, betas, 4, random_state, rule, clamp, library)
        length = positive_int(n_sweeps, "n_sweeps", 8) * 2**turn
        seen = []
        for k in range(length):
            now = tempering.step()
            if k == length // 4:
                tempering.forget()
            if k > length // 4:
                seen.append(now)
        if turn == 0:  # distant pairs rarely exchange: use the standard deviations of the energies
            spread = host.std(host.concat(seen), axis=0)
            between = (spread[1:] + spread[:-1]) / 2 * (betas[1:] - betas[:-1])
        else:
            between = distances(tempering.acceptance)
        betas = laid_out(betas, between, acceptance)
    return betas


class TemperingMixin(EnergyModel):
    """The methods of `GraphMachine` that change inverse temperatures."""

    def anneal(
        self, n_chains: int = 64, n_sweeps: int = 1000, *, betas: Any = (0.1, 3.0), thin: int = 1,
        rule: str = "heat_bath", clamp: dict[int, int] | None = None, initial: Any = None, random_state: Any = None,
        library: Any = None,
    ) -> Any:  # fmt: skip
        """Search for states of low energy by simulated annealing.

        Parameters
        ----------
        n_chains, rule, clamp, initial, random_state, library
            See `sample`.
        n_sweeps : int, optional
            Number of sweeps if `betas` is two numbers.
        betas : two floats, or array, optional
            Inverse temperatures of the first and the last sweep, interpolated linearly; or of each sweep.
        thin : int, optional
            Interval between measurements of the energy, in sweeps.

        Returns
        -------
        xarray.Dataset
            ``energy``, of shape (chain,): the lowest total energy that each chain found; ``state``: the state with this
            energy.

        Examples
        --------
        >>> from nbm_xp.graphs import GraphMachine, edwards_anderson, enumerated
        >>> machine = GraphMachine(edwards_anderson((4, 4), random_state=2))
        >>> found = machine.anneal(8, 100, random_state=1)
        >>> float(found["energy"].min()) == enumerated(machine).ground_energy
        True
        """
        xarray, host = need("xarray"), host_namespace()
        schedule, thin = checked_betas(betas, rising=False), positive_int(thin, "thin")
        if schedule.shape[0] == 2:
            schedule = host.linspace(schedule[0], schedule[1], positive_int(n_sweeps, "n_sweeps"))
        start = started(self, n_chains, float(schedule[0]), random_state, initial=initial, rule=rule, clamp=clamp)
        running = Chains(self, start, library)
        best = LowestStates(running)
        for k, beta in enumerate(schedule.tolist(), 1):
            running.set_betas(host.full((running.count,), beta))
            running.step()
            if k % thin == 0 or k == schedule.shape[0]:
                best.see()
        found = {
            "energy": (("chain",), best.energies, about("least energy")),
            "state": (("chain", "unit"), best.states, about("state of the least energy")),
        }
        return xarray.Dataset(found, attrs=self._attributes(running.group))

    def temper(
        self, n_chains: int = 2, n_sweeps: int = 1000, *, betas: Any, acceptance: float | None = None,
        burn_in: int = 0, rule: str = "heat_bath", clamp: dict[int, int] | None = None, random_state: Any = None,
        library: Any = None,
    ) -> Any:  # fmt: skip
        """Draw states by parallel tempering: chains at different temperatures exchange their temperatures.

        Parameters
        ----------
        n_chains : int, optional
            Number of sets of chains; a set has one chain for each inverse temperature.
        n_sweeps, burn_in : int, optional
            Number of observed sweeps, and number of sweeps discarded before them.
        betas : array
            Inverse temperatures, in increasing order.
        acceptance : float, optional
            Target acceptance rate of exchanges: inverse temperatures are placed between the first and the last of
            `betas` such that all adjacent pairs exchange at this rate. By default `betas` are used as they are.
        rule, clamp, random_state, library
            See `sample`.

        Returns
        -------
        xarray.Dataset
            ``energy``, per unit, of shape (chain, beta, sweep); ``acceptance``, the acceptance rates, of shape (pair,);
            ``best_energy`` and ``best_state``, the lowest total energy of each set and its state; ``state``, the last
            states. Attributes are diagnostics, as those of `sample`.

        Warns
        -----
        MixingWarning
            If sets disagree, or still drift from their initial states: see `diagnose`.

        Examples
        --------
        >>> from nbm_xp.graphs import GraphMachine, edwards_anderson
        >>> machine = GraphMachine(edwards_anderson((4, 4, 4), random_state=2))
        >>> found = machine.temper(2, 800, betas=[0.2, 0.5, 0.8, 1.1], burn_in=100, random_state=1)
        >>> found["energy"].shape, found["acceptance"].shape
        ((2, 4, 800), (3,))
        """
        xarray, host = need("xarray"), host_namespace()
        ladder, sets = checked_betas(betas), positive_int(n_chains, "n_chains")
        n_sweeps, burn_in = positive_int(n_sweeps, "n_sweeps"), positive_int(burn_in, "burn_in", 0)
        entropy, how = entropy_of(random_state), {"rule": rule, "clamp": clamp, "library": library}
        if acceptance is not None:
            ends = float(ladder[0]), float(ladder[-1])
            ladder = placed_ladder(self, *ends, acceptance, random_state=entropy, **how)
        tempering = Tempering(self, ladder, sets, entropy, **how)
        for _ in range(burn_in):
            tempering.step()
        tempering.forget()
        energies = host.stack([tempering.step() for _ in range(n_sweeps)], axis=2) / self.n_units
        count, running, lowest = int(ladder.shape[0]), tempering.running, tempering.lowest
        least = host.reshape(lowest.energies, (sets, count))
        which = host.argmin(least, axis=1) + host.arange(sets) * count
        last = host.reshape(running.rows(host.reshape(tempering.order, (-1,))), (sets, count, -1))
        found = {
            "energy": (("chain", "beta", "sweep"), energies, about("energy a unit")),
            "acceptance": (("pair",), tempering.acceptance, about("share of exchanges made")),
            "best_energy": (("chain",), host.min(least, axis=1), about("least energy")),
            "best_state": (("chain", "unit"), lowest.states[which, :], about("state of the least energy")),
            "state": (("chain", "beta", "unit"), last, about("last states")),
        }
        coordinates = {
            "beta": ("beta", ladder, about(INVERSE_TEMPERATURE)),
            "sweep": ("sweep", host.arange(burn_in + 1, burn_in + n_sweeps + 1), about(SWEEPS)),
        }
        draws = xarray.Dataset(found, coordinates, self._attributes(running.group))
        return draws.assign_attrs(diagnose(draws, stacklevel=3))

    def _attributes(self, group: ChainGroup) -> dict[str, Any]:
        """Return the attributes of a dataset: the machine, the rule and the seed."""
        return {"machine": repr(self), "rule": group.rule, "seed": list(group.seed)}
