"""What is known exactly: all states of few units, the square lattice of spins by Kaufman, and strips row by row.

Contract: what takes more than a minute or a few GB raises before any work. Strips have any couplings and fields, and
rows of 16 units at most, of 10 where the last row is joined with the first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from nbm_xp.machines import Array
from nbm_xp.machines.enumeration import Enumeration, state_digits
from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import host_namespace

from .energy_model import EnergyModel, check_machine
from .graph import Lattice
from .moves import energies

__all__ = ["SquareLattice", "enumerated", "onsager", "strip_energy", "strip_log_partition"]

MOST_STATES: Final = 2**25
AT_ONCE: Final = 2**16
"""So many states are made at once."""
WIDEST: Final = 16
WIDEST_JOINED: Final = 10
_STEP = 1e-30
_FROZEN: Final = 100.0
"""Beyond it, in units of the coupling, all that a float64 can tell of a lattice is of its two ground states."""


def enumerated(machine: EnergyModel) -> Enumeration:
    """The energies of all states, of 25 units of two values at most, or of as many states otherwise.

    Raises
    ------
    ValueError
        If there are more.

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> enumerated(GraphMachine(lattice((3, 3)))).ground_energy
    -18.0
    """
    check_machine(machine)
    host, kind, n = host_namespace(), machine.kind, machine.n_units
    total = kind.count**n
    if total > MOST_STATES:
        raise ValueError(f"machine has {kind.count}**{n} states to enumerate, and they must be 2**25 at most")
    found = []
    for first in range(0, total, AT_ONCE):
        states = states_of(machine, first, min(first + AT_ONCE, total))[:, machine.layout.order].T
        found.append(energies(host, machine.layout, kind, host.ascontiguousarray(states)))
    return Enumeration(host.concat(found), n)


def states_of(machine: EnergyModel, first: int, last: int) -> Array:
    """Some of all states by their numbers, int8 of shape (states, units): the first unit's value changes fastest."""
    host, kind = host_namespace(), machine.kind
    digits = state_digits(host.arange(first, last, dtype=host.int32), [kind.count] * machine.n_units)[:, ::-1]
    return host.astype(digits * int(kind.step) + kind.least, host.int8)


@dataclass(frozen=True)
class SquareLattice:
    """What is known of the periodic square lattice of spins, all couplings alike, no fields; all a unit.

    Parameters
    ----------
    log_partition, energy, specific_heat : float
    """

    log_partition: float
    energy: float
    specific_heat: float


def onsager(shape: tuple[int, int], beta: float, coupling: float = 1.0) -> SquareLattice:
    """The partition function, energy and specific heat of a periodic lattice of spins, by Kaufman's finite sum [1]_.

    Parameters
    ----------
    shape : two ints
        Of the lattice; 3 at least.
    beta : float
        The inverse temperature.
    coupling : float, optional
        Of all edges; its product with `beta` must be positive.

    Raises
    ------
    ValueError
        If the shape is none, or couplings are not ferromagnetic.

    References
    ----------
    .. [1] B. Kaufman, "Crystal statistics II: partition function evaluated by spinor analysis", Physical Review 76
       (1949), 1232-1243.
    .. [2] A. E. Ferdinand and M. E. Fisher, "Bounded and inhomogeneous Ising models I: specific-heat anomaly of a
       finite lattice", Physical Review 185 (1969), 832-846.

    Examples
    --------
    >>> round(onsager((128, 128), math.log(1 + math.sqrt(2)) / 2).energy, 4)  # -√2 on the infinite lattice
    -1.4191
    """
    host = host_namespace()
    try:
        n, m = shape
    except (TypeError, ValueError) as error:
        raise ValueError(f"shape must be two ints, got {shape!r}") from error
    n, m = positive_int(n, "shape", 3), positive_int(m, "shape", 3)
    K = beta * coupling
    if not 0 < K < math.inf:
        raise ValueError(f"beta times coupling must be positive and finite, got {K}")
    if K > _FROZEN:
        return SquareLattice(2 * K + math.log(2) / (n * m), -2.0 * coupling, 0.0)
    s, c = math.sinh(2 * K), math.cosh(2 * K)
    # cosh γ_l = s + 1 / s - cos(π l / n), and its derivatives by K
    first, second = 2 * c * (1 - 1 / s**2), 4 * s * (1 - 1 / s**2) + 8 * c**2 / s**3
    modes = host.arange(1, 2 * n)
    # cosh γ - 1, by which sinh γ is found without a loss of digits
    lift = (math.sqrt(s) - 1 / math.sqrt(s)) ** 2 + 2 * host.sin(host.pi * modes / (2 * n)) ** 2
    root = host.sqrt(lift * (lift + 2))
    gamma = host.log1p(lift + root)
    slope = first / root
    bend = (second - (1 + lift) * slope**2) / root

    def product(which: Array, sign: int) -> tuple[float, float, float]:
        """Logarithm, and its derivatives, of the product of 2 cosh or 2 sinh of m γ / 2."""
        g, g1, g2 = (m / 2 * x[which] for x in (gamma, slope, bend))
        tail = sign * host.exp(-2 * g)
        ratio = (1 - tail) / (1 + tail)
        return tuple(
            float(host.sum(x)) for x in (g + host.log1p(tail), ratio * g1, ratio * g2 + (1 - ratio**2) * g1**2)
        )  # type: ignore[return-value]

    odd, even = slice(0, None, 2), slice(1, None, 2)
    terms = [product(odd, 1), product(odd, -1)]
    # the mode 0 has a sign, which changes at the critical point
    g, g1, g2 = (m / 2 * x for x in (2 * K + math.log(math.tanh(K)), 2 + 2 / s, -4 * c / s**2))
    sums = [0.0, 0.0, 0.0]
    reference = terms[0][0]
    for log, d1, d2 in terms:
        weight = math.exp(log - reference)
        sums = [sums[0] + weight, sums[1] + weight * d1, sums[2] + weight * (d2 + d1**2)]
    for sign in (1, -1):
        log, d1, d2 = product(even, sign)
        weight, tail = math.exp(log + abs(g) - reference), sign * math.exp(-2 * abs(g))
        value, other = (1 + tail, 1 - tail) if sign == 1 else (math.copysign(1 + tail, g), 1 - tail)
        if sign == 1:
            other = math.copysign(other, g)
        sums[0] += weight * value
        sums[1] += weight * (g1 * other + value * d1)
        sums[2] += weight * (g2 * other + g1**2 * value + 2 * g1 * other * d1 + value * (d2 + d1**2))
    d1, d2 = sums[1] / sums[0], sums[2] / sums[0] - (sums[1] / sums[0]) ** 2
    units = n * m
    log = reference + math.log(sums[0] / 2) + units / 2 * math.log(2 * s)
    return SquareLattice(log / units, -coupling * (d1 / units + c / s), K**2 * (d2 / units - 2 / s**2))


