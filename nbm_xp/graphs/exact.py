"""Exact results: enumeration of all states, Kaufman's solution of the square lattice, and transfer matrices of strips.

Contract: problems that would take more than a minute or a few GB raise `ValueError` before any work. Strips may have
any couplings and fields; their rows have at most 16 units, or 10 if the first axis is periodic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from nbm_xp.machines import Array
from nbm_xp.machines.enumeration import Enumeration, state_digits
from nbm_xp.namespace import host_namespace
from nbm_xp.namespace.errors import positive_int
from nbm_xp.tape import Function, function, gradients, placeholder
from nbm_xp.tape import namespace as xp

from .energy_model import EnergyModel, check_machine
from .graph import Lattice

MOST_STATES: Final = 2**25
WIDEST: Final = 16
WIDEST_JOINED: Final = 10
_STEP = 1e-30
# Above this value of β times the coupling, only the two ground states contribute at float64 precision
_FROZEN: Final = 100.0


def enumerated(machine: EnergyModel) -> Enumeration:
    """Compute the energies of all states of a machine with at most 2**25 states.

    Raises
    ------
    ValueError
        If the machine has more states.

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> enumerated(GraphMachine(lattice((3, 3)))).ground_energy
    -18.0
    """
    check_machine(machine)
    host, kind, graph, n = host_namespace(), machine.kind, machine.graph, machine.n_units
    if kind.count**n > MOST_STATES:
        raise ValueError(f"machine has {kind.count}**{n} states to enumerate, and they must be 2**25 at most")
    values = host.asarray(kind.values, dtype=host.float64)
    products, fields = host.linalg.outer(values, values), machine.unit_fields[:, None] * values
    if kind.is_categorical:
        products, fields = host.eye(kind.count), machine.unit_fields
    weights = machine.edge_couplings
    tables = weights if weights.ndim == 3 else weights[:, None, None] * products
    couplings = dict(zip(zip(graph.first.tolist(), graph.second.tolist(), strict=True), tables, strict=True))
    couplings |= {pair[::-1]: table.T for pair, table in couplings.items()}
    energies = host.zeros((1,))
    for unit in range(n):  # add one unit: each of its values with all states of the units before it
        local = fields[unit, :, None]
        for other in range(unit):
            joined = couplings.get((unit, other), 0.0 * products)[:, :, None]
            local = host.reshape(local[:, None, :] + joined, (kind.count, -1))
        energies = host.reshape(energies - local, (-1,))
    energies = host.reshape(energies, (kind.count,) * n)  # the last unit is the first axis
    for product, units in zip(machine.coupling_parameters[graph.edges :], machine.factor_units.tolist(), strict=True):
        for unit in units:
            product = product * (host.reshape(values, (-1,) + (1,) * unit) if unit < n else 1.0)
        energies = energies - product
    return Enumeration(host.reshape(energies, (-1,)), n)


def all_states(machine: EnergyModel) -> Array:
    """Return all states, int8 of shape (states, units); the first unit's value changes fastest."""
    host, kind, n = host_namespace(), machine.kind, machine.n_units
    digits = state_digits(host.arange(kind.count**n, dtype=host.int32), [kind.count] * n)[:, ::-1]
    return host.astype(digits * int(kind.step) + kind.least, host.int8)


@dataclass(frozen=True)
class SquareLattice:
    """Exact quantities, per unit, of the periodic square lattice of spins with equal couplings and no fields.

    Parameters
    ----------
    log_partition : float
        Logarithm of the partition function, in nats.
    energy, specific_heat : float
    """

    log_partition: float
    energy: float
    specific_heat: float


