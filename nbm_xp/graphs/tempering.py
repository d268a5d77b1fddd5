"""Parallel tempering: replicas at several inverse temperatures, neighbours of which exchange these.

Contract: exchanges follow from the seed as sweeps do. Replicas keep their states and streams, and
their temperatures change hands; what is observed is put in the order of temperatures.

References
----------
K. Hukushima and K. Nemoto, "Exchange Monte Carlo method and application to spin glass simulations", Journal of the
Physical Society of Japan 65 (1996), 1604-1608.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.machines.exchanges import distances, due, exchanged, laid_out, odd_pairs
from nbm_xp.machines.rows import numbers, positive_int
from nbm_xp.namespace import asarray, host_namespace
from nbm_xp.namespace.mrg31k3p.integers import DRAW_STEPS
from nbm_xp.rng import jump
from nbm_xp.rng.elementary import exp

from .annealing import Best
from .chains import begun
from .draws import Numbers
from .energy_model import EnergyModel

__all__ = ["Tempering", "placed_ladder"]


class Tempering:
    """Sets of replicas that exchange temperatures within each set.

    Parameters
    ----------
    machine : EnergyModel
    betas : array
        Rising inverse temperatures, two at least.
    sets : int
        How many sets of replicas there are.
    random_state
        See `GraphMachine.sample`.
    **how
        See `GraphMachine.chains`.

    Attributes
    ----------
    order : array
        int, of shape (sets, temperatures): which chain is at each temperature.
    tried, made : arrays
        Of shape (temperatures - 1,): how often each pair could exchange, and did.
    """

    def __init__(self, machine: EnergyModel, betas: Any, sets: int, random_state: Any, **how: Any) -> None:
        host = host_namespace()
        self.betas, self.sets = betas, sets
        count = int(betas.shape[0])
        self.running = begun(machine, sets * count, host.tile(betas, sets), random_state, **how)
        self.order = host.reshape(host.arange(sets * count), (sets, count))
        self.best = Best(self.running)
        self._numbers = Numbers(jump(self.running.seed, DRAW_STEPS), count - 1)
        self._states = self._numbers.states(0, sets, 0)
        self._odd, self.turn = host.asarray(odd_pairs(count - 1)), 0
        self.forget()

    def forget(self) -> None:
        """Count exchanges anew."""
        host = host_namespace()
        self.tried, self.made = (host.zeros((self.betas.shape[0] - 1,)) for _ in range(2))

    @property
    def acceptance(self) -> Any:
        """The share of exchanges that were made, of each pair of neighbours."""
        return self.made / host_namespace().maximum(self.tried, 1.0)

    def step(self) -> Any:
        """A sweep of all replicas, then exchanges; gives energies, of shape (sets, temperatures), before these."""
        host = host_namespace()
        self.running.step()
        energies = self.best.see()
        now = energies[self.order]
        u = self._numbers.sweep(host, self._states, self.sets).T
        self._states = self._numbers.after(self._states)
        chance = exp(host.minimum((self.betas[1:] - self.betas[:-1]) * (now[:, 1:] - now[:, :-1]), 0.0))
        turn = due(self._odd, self.turn)
        swap = (u < chance) * turn
        self.tried, self.made = self.tried + turn * self.sets, self.made + host.sum(swap, axis=0)
        self.order = exchanged(self.order, swap, axis=1)
        self.turn = 1 - self.turn
        place = host.argsort(host.reshape(self.order, (-1,)))
        self.running.set_betas(host.tile(self.betas, self.sets)[place])
        return now


def checked_betas(betas: Any) -> Any:
    """Rising inverse temperatures.

    Raises
    ------
    ValueError
        If they are fewer than two, not finite, or do not rise.
    """
    host = host_namespace()
    found = numbers(betas, "betas", host, "float64")
    if found.ndim != 1 or found.shape[0] < 2 or not host.all(host.isfinite(found)):
        raise ValueError(f"betas must be two finite numbers or more, got {betas!r}")
    if not host.all(found[1:] > found[:-1]):
        raise ValueError(f"betas must rise, got {found.tolist()}")
    return asarray(found, host)


def placed_ladder(
    machine: EnergyModel,
    low: float,
    high: float,
    acceptance: float = 0.3,
    *,
    sweeps: int = 400,
    rounds: int = 4,
    random_state: Any = None,
    **how: Any,
) -> Any:
    """Inverse temperatures from one to another, between which neighbours exchange equally often.

    Parameters
    ----------
    machine : EnergyModel
    low, high : float
        The first and the last of them.
    acceptance : float, optional
        The share of exchanges that is aimed at.
    sweeps : int, optional
        How many a round takes; each takes twice as many as the one before it.
    rounds : int, optional
        How often the ladder is placed anew.
    random_state
        See `GraphMachine.sample`.
    **how
        See `GraphMachine.chains`.

    Returns
    -------
    numpy.ndarray
        Rising.

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
        running = Tempering(machine, betas, 4, random_state, **how)
        length = positive_int(sweeps, "sweeps", 8) * 2**turn
        seen = []
        for k in range(length):
            now = running.step()
            if k == length // 4:
                running.forget()
            if k > length // 4:
                seen.append(now)
        if turn == 0:  # far neighbours hardly exchange: the spread of energies says more
            spread = host.std(host.concat(seen), axis=0)
            between = (spread[1:] + spread[:-1]) / 2 * (betas[1:] - betas[:-1])
        else:
            between = distances(running.acceptance)
        betas = laid_out(betas, between, acceptance)
    return betas