def strip_log_partition(machine: EnergyModel, beta: float = 1.0) -> float:
    """The logarithm of the partition function of a two-dimensional lattice of spins, by transfer matrices.

    Parameters
    ----------
    machine : GraphMachine
        On a `lattice` of two axes, of which the last one is the width: 16 at most, and 10 where the first is periodic.
    beta : float, optional
        The inverse temperature.

    Raises
    ------
    ValueError
        If it is no such lattice, or too wide.

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> machine = GraphMachine(lattice((1000, 12), periodic=(False, True)))
    >>> round(strip_log_partition(machine, 0.44) / 12000, 4)
    0.9304
    """
    return float(_log_partition(machine, beta).real)


def strip_energy(machine: EnergyModel, beta: float = 1.0) -> float:
    """The mean energy a unit of a two-dimensional lattice of spins: see `strip_log_partition`.

    Notes
    -----
    It is the derivative by β, found without a difference by adding an imaginary number to β that is so small that its
    square is nothing.

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> round(strip_energy(GraphMachine(lattice((50, 4), periodic=False)), 10.0), 2)  # all alike
    -1.73
    """
    return -float(_log_partition(machine, complex(beta, _STEP)).imag) / _STEP / machine.n_units


def _log_partition(machine: EnergyModel, beta: complex) -> Array:
    host = host_namespace()
    across, down, fields, joined = _strip_couplings(machine)
    length, width = fields.shape
    spins = 1.0 - 2.0 * ((host.arange(2**width)[:, None] >> host.arange(width - 1, -1, -1)) & 1)  # unit 0 first
    size = 2**width if joined else 1
    # one row of the table for each state of the first row, where the last one is joined with that
    table = host.eye(2**width, dtype=host.complex128) if joined else host.ones((1, 2**width), dtype=host.complex128)
    log = 0.0
    for row in range(length):
        within = spins @ fields[row] + (spins * host.roll(spins, -1, axis=1)) @ across[row]
        table = table * host.exp(beta * (within - host.max(within)))[None, :]
        log = log + beta * host.max(within)
        if row + 1 < length or joined:
            for unit in range(width):
                table = _exchanged(table, size, width, unit, beta, float(down[row, unit]))
                log = log + beta * abs(down[row, unit])
        largest = float(host.max(host.abs(table)))
        table, log = table / largest, log + math.log(largest)
    total = host.trace(table) if joined else host.sum(table)
    return log + host.log(total)


def _exchanged(table: Array, size: int, width: int, unit: int, beta: complex, coupling: float) -> Array:
    """Sum over a unit of one row, coupled with that of the next row in its place; in parts of the larger weight."""
    host = host_namespace()
    parts = host.reshape(table, (size, 2**unit, 2, 2 ** (width - 1 - unit)))
    alike, other = (host.exp(beta * (x - abs(coupling))) for x in (coupling, -coupling))
    up, down = parts[:, :, 0, :], parts[:, :, 1, :]
    return host.reshape(host.stack([alike * up + other * down, other * up + alike * down], axis=2), (size, -1))


def _strip_couplings(machine: EnergyModel) -> tuple[Array, Array, Array, bool]:
    """The couplings within rows and with the next row, and the fields, each of shape (length, width)."""
    check_machine(machine)
    host, graph = host_namespace(), machine.graph
    if not isinstance(graph, Lattice) or len(graph.shape) != 2 or machine.kind.name != "spin":
        raise ValueError("machine must be of spins on a lattice of two axes")
    length, width = graph.shape
    joined = graph.periodic[0]
    widest = WIDEST_JOINED if joined else WIDEST
    if width > widest:
        ends = "joined" if joined else "open"
        raise ValueError(
            f"machine must have a last axis of {widest} units at most where the first is {ends}, got {width}"
        )
    across, down = host.zeros((length, width)), host.zeros((length, width))
    weights, fields = machine.edge_couplings, machine.unit_fields
    (rows, _), (_, columns) = graph.edge_shapes
    down[:rows, :] = host.reshape(weights[: rows * width], (rows, width))
    across[:, :columns] = host.reshape(weights[rows * width :], (length, columns))
    return across, down, host.reshape(fields, (length, width)), joined
