"""How likely states are on a graph: pseudo-likelihoods with their gradients, and what states show of pairs and units.

Contract: states have any library, and values and gradients stay in it; a pass over the rows takes
memory in proportion to these, not to rows times edges.

The pseudo-likelihood of a state is the product, over its units, of the probability of the unit's value given all
others. Its logarithm is concave, and its gradient needs no chains: with the residuals r = s - <s | others> of units
that is r_i for a field and ``r_i s_j + s_i r_j`` for a coupling.

References
----------
J. Besag, "Statistical analysis of non-lattice data", The Statistician 24 (1975), 179-195.
E. Aurell and M. Ekeberg, "Inverse Ising inference using all the data", Physical Review Letters 108 (2012), 090201.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbm_xp.namespace import asarray, dtype_of, host_namespace, wide_dtypes

from .colouring import neighbour_rows
from .graph import Graph
from .values import Values

__all__ = ["Neighbourhood", "neighbourhood"]

FEW_UNITS = 2048
"""So many have a table of all pairs, for one product of matrices is quicker than many sums."""
MOST_ENTRIES = 2**28


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """A table of each unit's neighbours, in one library.

    Parameters
    ----------
    xp : namespace
    values : Values
        What a unit can be.
    neighbours : array or None
        Of shape (units, width); None where a table has a column for each unit.
    edges : array
        Of shape (units * width,): the edge that leads there; the number of edges where there is none.
    one, other : arrays
        Of each edge, its two places in that table.
    """

    xp: Any
    values: Values
    units: int
    neighbours: Any
    edges: Any
    one: Any
    other: Any

    def channels(self, rows: Any) -> Any:
        """States as float64 numbers of shape (rows, channels, units): values, or for each Potts value a 0 or 1."""
        xp = self.xp
        float64 = dtype_of(xp, "float64")
        if self.values.kind != "potts":
            return xp.astype(rows, float64)[:, None, :]
        return xp.stack([xp.astype(rows == k, float64) for k in self.values.all], axis=1)

    def sums(self, states: Any, couplings: Any) -> Any:
        """The sums over all neighbours of couplings times channels, of the shape of `states`."""
        xp = self.xp
        weights = xp.concat([couplings, xp.zeros((1,), dtype=couplings.dtype)])
        table = xp.reshape(xp.take(weights, self.edges), (self.units, -1))
        if self.neighbours is None:
            return xp.matmul(states, table)  # which is symmetric
        total = xp.zeros(states.shape, dtype=states.dtype)
        for column in range(table.shape[1]):
            total = total + xp.take(states, self.neighbours[:, column], axis=2) * table[:, column]
        return total

    def products(self, ours: Any, theirs: Any) -> Any:
        """The sums over rows and channels of one unit's numbers times those of each neighbour, along the table."""
        xp = self.xp
        if self.neighbours is None:
            ours, theirs = (xp.reshape(x, (-1, self.units)) for x in (ours, theirs))
            return xp.reshape(xp.matmul(xp.matrix_transpose(ours), theirs), (-1,))
        columns = [
            xp.sum(ours * xp.take(theirs, self.neighbours[:, column], axis=2), axis=(0, 1))
            for column in range(self.neighbours.shape[1])
        ]
        return xp.reshape(xp.stack(columns, axis=1), (-1,))

    def moments(self, rows: Any, counts: Any) -> tuple[Any, Any]:
        """The sums over rows of what couplings and fields are multiplied with in the energy, but for the sign.

        Parameters
        ----------
        rows : array of shape (rows, units)
        counts : array of shape (rows,)
            What each counts, float64.

        Returns
        -------
        pairs, units : arrays
            Of shape (edges,) and (channels, units).
        """
        with wide_dtypes(self.xp):
            states = self.channels(rows)
            counted = states * counts[:, None, None]
            pairs = self.xp.take(self.products(counted, states), self.one)
            return pairs, self.xp.sum(counted, axis=0)

    def shares(self, rows: Any, couplings: Any, fields: Any) -> Any:
        """The sums of couplings and fields times what they are multiplied with in each row: minus its energy."""
        with wide_dtypes(self.xp):
            states = self.channels(rows)
            return self.xp.sum(states * (self.sums(states, couplings) / 2.0 + fields), axis=(1, 2))

    def pseudo(self, rows: Any, couplings: Any, fields: Any) -> tuple[Any, Any, Any]:
        """The logarithm of the pseudo-likelihood of each row, its channels, and the residuals.

        Parameters
        ----------
        rows : array of shape (rows, units)
        couplings : array of shape (edges,)
        fields : array of shape (channels, units)
        """
        xp = self.xp
        states = self.channels(rows)
        local = self.sums(states, couplings) + fields
        if self.values.kind == "potts":
            largest = xp.max(local, axis=1, keepdims=True)
            powers = xp.exp(local - largest)
            sums = xp.sum(powers, axis=1, keepdims=True)
            found = xp.sum(states * local, axis=1, keepdims=True) - largest - xp.log(sums)
            return xp.sum(found, axis=(1, 2)), states, states - powers / sums
        odds = self.values.step * local
        upper = (states - float(self.values.least)) / self.values.step
        towards = (2.0 * upper - 1.0) * odds
        found = xp.minimum(towards, xp.zeros_like(towards)) - xp.log1p(xp.exp(-xp.abs(towards)))
        means = 0.5 + 0.5 * xp.tanh(0.5 * odds)
        return xp.sum(found, axis=(1, 2)), states, self.values.step * (upper - means)

    def pseudo_gradient(self, rows: Any, counts: Any, couplings: Any, fields: Any) -> tuple[Any, Any, Any]:
        """The sum over rows of the logarithms of their pseudo-likelihoods, and its gradients."""
        with wide_dtypes(self.xp):
            found, states, residuals = self.pseudo(rows, couplings, fields)
            residuals = residuals * counts[:, None, None]
            table = self.products(residuals, states)
            pairs = self.xp.take(table, self.one) + self.xp.take(table, self.other)
            return self.xp.sum(found * counts), pairs, self.xp.sum(residuals, axis=0)

    def on_side(self, couplings: Any, fields: Any) -> tuple[Any, Any]:
        """Couplings and fields from the host's memory, in this library."""
        with wide_dtypes(self.xp):
            return asarray(couplings, self.xp, "float64"), asarray(fields, self.xp, "float64")


