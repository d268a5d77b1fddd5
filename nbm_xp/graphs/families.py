"""Constructors of graphs: lattices, random graphs, spin glasses, and files.

Contract: a random graph follows from its seed on every machine.
"""

from __future__ import annotations

import math
import pathlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nbm_xp.machines.randomness import entropy_of
from nbm_xp.namespace import host_namespace
from nbm_xp.namespace.errors import check_choice, positive_int
from nbm_xp.rng import Generator

from .graph import Graph, Lattice


def lattice(shape: int | Sequence[int], periodic: bool | Sequence[bool] = True) -> Lattice:
    """Return a hypercubic lattice with edges between nearest neighbours.

    Parameters
    ----------
    shape : int or sequence of ints
        Number of units along each axis: at least 2, or at least 3 along a periodic axis.
    periodic : bool or sequence of bool, optional
        Whether all axes, or each axis, are periodic.

    Examples
    --------
    >>> lattice((4, 6))
    <lattice 4 × 6: 24 units, 48 edges>
    >>> lattice((4, 6), periodic=False).edges
    38
    >>> lattice((2, 4))
    Traceback (most recent call last):
        ...
    ValueError: shape must be 3 at least along periodic axes, got 2: its units would be joined twice
    """
    lengths = tuple(positive_int(n, "shape", 2) for n in (shape if isinstance(shape, Sequence) else (shape,)))
    if not lengths:
        raise ValueError("shape must have one axis at least")
    joined: Any = (periodic,) * len(lengths) if isinstance(periodic, bool) else periodic
    if not isinstance(joined, Sequence) or len(joined) != len(lengths):
        raise ValueError(
            f"periodic must be one bool or {len(lengths)} of them, got {periodic!r}: "
            "all lengths are one argument, such as (8, 8)"
        )
    if any(n == 2 and ends for n, ends in zip(lengths, joined, strict=True)):
        raise ValueError("shape must be 3 at least along periodic axes, got 2: its units would be joined twice")
    return Lattice(lengths, tuple(map(bool, joined)))


