"""Simulated annealing: chains that are cooled, and the best states that they met.

Contract: what an annealing finds follows from its seed and its schedule, on every library.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.machines.rows import numbers, positive_int
from nbm_xp.namespace import host_namespace, to_numpy

from .chains import Chains, begun
from .energy_model import EnergyModel

__all__ = ["Best", "annealed", "schedule_of"]


class Best:
    """The least energy of each chain so far, and the state that had it."""

    def __init__(self, chains: Chains) -> None:
        host = host_namespace()
        self._chains = chains
        self.energies = host.full((chains.count,), host.inf)
        self.states = chains.rows()

    def see(self) -> Any:
        """Look at the chains; gives their energies."""
        host = host_namespace()
        now = to_numpy(self._chains.energies())
        better = now < self.energies
        if host.any(better):
            self.energies = host.where(better, now, self.energies)
            which = host.nonzero(better)[0]
            self.states[which, :] = self._chains.rows(which)
        return now


def schedule_of(beta: Any, sweeps: int) -> Any:
    """An inverse temperature for each sweep.

    Parameters
    ----------
    beta : two floats, or an array of floats
        The first and the last one, between which they rise evenly; or all of them.
    sweeps : int
        How many there are of two.

    Examples
    --------
    >>> schedule_of((0.0, 2.0), 5).tolist()
    [0.0, 0.5, 1.0, 1.5, 2.0]
    """
    host = host_namespace()
    found = numbers(beta, "beta", host, "float64")
    if found.ndim != 1 or found.shape[0] < 2 or not host.all(host.isfinite(found)):
        raise ValueError(f"beta must be two finite numbers or more, got {beta!r}")
    return host.linspace(found[0], found[1], positive_int(sweeps, "sweeps")) if found.shape[0] == 2 else found


def annealed(
    machine: EnergyModel, chains: int, sweeps: int, beta: Any, every: int, random_state: Any, **how: Any
) -> tuple[Chains, Best]:
    """Cool chains down; see `GraphMachine.anneal`."""
    betas, every = schedule_of(beta, sweeps), positive_int(every, "every")
    host = host_namespace()
    running = begun(machine, chains, float(betas[0]), random_state, **how)
    best = Best(running)
    for k, value in enumerate(betas.tolist()):
        running.set_betas(host.full((running.count,), value))
        running.step()
        if k % every == every - 1 or k == betas.shape[0] - 1:
            best.see()
    return running, best
