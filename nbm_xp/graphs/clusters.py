"""Clusters of units that change together: Swendsen and Wang's, and Wolff's, for ferromagnets without fields.

What this chapter must satisfy: joined units that are alike belong to one cluster with the probability that leaves the
distribution as it is; who belongs together follows from one number for each edge, however clusters are found. The
arrays lie in the host's memory: how far a cluster reaches cannot be known without looking at it.

References
----------
R. H. Swendsen and J.-S. Wang, "Nonuniversal critical dynamics in Monte Carlo simulations", Physical Review Letters 58
(1987), 86-88; U. Wolff, "Collective Monte Carlo updating for spin systems", Physical Review Letters 62 (1989), 361-364.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import host_namespace, library_name
from nbm_xp.namespace.graph_kernels import kernel
from nbm_xp.rng.elementary import exp

from .energy_model import EnergyModel
from .layout import Layout
from .values import Values

__all__ = ["CLUSTER_RULES", "check_clusters", "moved"]

CLUSTER_RULES = ("swendsen_wang", "wolff")


def check_clusters(machine: EnergyModel, rule: str, xp: Any, clamp: Any) -> None:
    """Refuse what clusters are not for.

    Raises
    ------
    ValueError
        If couplings are negative, or there are fields, binary units, units that are held or arrays elsewhere.
    """
    host, layout = host_namespace(), machine.layout
    why = None
    if machine.values.kind == "binary":
        why = "is for spins and Potts units"
    elif host.any(layout.fields != 0):
        why = "is for machines without fields"
    elif host.any(layout.weights < 0):
        why = "is for ferromagnets: couplings must not be negative"
    elif clamp:
        why = "cannot hold units: clamp must be None"
    elif xp is not host:
        why = "works in the host's memory: library must be that of its arrays"
    if why:
        raise ValueError(f"rule {rule!r} {why}")


def moved(rule: str, layout: Layout, values: Values, states: Any, uniforms: Any, beta: Any) -> Any:
    """The states after all clusters were drawn anew, or one was changed.

    Parameters
    ----------
    rule : {"swendsen_wang", "wolff"}
    layout : Layout
    values : Values
    states : array
        int8, of shape (units, chains).
    uniforms : array
        float64, of shape (edges + units, chains): one for each edge; then one for each cluster, by the first of its
        slots, or, for Wolff's, one for the unit that is in the cluster and one for its new value.
    beta : array
        Of shape (1, chains).
    """
    host = host_namespace()
    edges, units = int(layout.first.shape[0]), layout.units
    alike = bool(edges) and bool(host.all(layout.weights == layout.weights[0]))
    weights = layout.weights[:1] if alike else layout.weights
    bonds = 1.0 - exp(-(beta * values.step) * weights[:, None])
    columns = []
    for chain in range(states.shape[1]):
        old, u = states[:, chain], uniforms[:, chain]
        joined = (old[layout.first] == old[layout.second]) & (u[:edges] < bonds[:, chain])
        roots = _roots(units, layout.first[joined], layout.second[joined])
        if rule == "swendsen_wang":
            columns.append(values.at_random(host, u[edges:])[roots])
            continue
        chosen = roots == roots[int(u[edges] * units)]
        least, step, count = values.least, int(values.step), values.count
        ahead = 1 + int(u[edges + 1] * (count - 1)) if units > 1 else 1
        new = ((old - least) // step + ahead) % count * step + least
        columns.append(host.where(chosen, new, old))
    return host.ascontiguousarray(host.astype(host.stack(columns, axis=1), host.int8))


def _roots(units: int, first: Any, second: Any) -> Any:
    """The first unit of each unit's cluster, of these pairs of joined units."""
    host = host_namespace()
    own = kernel("graphs.roots", library_name(host))
    if own is not None:
        return own(units, first, second)
    roots = host.arange(units)
    while True:
        low = host.minimum(roots[first], roots[second])
        found = host.array(roots)
        for ends in (first, second):
            host.minimum.at(found, roots[ends], low)
            host.minimum.at(found, ends, low)
        while not host.all(found == found[found]):
            found = found[found]
        if host.all(found == roots):
            return roots
        roots = found