def neighbourhood(graph: Graph, values: Values, xp: Any) -> Neighbourhood:
    """The table of a graph in a library.

    Raises
    ------
    ValueError
        If some units have so many neighbours that it would be too large.
    """
    host, n = host_namespace(), graph.units
    begins, others, edges = neighbour_rows(n, graph.first, graph.second)
    degrees = begins[1:] - begins[:-1]
    width = int(host.max(degrees))
    whole = n <= FEW_UNITS or 4 * width >= n
    width = n if whole else width
    if n * width > MOST_ENTRIES:
        raise ValueError(
            f"graph must have fewer neighbours of a unit to be learnt, got {n} units and one with "
            f"{int(host.max(degrees))} neighbours"
        )
    owner = host.repeat(host.arange(n), degrees)
    column = host.astype(others, host.int64) if whole else host.arange(owner.shape[0]) - begins[owner]
    entries = owner * width + column
    table = host.full((n * width,), graph.edges, dtype=host.int64)
    table[entries] = edges
    there = None
    if not whole:
        there = host.zeros((n * width,), dtype=host.int64)
        there[entries] = others
        there = host.reshape(there, (n, width))
    places = host.reshape(entries[host.argsort(edges, stable=True)], (-1, 2))
    with wide_dtypes(xp):
        ours = None if there is None else asarray(there, xp, "int64")
        kept = (asarray(x, xp, "int64") for x in (table, places[:, 0], places[:, 1]))
        return Neighbourhood(xp, values, n, ours, *kept)