def erdos_renyi(units: int, probability: float, random_state: Any = None) -> Graph:
    """Draw an Erdős–Rényi graph: each pair of units is an edge with the same probability, independently.

    Parameters
    ----------
    units : int
        Number of units.
    probability : float
        Probability of an edge, from 0 to 1.
    random_state : int, None or generator, optional

    Notes
    -----
    The number of pairs skipped before the next edge has a geometric distribution, so the work is proportional to the
    number of edges.

    Examples
    --------
    >>> erdos_renyi(1000, 0.01, 1).name
    'Erdős–Rényi graph'
    """
    host = host_namespace()
    n = positive_int(units, "units")
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must be from 0 to 1, got {probability}")
    pairs, rng = n * (n - 1) // 2, Generator(entropy_of(random_state), library=host)
    parts, last = [host.zeros((0,), dtype=host.int64)], -1
    while probability and last < pairs - 1:
        expected = (pairs - 1 - last) * probability
        skips = rng.geometric(probability, int(expected + 4 * math.sqrt(expected) + 16))
        parts.append(last + host.cumulative_sum(host.minimum(skips, pairs)))
        last = int(parts[-1][-1])
    chosen = host.concat(parts)
    chosen = chosen[chosen < pairs]
    # pair k is in row i of the lower triangle: i (i - 1) / 2 <= k
    rows = host.astype((1 + host.sqrt(8.0 * host.astype(chosen, host.float64) + 1)) // 2, host.int64)
    rows = rows - (rows * (rows - 1) // 2 > chosen)
    rows = rows + ((rows + 1) * rows // 2 <= chosen)
    return Graph(n, rows, chosen - rows * (rows - 1) // 2, name="Erdős–Rényi graph")


def random_regular(units: int, degree: int, random_state: Any = None) -> Graph:
    """Draw a random regular graph.

    Parameters
    ----------
    units, degree : int
        Number of units, and number of neighbours of each unit. Their product must be even, and `degree` less than
        `units`.
    random_state : int, None or generator, optional

    Notes
    -----
    The ends of edges are paired at random; loops and repeated edges are removed by exchanging ends with edges that are
    drawn at random, as in [1]_.

    References
    ----------
    .. [1] B. D. McKay and N. C. Wormald, "Uniform generation of random regular graphs of moderate degree", Journal of
       Algorithms 11 (1990), 52-67.

    Examples
    --------
    >>> random_regular(10, 3, 1)
    <random 3-regular graph: 10 units, 15 edges>
    """
    host = host_namespace()
    n, d = positive_int(units, "units"), positive_int(degree, "degree")
    if d >= n or n * d % 2:
        raise ValueError(f"degree must be less than units and their product even, got {d} and {n}")
    rng = Generator(entropy_of(random_state), library=host)
    half = n * d // 2
    for _ in range(1000):
        ends = rng.permutation(n * d) // d
        first, second = ends[:half], ends[half:]
        for _ in range(100 + 10 * d):
            keys = host.minimum(first, second) * n + host.maximum(first, second)
            order = host.argsort(keys, stable=True)
            again = host.zeros((half,), dtype=host.bool)
            again[order[1:]] = keys[order[1:]] == keys[order[:-1]]
            wrong = host.nonzero(again | (first == second))[0]
            if not wrong.shape[0]:
                return Graph(n, first, second, name=f"random {d}-regular graph")
            for edge, other in zip(wrong.tolist(), rng.integers(0, half, wrong.shape[0]).tolist(), strict=True):
                second[edge], second[other] = second[other], second[edge]
    raise ValueError(f"degree {d} of {units} units leaves too few graphs to find one at random")


def edwards_anderson(
    shape: int | Sequence[int],
    disorder: str = "signs",
    periodic: bool | Sequence[bool] = True,
    random_state: Any = None,
) -> Graph:
    """Draw an Edwards–Anderson spin glass: a lattice with random couplings of mean 0 and variance 1.

    Parameters
    ----------
    shape, periodic
        See `lattice`.
    disorder : {"signs", "normal"}, optional
        Distribution of the couplings: 1 or -1 with equal probability, or standard normal.
    random_state : int, None or generator, optional

    Examples
    --------
    >>> sorted(set(edwards_anderson((4, 4, 4), random_state=1).weights.tolist()))
    [-1.0, 1.0]
    """
    found = lattice(shape, periodic)
    rng = Generator(entropy_of(random_state), library=host_namespace())
    check_choice("disorder", disorder, ("signs", "normal"))
    if disorder == "signs":
        weights = 2.0 * rng.integers(0, 2, found.edges) - 1.0
    else:
        weights = rng.normal(0.0, 1.0, found.edges, "float64")
    return Lattice(found.shape, found.periodic, weights, f"Edwards–Anderson glass, {found.name}")


def sherrington_kirkpatrick(units: int, random_state: Any = None) -> Graph:
    """Draw a Sherrington–Kirkpatrick spin glass: a complete graph with normal couplings of variance 1 / units.

    Parameters
    ----------
    units : int
        Number of units, at least 2.
    random_state : int, None or generator, optional

    Examples
    --------
    >>> sherrington_kirkpatrick(16, 1).edges
    120
    """
    host = host_namespace()
    graph, rng = complete_graph(units), Generator(entropy_of(random_state), library=host)
    weights = rng.normal(0.0, 1.0, graph.edges, "float64") / math.sqrt(graph.units)
    return replace(graph, weights=weights, name="Sherrington–Kirkpatrick glass")


def complete_graph(units: int) -> Graph:
    """Return the complete graph: each pair of units, in the order (0, 1), (0, 2), …, is an edge.

    Parameters
    ----------
    units : int
        Number of units, at least 2.

    Examples
    --------
    >>> complete_graph(16).edges
    120
    """
    host = host_namespace()
    n = positive_int(units, "units", 2)
    first, second = host.triu_indices(n, 1)
    return Graph(n, first, second, colours=host.arange(n), name="complete graph")


def read_gset(path: Any) -> Graph:
    r"""Read a graph from a file in the format of the Gset collection.

    Parameters
    ----------
    path : path
        Text file. The first line has the numbers of units and of edges; further fields in it are ignored. Each other
        line has the two units of an edge, numbered from 1, and optionally its weight, 1 by default.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "triangle.txt")
    >>> _ = file.write_text("3 3\n1 2 1\n2 3 1\n1 3 -1\n")
    >>> read_gset(file).weights.tolist()
    [1.0, 1.0, -1.0]
    """
    host = host_namespace()
    place = pathlib.Path(path)
    try:
        lines = [line.split() for line in place.read_text(encoding="utf-8").splitlines() if line.strip()]
        units, edges = (int(word) for word in lines[0][:2])
        rows = [(int(line[0]), int(line[1]), float(line[2]) if len(line) > 2 else 1.0) for line in lines[1:]]
    except (IndexError, ValueError) as error:
        raise ValueError(f"{place}: lines must hold two units and a weight, after one of units and edges") from error
    if len(rows) != edges:
        raise ValueError(f"{place}: its first line promises {edges} edges, and there are {len(rows)}")
    beyond = [row[:2] for row in rows if not (1 <= row[0] <= units and 1 <= row[1] <= units)]
    if beyond:
        raise ValueError(f"{place}: edges must join units from 1 to {units}, got {beyond[0]}")
    ends = host.reshape(host.asarray([row[:2] for row in rows], dtype=host.int64), (-1, 2)) - 1
    weights = host.asarray([row[2] for row in rows], dtype=host.float64)
    return Graph(units, ends[:, 0], ends[:, 1], weights, name=place.stem)
