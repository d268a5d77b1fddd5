"""All states of a few units: the digits of their numbers, and what their energies say.

Machines of layers and machines on graphs number their states alike, by the digits of the values of their units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nbm_xp.machines import Array
from nbm_xp.namespace import array_namespace, host_namespace

__all__ = ["Enumeration", "state_digits"]


def state_digits(numbers: Array, radices: Sequence[int]) -> Array:
    """The values of all sites in the states of some numbers, counted from 0.

    Parameters
    ----------
    numbers : array of shape (states,)
    radices : sequence of int
        How many values each site has.

    Returns
    -------
    array of shape (states, sites)
        The digits of the numbers; that of the last site is the least significant.

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
        float64; state k is that whose units' values are the digits of k, the last unit's the most significant.
    units : int
        How many there are.
    """

    energies: Array
    units: int

    def probabilities(self, beta: float = 1.0) -> Array:
        """Of each state.

        Examples
        --------
        >>> Enumeration(host_namespace().asarray([0.0, 1.0]), 1).probabilities(0.0).tolist()
        [0.5, 0.5]
        """
        host = host_namespace()
        weights = host.exp(-beta * (self.energies - self._least(beta)))
        return weights / host.sum(weights)

    def log_partition(self, beta: float = 1.0) -> float:
        """The logarithm of the sum of ``exp(-β E)`` over all states."""
        host, least = host_namespace(), self._least(beta)
        return float(host.log(host.sum(host.exp(-beta * (self.energies - least)))) - beta * least)

    def energy(self, beta: float = 1.0) -> float:
        """The mean energy a unit."""
        return float(host_namespace().sum(self.probabilities(beta) * self.energies)) / self.units

    def specific_heat(self, beta: float = 1.0) -> float:
        """The specific heat a unit."""
        host, p = host_namespace(), self.probabilities(beta)
        mean = host.sum(p * self.energies)
        return float(beta**2 * host.sum(p * (self.energies - mean) ** 2)) / self.units

    @property
    def ground_energy(self) -> float:
        """The least energy, of all units."""
        return float(host_namespace().min(self.energies))

    def _least(self, beta: float) -> float:
        host = host_namespace()
        return float((host.min if beta >= 0 else host.max)(self.energies))