def onsager(shape: tuple[int, int], beta: float, coupling: float = 1.0) -> SquareLattice:
    """Compute log Z, the energy and the specific heat, per unit, of a periodic lattice of spins by Kaufman's sum [1]_.

    Parameters
    ----------
    shape : two ints
        Shape of the lattice; at least 3 along each axis.
    beta : float
        Inverse temperature.
    coupling : float, optional
        Coupling of all edges; its product with `beta` must be positive. Defaults to 1.

    Raises
    ------
    ValueError
        If the shape is invalid, or ``beta * coupling`` is not positive and finite.

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
    log, slope, bend = (float(x) / (n * m) for x in _kaufman(n, m)(host_namespace().asarray(K)))
    return SquareLattice(log, -coupling * slope, K**2 * bend)


@lru_cache(maxsize=8)
def _kaufman(n: int, m: int) -> Function:
    """Return a function of β times the coupling: log Z of a lattice, and its first two derivatives."""
    host, K = host_namespace(), placeholder(shape=(), dtype="float64")
    s = xp.sinh(2.0 * K)
    # cosh γ - 1 of the modes, with cosh γ = s + 1 / s - cos(π l / n): this avoids cancellation in sinh γ
    lift = (xp.sqrt(s) - 1.0 / xp.sqrt(s)) ** 2 + 2.0 * host.sin(host.pi * host.arange(1, 2 * n) / (2 * n)) ** 2
    half = m / 2 * xp.log1p(lift + xp.sqrt(lift * (lift + 2.0)))
    zero = m / 2 * (2.0 * K + xp.log(xp.tanh(K)))  # mode 0 changes its sign at the critical point
    cosh, sinh = (half + xp.log1p(sign * xp.exp(-2.0 * half)) for sign in (1.0, -1.0))  # log(2 cosh), log(2 sinh)
    (odd_cosh, even_cosh), (odd_sinh, even_sinh) = ((xp.sum(x[::2]), xp.sum(x[1::2])) for x in (cosh, sinh))
    logs = xp.stack([odd_cosh, odd_sinh, even_cosh + zero, even_cosh - zero, even_sinh + zero, even_sinh - zero])
    largest = xp.max(logs)
    total = xp.sum(xp.exp(logs - largest) * host.asarray([1.0, 1.0, 1.0, 1.0, 1.0, -1.0]))
    log = largest + xp.log(total / 2.0) + n * m / 2 * xp.log(2.0 * s)
    (slope,) = gradients(log, [K])
    return function([K], [log, slope, *gradients(slope, [K])])


def strip_log_partition(machine: EnergyModel, beta: float = 1.0) -> float:
    """Compute log Z of a two-dimensional lattice of spins, in nats, by transfer matrices.

    Parameters
    ----------
    machine : GraphMachine
        Spins on a `lattice` of two axes. The length of the last axis is at most 16, or 10 if the first axis is
        periodic.
    beta : float, optional
        Inverse temperature. Defaults to 1.

    Raises
    ------
    ValueError
        If the machine has no such lattice, or the lattice is too wide.

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> machine = GraphMachine(lattice((1000, 12), periodic=(False, True)))
    >>> round(strip_log_partition(machine, 0.44) / 12000, 4)
    0.9304
    """
    return float(_log_partition(machine, beta).real)


def strip_energy(machine: EnergyModel, beta: float = 1.0) -> float:
    """Compute the mean energy per unit of a two-dimensional lattice of spins: see `strip_log_partition`.

    Notes
    -----
    The derivative with respect to β is computed by the complex-step method, which has no cancellation error.

    Examples
    --------
    >>> from nbm_xp.graphs import GraphMachine, lattice
    >>> round(strip_energy(GraphMachine(lattice((50, 4), periodic=False)), 10.0), 2)  # all spins are equal
    -1.73
    """
    return -float(_log_partition(machine, complex(beta, _STEP)).imag) / _STEP / machine.n_units


def _log_partition(machine: EnergyModel, beta: complex) -> Array:
    host = host_namespace()
    across, down, fields, joined = _strip_couplings(machine)
    length, width = fields.shape
    spins = 1.0 - 2.0 * ((host.arange(2**width)[:, None] >> host.arange(width - 1, -1, -1)) & 1)  # unit 0 first
    # one row of the table for each state of the lattice's first row, if the first axis is periodic
    table = host.eye(2**width, dtype=host.complex128) if joined else host.ones((1, 2**width), dtype=host.complex128)
    log = 0.0
    for row in range(length):
        within = spins @ fields[row] + (spins * host.roll(spins, -1, axis=1)) @ across[row]
        table = table * host.exp(beta * (within - host.max(within)))[None, :]
        log = log + beta * host.max(within)
        if row + 1 < length or joined:
            for unit in range(width):
                table = _exchanged(table, unit, beta, float(down[row, unit]))
                log = log + beta * abs(down[row, unit])
        largest = float(host.max(host.abs(table)))
        table, log = table / largest, log + math.log(largest)
    total = host.trace(table) if joined else host.sum(table)
    return log + host.log(total)


def _exchanged(table: Array, unit: int, beta: complex, coupling: float) -> Array:
    """Sum over a unit of one row, coupled to the unit below it; weights are relative to the larger weight."""
    host = host_namespace()
    parts = host.reshape(table, (table.shape[0], 2**unit, 2, -1))
    same, other = (host.exp(beta * (x - abs(coupling))) for x in (coupling, -coupling))
    up, down = parts[:, :, 0, :], parts[:, :, 1, :]
    return host.reshape(host.stack([same * up + other * down, other * up + same * down], axis=2), table.shape)


def _strip_couplings(machine: EnergyModel) -> tuple[Array, Array, Array, bool]:
    """Return the couplings within rows, those to the next row, the fields, and whether the first axis is periodic.

    The arrays have the shape (length, width).
    """
    check_machine(machine)
    host, graph = host_namespace(), machine.graph
    if not isinstance(graph, Lattice) or len(graph.shape) != 2 or machine.kind.name != "spin":
        raise ValueError("machine must be of spins on a lattice of two axes")
    length, width = graph.shape
    joined = graph.periodic[0]
    widest = WIDEST_JOINED if joined else WIDEST
    if width > widest:
        where = f"where the first is {'joined' if joined else 'open'}"
        raise ValueError(f"machine must have a last axis of {widest} units at most {where}, got {width}")
    across, down = host.zeros((length, width)), host.zeros((length, width))
    weights, fields = machine.edge_couplings, machine.unit_fields
    (rows, _), (_, columns) = graph.edge_shapes
    down[:rows, :] = host.reshape(weights[: rows * width], (rows, width))
    across[:, :columns] = host.reshape(weights[rows * width :], (length, columns))
    return across, down, host.reshape(fields, (length, width)), joined
