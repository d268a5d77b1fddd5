"""Enumeration of all states of a small machine, and exact averages over them.

Machines of layers and machines on graphs use the same state indices, whose digits are the values of the units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nbm_xp.machines import Array
from nbm_xp.namespace import array_namespace, host_namespace


def state_digits(numbers: Array, radices: Sequence[int]) -> Array:
    """Return the values of all sites, from 0, in the states with these indices.

    Parameters
    ----------
    numbers : array of shape (states,)
        Indices of states.
    radices : sequence of int
        Number of values of each site.

    Returns
    -------
    array of shape (states, sites)
        The digits of the indices; the last site has the least significant digit.

    Examples
    --------
    >>> state_digits(host_namespace().arange(4), [2, 3]).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0]]
    """
    digits: list[Array] = []
    for radix in reversed(radices):
        rest = numbers // radix
        digits.insert(0, numbers - rest * radix)
        numbers = rest
    return array_namespace(numbers).stack(digits, axis=0).T


@dataclass(frozen=True, eq=False)
class Enumeration:
    """The energies of all states of a machine.

    Parameters
    ----------
    energies : array
        float64; the values of the units in state k are the digits of k, the last unit having the most significant one.
    units : int
        Number of units.
    """

    energies: Array
    units: int

    def probabilities(self, beta: float = 1.0) -> Array:
        """Return the probability of each state.

        Examples
        --------
        >>> Enumeration(host_namespace().asarray([0.0, 1.0]), 1).probabilities(0.0).tolist()
        [0.5, 0.5]
        """
        host = host_namespace()
        weights = host.exp(-beta * (self.energies - self._least(beta)))
        return weights / host.sum(weights)

    def log_partition(self, beta: float = 1.0) -> float:
        """Return the logarithm of the sum of ``exp(-β E)`` over all states."""
        host, least = host_namespace(), self._least(beta)
        return float(host.log(host.sum(host.exp(-beta * (self.energies - least)))) - beta * least)

    def energy(self, beta: float = 1.0) -> float:
        """Return the mean energy per unit."""
        return float(host_namespace().sum(self.probabilities(beta) * self.energies)) / self.units

    def specific_heat(self, beta: float = 1.0) -> float:
        """Return the specific heat per unit."""
        host, p = host_namespace(), self.probabilities(beta)
        mean = host.sum(p * self.energies)
        return float(beta**2 * host.sum(p * (self.energies - mean) ** 2)) / self.units

    @property
    def ground_energy(self) -> float:
        """Lowest energy of all states; not divided by the number of units."""
        return float(host_namespace().min(self.energies))

    def _least(self, beta: float) -> float:
        host = host_namespace()
        return float((host.min if beta >= 0 else host.max)(self.energies))
