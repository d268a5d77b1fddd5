"""`GraphMachine`: units on a graph, their couplings and fields, and draws of their states.

Contract: the same seed gives the same states on every library, in memory and on Dask, for every division into chains,
sweeps and blocks; what is wrong with an argument is said before anything is drawn.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.machines import Array
from nbm_xp.machines.randomness import entropy_of
from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import host_namespace
from nbm_xp.package import need

from . import moves
from .blocks import blocked_chains
from .chain_groups import ChainGroup, Schedule
from .chains import Chains, started
from .energy_model import checked_states
from .lattice_sweeps import lattice_blocks
from .learning import Learning
from .measures import diagnose
from .moves import check_local
from .observables import INVERSE_TEMPERATURE, STATES, SWEEPS, about, coordinates_of
from .shards import sharded
from .tempering import LowestStates, Tempering, checked_betas, placed_ladder

__all__ = ["GraphMachine"]


class GraphMachine(Learning):
    """A Boltzmann machine of discrete units on a graph.

    The energy of spins, -1 or 1, and of binary units, 0 or 1, is ``-Σ J_ij s_i s_j - Σ h_i s_i``, over the edges and
    over the units; that of Potts units is ``-Σ J_ij [s_i = s_j] - Σ h_i[s_i]``. A state has a probability in proportion
    to ``exp(-β E)``.

    Parameters
    ----------
    graph : Graph, sparse or dense matrix, array of edges, or networkx graph
        See `as_graph`.
    units : {"spin", "binary"} or int, optional
        What units can be; an int q, or "categorical:q", is the number of values of Potts units, from 2 to 127.
    fields : float or array, optional
        Of all units, or of each; of Potts units, for each value, or of shape (units, values).
    couplings : float or array, optional
        Of all edges, or of each in the graph's order; the graph's weights by default, and 1 where it has none.
    training : {"pseudo_likelihood", "pcd", "ptt", "exact"}, optional
        How `fit` learns: by the pseudo-likelihood, the probability of each unit given all others; or by the likelihood,
        with persistent chains, with chains in parallel tempering, or by all states where they are few. Chains begin
        where the pseudo-likelihood is largest.
    n_iter : int, optional
        How many steps there are at most; with chains, how many there are.
    learning_rate : float, optional
        How long steps with chains are, of the longest that the curvature of the likelihood can bear at first; of
        `partial_fit`, how many times the gradient a step is.
    weight_decay : float, optional
        Half of it times the squares of couplings and fields is taken from the mean of what is to be large.
    n_chains, n_sweeps : int, optional
        How many chains there are, or sets of them, and their sweeps in a step.
    tol : float, optional
        The size of the gradient's largest part at which learning ends, without chains.
    random_state : int, None or generator, optional
        Of the chains that learning makes; `sample` and the others have their own.

    Attributes
    ----------
    couplings_ : numpy.ndarray of shape (edges,)
        What was learned, which all methods go by from then on.
    fields_ : numpy.ndarray of shape (units,), or (units, values)
    n_iter_, n_features_in_ : int
        The steps made, and the units.

    Raises
    ------
    ValueError
        If there is no such graph, or numbers are not finite or too many or too few.

    Notes
    -----
    Couplings and fields are rounded to multiples of `resolution`, so fine that whole numbers stay as they are, so
    coarse that sums of all of them are exact. That is why all libraries give the same bits.

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
    """

    def energy(self, states: Array) -> Any:
        """The energies of states.

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
        host = host_namespace()
        rows = checked_states(self, states)
        slots = host.take(rows, self.layout.order, axis=1).T
        return moves.energies(host, self.layout, self.kind, host.ascontiguousarray(slots))

    def sample(
        self,
        n_chains: int = 1,
        n_sweeps: int = 1000,
        *,
        burn_in: int = 0,
        thin: int = 1,
        initial: Any = None,
        beta: Any = 1.0,
        rule: str = "heat_bath",
        observe: Any = ("energy", "magnetisation"),
        clamp: dict[int, int] | None = None,
        first_chain: int = 0,
        random_state: Any = None,
        library: Any = None,
        chunks: Any = None,
        shards: Any = None,
    ) -> Any:
        """Draw states by sweeps over all units, and measure observables.

        Parameters
        ----------
        n_chains : int, optional
            How many chains run together.
        n_sweeps : int, optional
            How many sweeps there are after those of `burn_in`.
        burn_in : int, optional
            How many sweeps come first, unobserved.
        thin : int, optional
            Observables are measured after each so many sweeps.
        initial : array of shape (n_chains, units), or xarray.Dataset, optional
            The states to begin with; random ones by default. Of a dataset that this method returned, all chains go on
            as if they had not been interrupted; `burn_in` should be 0 then, and `random_state` None.
        beta : float or array of shape (n_chains,), optional
            The inverse temperature, of all chains or of each.
        rule : {"heat_bath", "metropolis", "multi_spin", "swendsen_wang", "wolff"}, optional
            How a unit is drawn: by its heat bath; by Metropolis's rule; by its heat bath, 64 chains in the bits of a
            word, for couplings of one size, no fields and as many neighbours each; or in clusters of equal units, all
            of them or one, of spins and Potts units with ferromagnetic couplings and no fields.
        observe : str or sequence of str, optional
            Energy, a unit; magnetisation, the mean value of a unit, of Potts units the order parameter, or
            abs_magnetisation, its size; overlap, of chains two by two; correlations, along the axes of a lattice;
            means, of units and joined pairs. `binder` and `autocorrelation_time` are functions of these.
        clamp : dict, optional
            Units, and their constant values.
        first_chain : int, optional
            The number of the first chain: chains 4 to 7 are the same whether or not 0 to 3 run beside them.
        random_state : int, None or generator, optional
        library : str or namespace, optional
            The library whose arrays hold the states; by default the one that is configured.
        chunks : int or sequence, optional
            Of a lattice: how long blocks are along each axis, as Dask takes chunks; -1 is the whole axis. Then the
            variables are Dask arrays, which nothing computes until they are asked for, and `state` has the lattice's
            axes. The bits are those of the undivided lattice. Rules are heat bath and Metropolis.
        shards : int or array of shape (units,), optional
            Of any graph: how many shards it is divided into, by pymetis where it is installed, else by a breadth-first
            walk; or the shard of each unit. Variables are Dask arrays, as with `chunks`.

        Returns
        -------
        xarray.Dataset
            A variable for each observable, and ``state``, the last states, with the dimensions chain and unit.
            Attributes are R-hat, effective sample size and Monte Carlo error of each observable that has a number for
            each sweep, as ``energy_r_hat``, ``energy_ess`` and ``energy_mcse``: see `diagnose`, which gives them of
            Dask arrays.

        Raises
        ------
        ValueError
            If an argument is not what it can be.

        Warns
        -----
        ClampWarning
            Where units are clamped, but none of some connected components of the graph.
        MixingWarning
            Where chains disagree, or still move away from their initial states: see `diagnose`.

        Examples
        --------
        >>> machine = GraphMachine([[0, 1], [1, 2]], units="binary", fields=-0.5)
        >>> whole = machine.sample(2, 20, random_state=1)
        >>> part = machine.sample(2, 15, random_state=1)
        >>> rest = machine.sample(2, 5, initial=part)
        >>> bool((rest["energy"].values == whole["energy"].values[:, 15:]).all())
        True
        """
        xarray = need("xarray")
        n_sweeps, thin = positive_int(n_sweeps, "n_sweeps"), positive_int(thin, "thin")
        burn_in, where = positive_int(burn_in, "burn_in", 0), "shards" if chunks is None else "chunks"
        if chunks is not None and shards is not None:
            raise ValueError("shards must be None where there are chunks")
        in_blocks = chunks is not None or shards is not None
        if in_blocks:
            check_local(rule, where)
            if library is not None:
                raise ValueError(f"library must be None where there are {where}")
        start = started(
            self, n_chains, beta, random_state, initial=initial, rule=rule, observe=observe, clamp=clamp,
            first_chain=first_chain,
        )  # fmt: skip
        group, schedule = start.group, Schedule(start.sweep, burn_in, n_sweeps, thin)
        if chunks is not None:
            of_states = set(group.names) & set(STATES)
            in_chunks = lattice_blocks(self, chunks, start.clamp, schedule if of_states else None)
            found = blocked_chains(self, *in_chunks, start, schedule)
        elif shards is not None:
            found = blocked_chains(self, *sharded(self, shards, start.clamp), start, schedule)
        else:
            found = Chains(self, start, library).observed(schedule)
        attributes = self._attributes(group) | {"sweeps": start.sweep + schedule.total}
        draws = xarray.Dataset(found, coordinates_of(group.first_chain, group.betas, schedule.seen), attributes)
        return draws if in_blocks else draws.assign_attrs(diagnose(draws, stacklevel=3))

    def chains(
        self,
        n_chains: int = 1,
        beta: Any = 1.0,
        random_state: Any = None,
        *,
        initial: Any = None,
        rule: str = "heat_bath",
        clamp: dict[int, int] | None = None,
        first_chain: int = 0,
        library: Any = None,
    ) -> Chains:
        """Chains at their start, which the caller steps: the arguments are those of `sample`.

        Examples
        --------
        >>> running = GraphMachine([[0, 1], [1, 2]]).chains(4, 0.5, 1)
        >>> running.step(10)
        >>> running.rows().shape, running.energies().shape
        ((4, 3), (4,))
        """
        start = started(
            self, n_chains, beta, random_state, initial=initial, rule=rule, clamp=clamp, first_chain=first_chain
        )  # fmt: skip
        return Chains(self, start, library)

    def anneal(
        self,
        n_chains: int = 64,
        n_sweeps: int = 1000,
        *,
        betas: Any = (0.1, 3.0),
        thin: int = 1,
        rule: str = "heat_bath",
        clamp: dict[int, int] | None = None,
        initial: Any = None,
        random_state: Any = None,
        library: Any = None,
    ) -> Any:
        """Search for states of low energy by simulated annealing.

        Parameters
        ----------
        n_chains, rule, clamp, initial, random_state, library
            See `sample`.
        n_sweeps : int, optional
            How many sweeps there are where `betas` is two numbers.
        betas : two floats, or array, optional
            The inverse temperature of the first and the last sweep, between which it rises evenly; or of each sweep.
        thin : int, optional
            Energies are measured after each so many sweeps.

        Returns
        -------
        xarray.Dataset
            ``energy``, of shape (chain,), the least energy that each chain met, of all units; ``state``, which had it.

        Examples
        --------
        >>> from nbm_xp.graphs import edwards_anderson, enumerated
        >>> machine = GraphMachine(edwards_anderson((4, 4), random_state=2))
        >>> found = machine.anneal(8, 100, random_state=1)
        >>> float(found["energy"].min()) == enumerated(machine).ground_energy
        True
        """
        xarray, host = need("xarray"), host_namespace()
        schedule, thin = checked_betas(betas, rising=False), positive_int(thin, "thin")
        if schedule.shape[0] == 2:
            schedule = host.linspace(schedule[0], schedule[1], positive_int(n_sweeps, "n_sweeps"))
        start = started(self, n_chains, float(schedule[0]), random_state, initial=initial, rule=rule, clamp=clamp)
        running = Chains(self, start, library)
        best = LowestStates(running)
        for k, beta in enumerate(schedule.tolist(), 1):
            running.set_betas(host.full((running.count,), beta))
            running.step()
            if k % thin == 0 or k == schedule.shape[0]:
                best.see()
        found = {
            "energy": (("chain",), best.energies, about("least energy")),
            "state": (("chain", "unit"), best.states, about("state of the least energy")),
        }
        return xarray.Dataset(found, attrs=self._attributes(running.group))

    def temper(
        self,
        n_chains: int = 2,
        n_sweeps: int = 1000,
        *,
        betas: Any,
        acceptance: float | None = None,
        burn_in: int = 0,
        rule: str = "heat_bath",
        clamp: dict[int, int] | None = None,
        random_state: Any = None,
        library: Any = None,
    ) -> Any:
        """Draw states by parallel tempering: chains at several temperatures exchange these.

        Parameters
        ----------
        n_chains : int, optional
            How many sets of chains run together, of one chain for each inverse temperature.
        n_sweeps, burn_in : int, optional
            How many sweeps are observed, after how many that are not.
        betas : array
            Rising inverse temperatures.
        acceptance : float, optional
            The share of exchanges to aim at: temperatures are placed between the first and the last of `betas` such
            that all neighbours exchange so often.
        rule, clamp, random_state, library
            See `sample`.

        Returns
        -------
        xarray.Dataset
            ``energy``, a unit, of shape (chain, beta, sweep); ``acceptance``, of shape (pair,); ``best_energy`` and
            ``best_state``, the least energy of all units of each set, and its state; ``state``, the last
            ones. Attributes are diagnostics, as those of `sample`.

        Warns
        -----
        MixingWarning
            Where sets disagree, or still move away from their initial states: see `diagnose`.

        Examples
        --------
        >>> from nbm_xp.graphs import edwards_anderson
        >>> machine = GraphMachine(edwards_anderson((4, 4, 4), random_state=2))
        >>> found = machine.temper(2, 800, betas=[0.2, 0.5, 0.8, 1.1], burn_in=100, random_state=1)
        >>> found["energy"].shape, found["acceptance"].shape
        ((2, 4, 800), (3,))
        """
        xarray, host = need("xarray"), host_namespace()
        ladder, sets = checked_betas(betas), positive_int(n_chains, "n_chains")
        n_sweeps, burn_in = positive_int(n_sweeps, "n_sweeps"), positive_int(burn_in, "burn_in", 0)
        entropy, how = entropy_of(random_state), {"rule": rule, "clamp": clamp, "library": library}
        if acceptance is not None:
            ends = float(ladder[0]), float(ladder[-1])
            ladder = placed_ladder(self, *ends, acceptance, random_state=entropy, **how)
        tempering = Tempering(self, ladder, sets, entropy, **how)
        for _ in range(burn_in):
            tempering.step()
        tempering.forget()
        energies = host.stack([tempering.step() for _ in range(n_sweeps)], axis=2) / self.n_units
        count, running, lowest = int(ladder.shape[0]), tempering.running, tempering.lowest
        least = host.reshape(lowest.energies, (sets, count))
        which = host.argmin(least, axis=1) + host.arange(sets) * count
        last = host.reshape(running.rows()[host.reshape(tempering.order, (-1,))], (sets, count, -1))
        found = {
            "energy": (("chain", "beta", "sweep"), energies, about("energy a unit")),
            "acceptance": (("pair",), tempering.acceptance, about("share of exchanges made")),
            "best_energy": (("chain",), host.min(least, axis=1), about("least energy")),
            "best_state": (("chain", "unit"), lowest.states[which, :], about("state of the least energy")),
            "state": (("chain", "beta", "unit"), last, about("last states")),
        }
        coordinates = {
            "beta": ("beta", ladder, about(INVERSE_TEMPERATURE)),
            "sweep": ("sweep", host.arange(burn_in + 1, burn_in + n_sweeps + 1), about(SWEEPS)),
        }
        draws = xarray.Dataset(found, coordinates, self._attributes(running.group))
        return draws.assign_attrs(diagnose(draws, stacklevel=3))

    def _attributes(self, group: ChainGroup) -> dict[str, Any]:
        """What a dataset says of its chains."""
        return {"machine": repr(self), "rule": group.rule, "seed": list(group.seed)}
