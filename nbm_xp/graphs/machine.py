"""`GraphMachine`: a Boltzmann machine on a graph, with sampling, annealing, tempering and learning.

Contract: the same seed gives the same states on every library, in memory and on Dask, for every division into chains,
sweeps and blocks. Arguments are validated before anything is drawn.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.machines import Array
from nbm_xp.namespace import host_namespace
from nbm_xp.namespace.errors import positive_int
from nbm_xp.package import need

from .chain_groups import Schedule
from .chains import Chains, blocked_chains, started
from .energy_model import checked_states
from .graph import as_graph
from .lattice_sweeps import lattice_blocks
from .layout import energies
from .learning import Learning
from .measures import diagnose
from .moves import check_local
from .observables import coordinates_of
from .potts import PottsMixin
from .shards import sharded
from .tempering import TemperingMixin


class GraphMachine(Learning, PottsMixin, TemperingMixin):
    """A Boltzmann machine of discrete units on a graph.

    The energy of spins (-1 or 1) and of binary units (0 or 1) is ``E = -Σ J_ij s_i s_j - Σ h_i s_i``, summed over edges
    and over units; the energy of Potts units is ``E = -Σ J_ij [s_i = s_j] - Σ h_i[s_i]``, or, with a matrix of
    couplings for each edge, ``E = -Σ J_ij[s_i, s_j] - Σ h_i[s_i]``. The probability of a state is proportional to
    ``exp(-β E)``.

    Parameters
    ----------
    graph : Graph, sparse or dense matrix, array of edges, or networkx graph
        See `as_graph`.
    units : {"spin", "binary"} or int, optional
        Kind of units. An int q from 2 to 127, or "categorical:q", gives Potts units with q values.
    fields : float or array, optional
        One field for all units, or an array of shape (units,); for Potts units of shape (values,) or (units, values).
        Defaults to 0.
    couplings : float or array, optional
        One coupling for all edges, or an array of shape (edges,) in the graph's order. Defaults to the graph's weights,
        or to 1 if it has none. For Potts units also a matrix of shape (values, values) for all edges, or an array of
        shape (edges, values, values), with a row for each value of the first unit of an edge; `fit` then learns a
        matrix for each edge.
    hidden : array of int of shape (hidden units,), optional
        Numbers of the hidden units, which rows of data do not have: their columns are those of the visible units, all
        others, in the order of units. States, such as `sample` returns, have all units. `fit` starts from random
        couplings of hidden units, so another `random_state` may lead to another local maximum of the likelihood. By
        default all units are visible.
    factors : array of int of shape (factors, 3) or (factors, 4), or list of rows of three or four units, optional
        Units of factors of three or four different spins or binary units: each adds ``-K s_i s_j s_k``, or
        ``-K s_i s_j s_k s_l``, to the energy. They are drawn without compiled loops, and not in chunks or shards. By
        default there are none.
    factor_couplings : float or array of shape (factors,), optional
        Coupling K of all factors, or of each. Defaults to 1; without factors it is not used. `fit` learns them like
        couplings.
    training : {"pseudo_likelihood", "pcd", "ptt", "exact"}, optional
        Objective and method of `fit`: the pseudo-likelihood; or the likelihood, by persistent contrastive divergence,
        by parallel tempering, or by enumeration of all states. Training with chains ("pcd" and "ptt") starts from the
        maximum of the pseudo-likelihood, unless `fit` resumes. With hidden units or missing values, the likelihood is
        that of the other values, "pseudo_likelihood" is not available, and "pcd" and "ptt" have a further persistent
        chain for each row, which draws the values that the row does not have.
    n_iter : int, optional
        Maximum number of steps; with chains, the number of steps.
    learning_rate : float, optional
        Step size of `fit` with chains along centred gradients, in units of the inverse of the largest curvature of the
        log-likelihood, which is estimated from the data; in `partial_fit`, the factor of the gradient.
    schedule : {"constant", "linear"}, optional
        Whether the step size is constant in `fit` with chains, or falls to 0.
    momentum : float, optional
        Momentum of `fit` with chains, from 0 to less than 1.
    weight_decay, field_decay : float, optional
        L2 penalties: ``weight_decay / 2`` times the sum of squared couplings, and ``field_decay / 2`` times that of
        squared fields, are subtracted from the mean log-(pseudo-)likelihood. `field_decay` defaults to `weight_decay`.
    n_chains, n_sweeps : int, optional
        Number of chains ("pcd") or sets of chains ("ptt"), and number of sweeps per step.
    tol : float, optional
        Learning without chains stops when the largest absolute component of the gradient is at most `tol`.
    random_state : int, None or generator, optional
        Seed of the chains used in learning. `sample` and the other methods have their own.

    Attributes
    ----------
    couplings_ : numpy.ndarray of shape (edges,), or (edges, values, values)
        Learned couplings; all methods use the learned couplings and fields.
    fields_ : numpy.ndarray of shape (units,), or (units, values)
        Learned fields.
    factor_couplings_ : numpy.ndarray of shape (factors,)
        Learned couplings of factors, if there are any.
    n_iter_, n_features_in_ : int
        Number of steps made, and number of visible units.

    Raises
    ------
    ValueError
        If the graph is invalid; if couplings, fields or couplings of factors are not finite or have another shape; if
        hidden units are not different units of the graph, or are all of them; or if the units of a factor are not three
        or four different units of the graph, or are Potts units.

    Notes
    -----
    Couplings and fields are rounded to multiples of `resolution`, a power of two. It is so coarse that all sums of them
    are exact in float64, hence equal on all libraries, and so fine that integers are not changed.

    Examples
    --------
    >>> from nbm_xp.graphs import lattice
    >>> machine = GraphMachine(lattice((8, 8)))
    >>> machine
    GraphMachine(<lattice 8 × 8: 64 units, 128 edges>, units='spin', 2 colours)
    >>> draws = machine.sample(4, 1000, burn_in=50, beta=0.3, random_state=1)
    >>> draws["energy"].dims, draws["energy"].shape
    (('chain', 'sweep'), (4, 1000))
    >>> draws.attrs["energy_r_hat"] < 1.05, draws.attrs["energy_mcse"] < 0.01
    (True, True)

    A factor of three visible units, and a hidden unit joined with two of them; rows have the visible units:

    >>> machine = GraphMachine([[0, 3], [1, 3]], hidden=[3], factors=[(0, 1, 2)], factor_couplings=0.5)
    >>> machine
    GraphMachine(<graph: 4 units, 2 edges>, units='spin', 1 hidden, 1 factors, 3 colours)
    >>> machine.log_likelihood([[1, 1, 1], [1, 1, -1]]).round(3)
    array([-1.242, -2.242])
    """

    def energy(self, states: Array) -> Any:
        """Compute the energies of states.

        Parameters
        ----------
        states : array of shape (units,) or (states, units)

        Returns
        -------
        numpy.ndarray
            float64, of shape (states,).

        Examples
        --------
        >>> GraphMachine([[0, 1]], couplings=0.5).energy([[1, 1], [1, -1]])
        array([-0.5,  0.5])
        """
        host, rows = host_namespace(), checked_states(self, states)
        slots = host.take(rows, self.layout.order, axis=1).T
        return energies(host.ascontiguousarray(slots), self.layout, self.kind)

    def sample(
        self, n_chains: int = 1, n_sweeps: int = 1000, *, burn_in: int = 0, thin: int = 1, initial: Any = None,
        beta: Any = 1.0, rule: str = "heat_bath", observe: Any = ("energy", "magnetisation"),
        clamp: dict[int, int] | None = None, given: Any = None, first_chain: int = 0, random_state: Any = None,
        library: Any = None, chunks: Any = None, shards: Any = None,
    ) -> Any:  # fmt: skip
        """Draw states by sweeps over all units, and measure observables.

        Parameters
        ----------
        n_chains : int, optional
            Number of chains.
        n_sweeps : int, optional
            Number of sweeps after the `burn_in` sweeps.
        burn_in : int, optional
            Number of sweeps discarded first.
        thin : int, optional
            Interval between measurements, in sweeps.
        initial : array of shape (n_chains, units), or xarray.Dataset, optional
            Initial states; random by default. With `given` their shape is (n_chains, rows, units). A dataset that this
            method returned resumes its chains as if they had not been interrupted; then `random_state` must be None,
            and `burn_in` should be 0.
        beta : float or array of shape (n_chains,), optional
            Inverse temperature of all chains, or of each chain.
        rule : {"heat_bath", "metropolis", "multi_spin", "swendsen_wang", "wolff"}, optional
            Update rule. "multi_spin" is the heat bath with 64 chains packed into the bits of a word; it needs spins
            without fields, couplings of equal absolute value, and the same number of neighbours, at most 7, for each
            unit. "swendsen_wang" and "wolff" update all clusters, or one; they need spins or Potts units without fields
            and with ferromagnetic couplings.
        observe : str or sequence of str, optional
            "energy", per unit; "magnetisation", the mean over units (for Potts units the order parameter);
            "abs_magnetisation", its absolute value; "overlap", of pairs of chains; "correlations", along the axes of a
            lattice; "means", of each unit and of the product over each edge. `binder` and `autocorrelation_time` take
            these series.
        clamp : dict, optional
            Constant values of clamped units, by unit number.
        given : array of shape (rows, visible units), or (rows, units), optional
            Rows with missing values, NaN, which are drawn given the other values of their row, as hidden units are; by
            default all units are drawn. The `n_chains` chains of a row are independent, so an average of a function
            over them has the standard error ``std / sqrt(n_chains)``. Not with `clamp`, overlaps, `chunks`, `shards` or
            cluster moves.
        first_chain : int, optional
            Number of the first chain: chains 4 to 7 are the same whether or not chains 0 to 3 are drawn with them.
        random_state : int, None or generator, optional
        library : str or namespace, optional
            Array library of the states; by default the configured one.
        chunks : int or sequence, optional
            Block lengths along each axis of a lattice, as Dask's chunks; -1 is the whole axis. The variables are then
            Dask arrays, computed lazily, and ``state`` has the lattice's axes. The results equal those of the undivided
            lattice. Only the rules "heat_bath" and "metropolis" run in blocks.
        shards : int or array of shape (units,), optional
            Number of shards into which the graph is partitioned, by pymetis if it is installed, else by a breadth-first
            ordering; or the shard of each unit. Variables are Dask arrays, as with `chunks`.

        Returns
        -------
        xarray.Dataset
            A variable for each observable, and ``state``, the last states, with the dimensions chain and unit.
            Attributes are R-hat, effective sample size and Monte Carlo standard error of each observable with the
            dimension sweep, such as ``energy_r_hat``, ``energy_ess`` and ``energy_mcse``. With `chunks` or `shards`
            they are left to `diagnose`. With `given`, variables have the dimension row after chain, and there are none.

        Raises
        ------
        ValueError
            If an argument is invalid, or arguments exclude each other.

        Warns
        -----
        ClampWarning
            If some connected components of the graph have clamped units and others have none.
        MixingWarning
            If chains disagree, or still drift from their initial states: see `diagnose`.

        Examples
        --------
        >>> machine = GraphMachine([[0, 1], [1, 2]], units="binary", fields=-0.5)
        >>> whole = machine.sample(2, 20, random_state=1)
        >>> part = machine.sample(2, 15, random_state=1)
        >>> rest = machine.sample(2, 5, initial=part)
        >>> bool((rest["energy"].values == whole["energy"].values[:, 15:]).all())
        True
        >>> machine.sample(100, 20, given=[[1, float("nan"), 0]], random_state=1)["state"].shape
        (100, 1, 3)
        """
        xarray = need("xarray")
        n_sweeps, thin = positive_int(n_sweeps, "n_sweeps"), positive_int(thin, "thin")
        burn_in, where = positive_int(burn_in, "burn_in", 0), check_local(rule, chunks, shards)
        for name, value in (("library", library), ("given", given)):
            if where is not None and value is not None:
                raise ValueError(f"{name} must be None where there are {where}")
        start = started(
            self, n_chains, beta, random_state, initial=initial, rule=rule, observe=observe, clamp=clamp, given=given,
            first_chain=first_chain,
        )  # fmt: skip
        group, schedule = start.group, Schedule(start.sweep, burn_in, n_sweeps, thin)
        if chunks is not None:
            found = blocked_chains(self, *lattice_blocks(self, chunks, start, schedule), start, schedule)
        elif shards is not None:
            found = blocked_chains(self, *sharded(self, shards, start.clamp), start, schedule)
        else:
            found = Chains(self, start, library).observed(schedule)
        attributes = self._attributes(group) | {"sweeps": start.sweep + schedule.total}
        rows = 1 if start.given is None else int(start.given.shape[0])
        coordinates = coordinates_of(group.first_chain // rows, group.betas[::rows], schedule.seen)
        draws = xarray.Dataset(found, coordinates, attributes)
        return draws if where is not None else draws.assign_attrs(diagnose(draws, stacklevel=3))

    def chains(
        self, n_chains: int = 1, beta: Any = 1.0, random_state: Any = None, *, initial: Any = None,
        rule: str = "heat_bath", clamp: dict[int, int] | None = None, given: Any = None, first_chain: int = 0,
        library: Any = None,
    ) -> Chains:  # fmt: skip
        """Return chains in their initial states, which the caller steps; the arguments are those of `sample`.

        With `given`, the chains of the first chain number come first, one for each row.

        Examples
        --------
        >>> running = GraphMachine([[0, 1], [1, 2]]).chains(4, 0.5, 1)
        >>> running.step(10)
        >>> running.rows().shape, running.energies().shape
        ((4, 3), (4,))
        """
        start = started(
            self, n_chains, beta, random_state, initial=initial, rule=rule, clamp=clamp, given=given,
            first_chain=first_chain,
        )  # fmt: skip
        return Chains(self, start, library)


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
