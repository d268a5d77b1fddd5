"""`GraphMachine`: units on a graph, their couplings and fields, and draws of their states.

Contract: the same seed gives the same states on every library, for every division into chains
and sweeps; what is wrong with an argument is said before anything is drawn.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.machines.randomness import entropy_of
from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import host_namespace
from nbm_xp.namespace.needs import need

from . import sweeps
from .annealing import annealed
from .chains import Chains, begun, checked_states
from .diagnosis import diagnose
from .labels import INVERSE_TEMPERATURE, SWEEPS, about
from .lazily import Asked, coordinates_of
from .learning import Learning
from .observers import observers_of
from .parted import divided_chains
from .tempering import Tempering, checked_betas, placed_ladder

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
    training : {"pseudo_likelihood", "persistent", "tempered", "exact"}, optional
        How `fit` learns: what makes each unit most likely given all others; or the whole states, by chains that go on
        from step to step, by such that exchange their states along a ladder of temperatures, or by all states where
        they are few. Chains begin where the pseudo-likelihood is largest.
    n_iter : int, optional
        How many steps there are at most; with chains, how many there are.
    learning_rate : float, optional
        How long steps with chains are, of the longest that the curvature of the likelihood can bear at first; of
        `partial_fit`, how many times the gradient a step is.
    weight_decay : float, optional
        Half of it times the squares of couplings and fields is taken from the mean of what is to be large.
    n_chains, n_gibbs : int, optional
        How many chains there are, or sets of them, and their sweeps in a step.
    tol : float, optional
        The size of the gradient's largest part at which learning ends, without chains.
    random_state : int, None or generator, optional
        Of the chains that learning makes; `sample` and the others have their own.

    Attributes
    ----------
    couplings_ : numpy.ndarray of shape (edges,)
        What was learnt, which all methods go by from then on.
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
    >>> draws = machine.sample(chains=4, sweeps=1000, burn_in=50, beta=0.3, random_state=1)
    >>> draws["energy"].dims, draws["energy"].shape
    (('chain', 'sweep'), (4, 1000))
    >>> draws.attrs["energy_r_hat"] < 1.05, draws.attrs["energy_mcse"] < 0.01
    (True, True)
    """

    def __init__(
        self,
        graph: Any,
        units: Any = "spin",
        fields: Any = 0.0,
        couplings: Any = None,
        *,
        training: str = "pseudo_likelihood",
        n_iter: int = 500,
        learning_rate: float = 0.5,
        weight_decay: float = 0.0,
        n_chains: int = 256,
        n_gibbs: int = 1,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        super().__init__(graph, units, fields, couplings)
        self.training, self.n_iter, self.n_chains, self.n_gibbs = training, n_iter, n_chains, n_gibbs
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.tol, self.random_state = tol, random_state

    def energy(self, states: Any) -> Any:
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
        return sweeps.energies(host, self.layout, self.values, host.ascontiguousarray(slots))

    def sample(
        self,
        *,
        chains: int = 1,
        sweeps: int = 1000,
        burn_in: int = 0,
        beta: Any = 1.0,
        rule: str = "heat_bath",
        every: int = 1,
        observe: Any = ("energy", "magnetisation"),
        clamp: dict[int, int] | None = None,
        initial: Any = None,
        after: Any = None,
        first_chain: int = 0,
        random_state: Any = None,
        library: Any = None,
        chunks: Any = None,
        parts: Any = None,
    ) -> Any:
        """Draw states by sweeps over all units, and measure on the way.

        Parameters
        ----------
        chains : int, optional
            How many run side by side.
        sweeps : int, optional
            How many are seen by observers.
        burn_in : int, optional
            How many come before those.
        beta : float or array of shape (chains,), optional
            The inverse temperature, of all chains or of each.
        rule : {"heat_bath", "metropolis", "multi_spin", "swendsen_wang", "wolff"}, optional
            How a unit is drawn anew: by its heat bath; or changed, or not, as Metropolis has it; by its heat bath, 64
            chains in the bits of a word, for couplings of one size, no fields and as many neighbours each; or clusters
            of alike units, all of them or one: of spins and Potts units that are coupled to be alike, without fields.
        every : int, optional
            Observers see the states after each so many sweeps.
        observe : names, or an `Observer`, or several
            Of energy, a unit; magnetisation, the mean value of a unit, of Potts units the order parameter; overlap, of
            chains two by two; correlations, along the axes of a lattice; means, of units and joined pairs. `binder`,
            `energy_histogram` and `autocorrelation_time` are functions of these.
        clamp : dict, optional
            Units, and the values that they keep.
        initial : array of shape (chains, units), optional
            The states to begin with; random ones by default.
        after : xarray.Dataset, optional
            What an earlier call gave: its chains go on, as if they had not been broken off. `burn_in` is 0 then.
        first_chain : int, optional
            The number of the first chain: chains 4 to 7 are the same whether or not 0 to 3 run beside them.
        random_state : int, None or generator, optional
        library : str or namespace, optional
            The library whose arrays hold the states; by default the one that is configured.
        chunks : int or sequence, optional
            Of a lattice: how long blocks are along each axis, as Dask takes chunks; -1 is the whole axis. Then the
            variables are Dask arrays, which nothing computes until they are asked for, and `state` has the lattice's
            axes. The bits are those of the undivided lattice. Rules are heat bath and Metropolis.
        parts : int or array of shape (units,), optional
            Of any graph: how many parts it is divided into, by pymetis where it is installed, else by a walk that goes
            to near units first; or the part of each unit. What is given and said is as with `chunks`, but for
            correlations.

        Returns
        -------
        xarray.Dataset
            A variable for each thing observed, and ``state``, the last states, with the dimensions chain and unit.
            Attributes tell R-hat, effective sample size and Monte Carlo error of each observable that has a number for
            each sweep, as ``energy_r_hat``, ``energy_ess`` and ``energy_mcse``: see `diagnose`, which tells them of
            chains in chunks or parts when these are computed.

        Raises
        ------
        ValueError
            If an argument is not what it can be.

        Warns
        -----
        ClampWarning
            Where units are held, but none of some parts of the graph, which are joined with no other.
        MixingWarning
            Where chains disagree, or still move away from where they began: see `diagnose`.

        Examples
        --------
        >>> machine = GraphMachine([[0, 1], [1, 2]], units="binary", fields=-0.5)
        >>> whole = machine.sample(chains=2, sweeps=20, random_state=1)
        >>> part = machine.sample(chains=2, sweeps=15, random_state=1)
        >>> rest = machine.sample(chains=2, sweeps=5, after=part)
        >>> bool((rest["energy"].values == whole["energy"].values[:, 15:]).all())
        True
        """
        xarray = need("xarray")
        chains, sweeps = positive_int(chains, "chains"), positive_int(sweeps, "sweeps")
        burn_in, every = positive_int(burn_in, "burn_in", 0), positive_int(every, "every")
        if chunks is not None or parts is not None:
            asked = Asked(
                chains, sweeps, burn_in, beta, rule, every, observe, clamp, initial, after,
                positive_int(first_chain, "first_chain", 0), random_state, library,
            )  # fmt: skip
            return divided_chains(self, chunks, parts, asked)
        running = self.chains(
            chains, beta, random_state, rule=rule, clamp=clamp, initial=initial, after=after, first_chain=first_chain,
            library=library,
        )  # fmt: skip
        watching = observers_of(observe, running)
        running.step(burn_in)
        seen: list[int] = []
        for _ in range(sweeps // every):
            running.step(every)
            seen.append(running.sweep)
            for observer in watching:
                observer.see(running)
        running.step(sweeps % every)
        drawn: dict[str, Any] = {"state": (("chain", "unit"), running.rows(), about("last states"))}
        for observer in watching if seen else ():
            drawn |= observer.result()
        found = xarray.Dataset(
            drawn,
            coords=coordinates_of(running.first_chain, running.betas, seen),
            attrs={"machine": repr(self), "rule": running.rule, "seed": list(running.seed), "sweeps": running.sweep},
        )
        return found.assign_attrs(diagnose(found, stacklevel=3))

    def chains(
        self,
        count: int = 1,
        beta: Any = 1.0,
        random_state: Any = None,
        *,
        rule: str = "heat_bath",
        clamp: dict[int, int] | None = None,
        initial: Any = None,
        after: Any = None,
        first_chain: int = 0,
        library: Any = None,
    ) -> Chains:
        """Chains at their beginning, to be taken on by hand: the arguments are those of `sample`.

        Examples
        --------
        >>> running = GraphMachine([[0, 1], [1, 2]]).chains(4, 0.5, 1)
        >>> running.step(10)
        >>> running.rows().shape, running.energies().shape
        ((4, 3), (4,))
        """
        return begun(
            self, count, beta, random_state, rule=rule, clamp=clamp, initial=initial, after=after,
            first_chain=first_chain, library=library,
        )  # fmt: skip

    def anneal(
        self,
        *,
        chains: int = 64,
        sweeps: int = 1000,
        beta: Any = (0.1, 3.0),
        every: int = 1,
        rule: str = "heat_bath",
        clamp: dict[int, int] | None = None,
        initial: Any = None,
        random_state: Any = None,
        library: Any = None,
    ) -> Any:
        """Look for states of low energy by cooling chains down.

        Parameters
        ----------
        chains, rule, clamp, initial, random_state, library
            See `sample`.
        sweeps : int, optional
            How many there are where `beta` is two numbers.
        beta : two floats, or array, optional
            The inverse temperature of the first and the last sweep, between which it rises evenly; or of each sweep.
        every : int, optional
            Energies are looked at after each so many sweeps.

        Returns
        -------
        xarray.Dataset
            ``energy``, of shape (chain,), the least energy that each chain met, of all units; ``state``, which had it.

        Examples
        --------
        >>> from nbm_xp.graphs import edwards_anderson, enumerated
        >>> machine = GraphMachine(edwards_anderson((4, 4), random_state=2))
        >>> found = machine.anneal(chains=8, sweeps=100, random_state=1)
        >>> float(found["energy"].min()) == enumerated(machine).ground_energy
        True
        """
        xarray = need("xarray")
        how = {"rule": rule, "clamp": clamp, "initial": initial, "library": library}
        running, best = annealed(self, chains, sweeps, beta, every, random_state, **how)
        found = {
            "energy": (("chain",), best.energies, about("least energy")),
            "state": (("chain", "unit"), best.states, about("state of the least energy")),
        }
        return xarray.Dataset(found, attrs={"machine": repr(self), "rule": rule, "seed": list(running.seed)})

    def temper(
        self,
        *,
        betas: Any,
        acceptance: float | None = None,
        sets: int = 2,
        sweeps: int = 1000,
        burn_in: int = 0,
        rule: str = "heat_bath",
        clamp: dict[int, int] | None = None,
        random_state: Any = None,
        library: Any = None,
    ) -> Any:
        """Draw states at several temperatures that exchange theirs: parallel tempering.

        Parameters
        ----------
        betas : array
            Rising inverse temperatures.
        acceptance : float, optional
            The share of exchanges to aim at: temperatures are placed between the first and the last of `betas` such
            that all neighbours exchange so often.
        sets : int, optional
            How many sets of replicas run side by side.
        sweeps, burn_in : int, optional
            How many are seen, after how many that are not.
        rule, clamp, random_state, library
            See `sample`.

        Returns
        -------
        xarray.Dataset
            ``energy``, a unit, of shape (set, beta, sweep); ``acceptance``, of shape (pair,); ``best_energy`` and
            ``best_state``, the least energy of all units that each set met, and which state had it; ``state``, the last
            ones. Attributes tell how well the sets agree, as those of `sample` do of chains.

        Warns
        -----
        MixingWarning
            Where sets disagree, or still move away from where they began: see `diagnose`.

        Examples
        --------
        >>> from nbm_xp.graphs import edwards_anderson
        >>> machine = GraphMachine(edwards_anderson((4, 4, 4), random_state=2))
        >>> found = machine.temper(betas=[0.2, 0.5, 0.8, 1.1], sweeps=800, burn_in=100, random_state=1)
        >>> found["energy"].shape, found["acceptance"].shape
        ((2, 4, 800), (3,))
        """
        xarray, host = need("xarray"), host_namespace()
        how = {"rule": rule, "clamp": clamp, "library": library}
        ladder, sets = checked_betas(betas), positive_int(sets, "sets")
        sweeps, burn_in = positive_int(sweeps, "sweeps"), positive_int(burn_in, "burn_in", 0)
        entropy = entropy_of(random_state)
        if acceptance is not None:
            ends = float(ladder[0]), float(ladder[-1])
            ladder = placed_ladder(self, *ends, acceptance, random_state=entropy, **how)
        tempering = Tempering(self, ladder, sets, entropy, **how)
        for _ in range(burn_in):
            tempering.step()
        tempering.forget()
        energies = host.stack([tempering.step() for _ in range(sweeps)], axis=2) / self.units_count
        count, running = int(ladder.shape[0]), tempering.running
        least = host.reshape(tempering.best.energies, (sets, count))
        which = host.argmin(least, axis=1) + host.arange(sets) * count
        best = tempering.best.states[which, :]
        last = host.reshape(running.rows()[host.reshape(tempering.order, (-1,))], (sets, count, -1))
        found = {
            "energy": (("set", "beta", "sweep"), energies, about("energy a unit")),
            "acceptance": (("pair",), tempering.acceptance, about("share of exchanges made")),
            "best_energy": (("set",), host.min(least, axis=1), about("least energy")),
            "best_state": (("set", "unit"), best, about("state of the least energy")),
            "state": (("set", "beta", "unit"), last, about("last states")),
        }
        attributes = {"machine": repr(self), "rule": rule, "seed": list(running.seed)}
        coordinates = {
            "beta": ("beta", ladder, about(INVERSE_TEMPERATURE)),
            "sweep": ("sweep", host.arange(burn_in + 1, burn_in + sweeps + 1), about(SWEEPS)),
        }
        draws = xarray.Dataset(found, coords=coordinates, attrs=attributes)
        return draws.assign_attrs(diagnose(draws, stacklevel=3))
