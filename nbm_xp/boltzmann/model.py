"""Machines of layers once they have parameters: states along chains; and models read from files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from nbm_xp.machines import Chunks, RandomState, Rows
from nbm_xp.machines.rows import positive_int

from . import storage
from .annealing import inverse_temperatures
from .chains import Chains
from .evaluation import EvaluatedEstimator
from .ladder import LadderChains
from .machine import machine_and_seed
from .tempering import TemperingChains, adaptive_replicas

__all__ = ["Model", "load"]


class Model(EvaluatedEstimator):
    """A Boltzmann machine of layers, which can be sampled and evaluated."""

    def sample(
        self,
        n_chains: int = 100,
        n_sweeps: int = 1000,
        *,
        initial: Rows = None,
        clamp: Mapping[int, Any] | None = None,
        layer: int | None = 0,
        probabilities: bool = False,
        library: str | None = None,
        chunks: Chunks = None,
        random_state: RandomState = None,
    ) -> Any:
        """States at the end of Markov chains.

        A model that was trained with ``training="ptt"`` is sampled on the ladder that it learnt on, unless `initial`
        or `clamp` is given: each step of a chain is an exchange with its neighbours and a sweep of all machines, so
        that places far apart have their share, and far fewer steps will do.

        Nothing is measured on the way, and the last states do not tell whether the chains have mixed:
        `nbm_xp.runs.sample` keeps draws, reports R-hat, effective sample sizes and Monte Carlo errors, and warns.

        Parameters
        ----------
        n_chains : int, optional
        n_sweeps : int, optional
            Sweeps of Gibbs sampling in each chain.
        initial : array of shape (n_chains, n_features_in_), optional
            Visible states to start from, or, between them, means to draw them with; `base_rate_` by default. In other
            layers that a chain starts with every state is as likely, in the visible one too where layers are clamped.
        clamp : mapping of layers to arrays of shape (n_chains, units), optional
            Layers, 0 being the visible one, that keep these states: the others are drawn given them.
        layer : int or None, optional
            The layer whose states are wanted, by default the visible one; None for all of them, as a list.
        probabilities : bool, optional
            Whether to return the probabilities that the last states were drawn with, which look smoother, or, of units
            other than 0 and 1, the means; of categorical ones, a column for each state of each site.
        library : str, optional
            The library to compute in: that of `initial` or `clamp`, or the model's, by default. Arrays of Dask stay as
            they are.
        chunks : optional
            With Dask, how the chains are split: a number of chains in each block, or whatever Dask takes.
        random_state : int, None, or generator, optional
            The seed; None takes the next one of the model's streams. `nbm_xp.runs.sample` draws the same with it.

        Returns
        -------
        array of shape (n_chains, units), or list of array
            On Dask not computed yet.

        Raises
        ------
        ValueError
            If an argument is not what it must be.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.array([50.0, 0.0, -50.0]))
        >>> states = rbm.sample(4, 10, random_state=1)
        >>> states[:, 0], states[:, 2]
        (array([1., 1., 1., 1.]), array([0., 0., 0., 0.]))
        >>> blocks = rbm.sample(4, 10, random_state=1, library="dask", chunks=2)
        >>> bool((blocks == states).all())
        True
        """
        state, rows, sweeps = self.state_, positive_int(n_chains, "n_chains"), positive_int(n_sweeps, "n_sweeps", 0)
        wanted = state.topology.checked_layers(layer)
        fixed = state.topology.checked_clamp(clamp, lambda k, part: state.checked_states(part, rows, k, f"clamp[{k}]"))
        if initial is not None and 0 in fixed:
            raise ValueError("initial must be left out where clamp holds the visible layer")
        first = {} if initial is None else {0: state.checked_states(initial, rows, 0, "initial")}
        machine, seed, lazy = machine_and_seed(self, library, random_state, *first.values(), *fixed.values())
        if machine.ladder and sweeps and not first and not fixed:
            chains: Chains = LadderChains(machine, seed, layers=wanted, means=probabilities)
        else:
            chains = Chains(machine, seed, layers=wanted, means=probabilities, clamp=fixed, initial=first)
        found = chains.last(rows, sweeps, lazy, chunks)
        return found if layer is None else found[0]

    def parallel_tempering(
        self,
        n_chains: int = 100,
        n_sweeps: int = 1000,
        *,
        n_temperatures: int | str = 10,
        betas: Any = None,
        layer: int | None = 0,
        exchanges: bool = False,
        library: str | None = None,
        chunks: Chunks = None,
        random_state: RandomState = None,
    ) -> Any:
        """States at the end of chains whose replicas at other temperatures exchange states with them.

        They reach states that are far apart for chains of `sample`.

        Parameters
        ----------
        n_chains : int, optional
        n_sweeps : int, optional
            Sweeps of Gibbs sampling, each followed by exchanges.
        n_temperatures : int or "adaptive", optional
            Replicas of each chain, their inverse temperatures evenly from the base-rate model, 0, to this one, 1.
            ``"adaptive"``: as many as it takes for all neighbours to exchange states in about 0.3 of their turns, by a
            pilot that follows from the model alone.
        betas : sequence of float, optional
            Inverse temperatures rising from 0 to 1, in place of `n_temperatures`.
        layer : int or None, optional
            The layer whose states are wanted, by default the visible one; None for all of them, as a list.
        exchanges : bool, optional
            Whether to return also the share of exchanges made, of shape (n_chains, n_temperatures - 1), a column for
            each pair of neighbours, of which every other one has its turn in each step: where it is near 0,
            temperatures are too far apart.
        library, chunks, random_state
            As in `sample`.

        Returns
        -------
        array of shape (n_chains, units), or list of array
            With `exchanges`, a tuple of this and the shares.

        Raises
        ------
        ValueError
            If an argument is not what it must be.

        References
        ----------
        G. Desjardins, A. Courville, Y. Bengio, P. Vincent and O. Delalleau, "Parallel tempering for training of
        restricted Boltzmann machines", AISTATS 2010.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> two_ends = np.full((1, 12), 8.0)  # all units are 0 or all are 1, and a chain hardly gets to the other end
        >>> rbm = RBM.from_parameters(two_ends, [-48.0], np.full(12, -4.0), random_state=0)
        >>> bool(0.3 < rbm.parallel_tempering(100, 100, n_temperatures=6).mean() < 0.7)
        True
        """
        rows, sweeps = positive_int(n_chains, "n_chains"), positive_int(n_sweeps, "n_sweeps")
        wanted, known = self.state_.topology.checked_layers(layer), inverse_temperatures(n_temperatures, betas)
        machine, seed, lazy = machine_and_seed(self, library, random_state)
        temperatures = adaptive_replicas(machine) if known is None else known
        *found, shares = TemperingChains(machine, seed, temperatures, layers=wanted).last(rows, sweeps, lazy, chunks)
        states = found if layer is None else found[0]
        return (states, shares) if exchanges else states


def load(path: str | os.PathLike[str], library: str | None = None) -> Model:
    """Read a model that `save` wrote, of the kind that it was; nothing in the file is run.

    Parameters
    ----------
    path : path-like
    library : str, optional
        Where its arrays are to live; host memory by default.

    Returns
    -------
    RBM or DBM

    Raises
    ------
    ValueError
        If the file holds no model, or is damaged.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM, load
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.zeros(3)).save(file)
    >>> load(file)
    RBM(n_components=2)
    """
    kind = storage.kind_of(path)
    known = {each.__name__: each for each in Model.__subclasses__()}
    if kind not in known:
        raise ValueError(f"{os.fspath(path)} holds a model of the kind {kind!r}, which this release does not know")
    found: Model = known[kind].load(path, library)
    return found
