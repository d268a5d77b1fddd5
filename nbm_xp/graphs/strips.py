"""Long strips of spins, exactly: the partition function row by row, with a number for each state of one row.

Contract: any couplings and fields; rows of 16 units at most, of 10 where the last row is joined
with the first; more is refused before any work.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from nbm_xp.namespace import host_namespace

from .energy_model import check_machine

if TYPE_CHECKING:
    from .machine import GraphMachine

__all__ = ["strip_energy", "strip_log_partition"]

WIDEST: Final = 16
WIDEST_JOINED: Final = 10
_STEP = 1e-30


def strip_log_partition(machine: GraphMachine, beta: float = 1.0) -> float:
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


def strip_energy(machine: GraphMachine, beta: float = 1.0) -> float:
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
    return -float(_log_partition(machine, complex(beta, _STEP)).imag) / _STEP / machine.units_count


def _log_partition(machine: GraphMachine, beta: complex) -> Any:
    host = host_namespace()
    across, down, fields, joined = _couplings(machine)
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


def _exchanged(table: Any, size: int, width: int, unit: int, beta: complex, coupling: float) -> Any:
    """Sum over a unit of one row, coupled with that of the next row in its place; in parts of the larger weight."""
    host = host_namespace()
    parts = host.reshape(table, (size, 2**unit, 2, 2 ** (width - 1 - unit)))
    alike, other = (host.exp(beta * (x - abs(coupling))) for x in (coupling, -coupling))
    up, down = parts[:, :, 0, :], parts[:, :, 1, :]
    return host.reshape(host.stack([alike * up + other * down, other * up + alike * down], axis=2), (size, -1))


def _couplings(machine: GraphMachine) -> tuple[Any, Any, Any, bool]:
    """The couplings within rows and with the next row, and the fields, each of shape (length, width)."""
    check_machine(machine)
    host, graph, layout = host_namespace(), machine.graph, machine.layout
    if graph.shape is None or len(graph.shape) != 2 or machine.values.kind != "spin":
        raise ValueError("machine must be of spins on a lattice of two axes")
    length, width = graph.shape
    joined = bool(graph.periodic and graph.periodic[0])
    widest = WIDEST_JOINED if joined else WIDEST
    if width > widest:
        ends = "joined" if joined else "open"
        raise ValueError(
            f"machine must have a last axis of {widest} units at most where the first is {ends}, got {width}"
        )
    across, down = host.zeros((length, width)), host.zeros((length, width))
    for a, b, w in zip(graph.first.tolist(), graph.second.tolist(), layout.weights.tolist(), strict=True):
        (row, column), (other_row, other_column) = divmod(a, width), divmod(b, width)
        if row == other_row:
            across[row, column if (column + 1) % width == other_column else other_column] = w
        else:
            down[row if (row + 1) % length == other_row else other_row, column] = w
    fields = host.reshape(layout.fields[host.argsort(layout.order)], (length, width))
    return across, down, fields, joined
