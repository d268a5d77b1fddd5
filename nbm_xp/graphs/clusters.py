"""Clusters of units that change together: Swendsen and Wang's, and Wolff's, for ferromagnets without fields.

Contract: joined units that are alike belong to one cluster with the probability that leaves the
distribution as it is; who belongs together follows from one number for each edge, however clusters are found. How far
a cluster reaches cannot be known without looking at it, so a device is waited for some times in a sweep.

References
----------
R. H. Swendsen and J.-S. Wang, "Nonuniversal critical dynamics in Monte Carlo simulations", Physical Review Letters 58
(1987), 86-88; U. Wolff, "Collective Monte Carlo updating for spin systems", Physical Review Letters 62 (1989), 361-364.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import asarray, dtype_of, host_namespace, kernel, wide_dtypes
from nbm_xp.rng.elementary import exp

from .energy_model import EnergyModel
from .layout import Layout
from .values import Values

__all__ = ["CLUSTER_RULES", "check_clusters", "moved", "separate_parts"]

CLUSTER_RULES = ("swendsen_wang", "wolff")


def check_clusters(machine: EnergyModel, rule: str, clamp: Any) -> None:
    """Refuse what clusters are not for.

    Raises
    ------
    ValueError
        If couplings are negative, or there are fields, binary units, or units that are held.
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
    if why:
        raise ValueError(f"rule {rule!r} {why}")


def moved(xp: Any, rule: str, layout: Layout, values: Values, states: Any, uniforms: Any, beta: Any) -> Any:
    """The states after all clusters were drawn anew, or one was changed.

    Parameters
    ----------
    xp : namespace
        The library.
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
    placed, edges, units = layout.on(xp), int(layout.first.shape[0]), layout.units
    with wide_dtypes(xp):
        alike = [xp.take(states, ends, axis=0) for ends in (placed.first, placed.second)]
        bonds = 1.0 - exp(-(beta * values.step) * _weights(xp, layout))
        joined = (alike[0] == alike[1]) & (uniforms[:edges, :] < bonds)
        own = kernel("graphs.roots", xp)
        roots = own(layout, joined) if own is not None else _roots(xp, layout, joined)
        if rule == "swendsen_wang":
            return xp.take_along_axis(values.at_random(xp, uniforms[edges:, :]), roots, axis=0)
        unit = xp.astype(xp.floor(uniforms[edges : edges + 1, :] * float(units)), dtype_of(xp, "int64"))
        chosen = roots == xp.take_along_axis(roots, unit, axis=0)
        int8, number = states.dtype, uniforms[edges + 1 : edges + 2, :] if units > 1 else uniforms[edges:, :] * 0.0
        ahead = 1 + xp.astype(xp.floor(number * (values.count - 1.0)), dtype_of(xp, "int64"))
        before = (xp.astype(states, ahead.dtype) - values.least) // int(values.step)
        new = (before + ahead) % values.count * int(values.step) + values.least
        return xp.where(chosen, xp.astype(new, int8), states)


def separate_parts(layout: Layout) -> Any:
    """The first slot of the part of the graph, joined with no other, that each unit is in; of shape (units,)."""
    if "parts" not in layout.kept:
        host = host_namespace()
        joined = host.ones((layout.first.shape[0], 1), dtype=host.bool)
        own = kernel("graphs.roots", host)
        roots = own(layout, joined) if own is not None else _roots(host, layout, joined)
        layout.kept["parts"] = roots[:, 0]
    return layout.kept["parts"]


def _weights(xp: Any, layout: Layout) -> Any:
    """The couplings of all edges, of shape (edges, 1); of shape (1, 1) where they are alike."""
    if "alike" not in layout.kept:
        host = host_namespace()
        layout.kept["alike"] = layout.weights.shape[0] > 0 and bool(host.all(layout.weights == layout.weights[0]))
    weights = layout.on(xp).weights
    return weights[:1, :] if layout.kept["alike"] else weights


def _roots(xp: Any, layout: Layout, joined: Any) -> Any:
    """The first slot of each unit's cluster in each chain, int64 of shape (units, chains).

    Trees of units, at first one of each, grow together: as long as edges lead from one tree to another, each tree is
    hung below the least that one of these leads it to, and all units are then hung below their tree's root itself.
    No shape depends on what is joined, so a library that compiles for each shape does so once.
    """
    chains, placed = int(joined.shape[1]), layout.on(xp)
    count = layout.units * chains
    roots = each = asarray(host_namespace().arange(count), xp, "int64")
    none = asarray(host_namespace().asarray([count * count]), xp, "int64")
    a, b = (
        xp.reshape(xp.where(joined, ends[:, None] * chains + each[:chains], 0), (-1,))
        for ends in (placed.first, placed.second)
    )
    while True:
        a, b = xp.take(roots, a), xp.take(roots, b)
        apart = a != b
        if not bool(xp.any(apart)):
            return xp.reshape(roots // chains, (layout.units, chains))
        # by the greater root, and of each first the least that it is joined with
        pairs = xp.where(apart, xp.maximum(a, b) * count + xp.minimum(a, b), none)
        pairs = xp.concat([xp.sort(pairs), none])
        found = xp.take(pairs, xp.searchsorted(pairs, each * count))
        roots = xp.where(found // count == each, found % count, roots)
        while True:
            above = xp.take(roots, roots)
            if bool(xp.all(above == roots)):
                break
            roots = above
