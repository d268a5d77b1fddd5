"""Cuts of graphs: the value of a cut, and a heuristic for the maximum cut."""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import host_namespace

from .graph import as_graph
from .machine import GraphMachine


def cut_value(graph: Any, sides: Any) -> float:
    """Return the total weight of the edges between the two sides of a cut.

    Parameters
    ----------
    graph : Graph or graph-like
        See `as_graph`.
    sides : array of shape (units,)
        Side of each unit: two different values.

    Examples
    --------
    >>> cut_value([[0, 1], [1, 2], [2, 0]], [1, 1, -1])
    2.0
    """
    host, found = host_namespace(), as_graph(graph)
    sides = host.asarray(sides)
    if sides.shape != (found.units,):
        raise ValueError(f"sides must be of shape {(found.units,)}, got {sides.shape}")
    apart = sides[found.first] != sides[found.second]
    return float(host.sum(apart) if found.weights is None else host.sum(found.weights[apart]))


def max_cut(
    graph: Any, *, n_chains: int = 64, n_sweeps: int = 2000, betas: Any = (0.2, 3.0), random_state: Any = None,
    library: Any = None,
) -> tuple[float, Any]:  # fmt: skip
    """Search for a maximum cut by simulated annealing; the result need not be optimal.

    Parameters
    ----------
    graph : Graph or graph-like
        See `as_graph`.
    n_chains, n_sweeps, betas, random_state, library
        See `GraphMachine.anneal`.

    Returns
    -------
    value : float
        Total weight of the cut's edges.
    sides : numpy.ndarray
        Side of each unit, -1 or 1: int8, of shape (units,).

    Examples
    --------
    >>> value, sides = max_cut([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]], n_chains=4, n_sweeps=50, random_state=1)
    >>> value, cut_value([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]], sides)
    (4.0, 4.0)
    """
    found = as_graph(graph)
    couplings = -1.0 if found.weights is None else -found.weights
    machine = GraphMachine(found, couplings=couplings)
    best = machine.anneal(
        n_chains, n_sweeps, betas=betas, rule="metropolis", random_state=random_state, library=library
    )
    sides = best["state"].values[int(best["energy"].values.argmin())]
    return cut_value(found, sides), sides
