"""What a Boltzmann machine with given parameters does: makes states along chains.

Rows go in and come out in the library that they are of, and on Dask nothing is computed before it is asked for. Every
computation is a compiled function of recorded formulas, kept for the next call.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nbm_xp.namespace import array_namespace, asarray, from_blocks, get_namespace, is_lazy, to_numpy, use_backend

from . import sampling
from .annealing import inverse_temperatures
from .columns import check_names
from .equilibrium import compile_states, first_states
from .ladder import LADDER, Ladder, ladder_of_arrays
from .model import Model, variable
from .randomness import entropy_of, stream
from .rows import checked_rows, positive_int
from .tempering import compile_tempering

__all__ = ["Machine", "placed"]


class Machine(Model):
    """A Boltzmann machine in use; `Weighing` adds how it finds Z, `Learning` how it learns."""

    clip: bool | str

    def sample(
        self,
        n_chains: int = 100,
        n_steps: int = 1000,
        *,
        start: Any = None,
        clamp: Mapping[int, Any] | None = None,
        layer: int | None = 0,
        probabilities: bool = False,
        library: str | None = None,
        chunks: Any = None,
        random_state: Any = None,
    ) -> Any:
        """States at the end of Markov chains.

        A model that was trained with ``training="tempered"`` is sampled on the ladder that it learnt on, unless `start`
        or `clamp` is given: each step of a chain is an exchange with its neighbours and a sweep of all machines, so
        that places far apart have their share, and far fewer steps will do.

        Parameters
        ----------
        n_chains : int, optional
        n_steps : int, optional
            Sweeps of Gibbs sampling in each chain.
        start : array of shape (n_chains, n_features_in_), optional
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
            The library to compute in: that of `start` or `clamp`, or the model's, by default. Arrays of Dask stay as
            they are.
        chunks : optional
            With Dask, how the chains are split: a number of chains in each block, or whatever Dask takes.
        random_state : int, None, or generator, optional
            A seed of its own; None draws on in the model's streams.

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
        topology = self._topology
        rows = positive_int(n_chains, "n_chains")
        steps = positive_int(n_steps, "n_steps", 0)
        wanted = tuple(topology.layers) if layer is None else (self._layer(layer, "layer"),)
        if clamp is not None and not isinstance(clamp, Mapping):
            raise ValueError(f"clamp must map layers to their states, got {type(clamp).__name__}")
        given = {
            self._layer(number, "clamp"): self._given_rows(held, rows, number, "clamp")
            for number, held in (clamp or {}).items()
        }
        clamped = tuple(sorted(given))
        if len(clamped) == len(topology.sizes):
            raise ValueError("clamp must leave a layer to draw, but it holds all of them")
        if start is not None and 0 in given:
            raise ValueError("start must be left out where clamp holds the visible layer")
        if start is not None:
            given[0] = self._given_rows(start, rows, 0, "start")
        if not given and steps and self._ladder is not None:
            found = self._equilibrium(self._ladder, rows, steps, wanted, library, chunks, random_state)
            chosen = found[len(wanted) :] if probabilities else found[: len(wanted)]
            return list(chosen) if layer is None else chosen[0]
        means: tuple[int, ...] = ()
        if not given:
            given[0], means = self._base_rows(rows, library, chunks), (0,)
        elif library is not None:
            like = self._base_rows(rows, library, chunks)
            given = {number: placed(states, number, like) for number, states in given.items()}
        options = {"given": tuple(sorted(given)), "means": means, "clamped": clamped, "wanted": wanted}
        if random_state is None:
            build = partial(sampling.compile_chain, self._parameters, rows, steps, self._rng, **options)
            chain = self._function(("chain", rows, steps, *options.values()), build)
        else:
            rng = stream(entropy_of(random_state))
            chain = sampling.compile_chain(self._parameters, rows, steps, rng, **options)
        results = chain(*(given[number] for number in sorted(given)))
        chosen = results[len(wanted) :] if probabilities else results[: len(wanted)]
        return list(chosen) if layer is None else chosen[0]

    @property
    def _ladder(self) -> Ladder | None:
        """The machines that this one was before, if it learnt on a ladder of them."""
        there = f"{LADDER}turn" in self._fitted()._made_up
        return ladder_of_arrays(self._parameters, self._made_up) if there else None

    def _equilibrium(
        self, ladder: Ladder, rows: int, steps: int, wanted: tuple[int, ...], library: Any, chunks: Any, seed: Any
    ) -> Any:
        """The last states of chains on the ladder, and their means."""
        start = first_states(ladder, self._made_up, rows, self._base_rows(rows, library, chunks))
        if seed is not None:
            with use_backend(self._home):
                return compile_states(ladder, rows, steps, wanted, stream(entropy_of(seed)))(*start)
        build = partial(compile_states, ladder, rows, steps, wanted, self._rng)
        return self._function(("equilibrium", ("tempered", ladder.pairs), rows, steps, wanted), build)(*start)

    def parallel_tempering(
        self,
        n_chains: int = 100,
        n_steps: int = 1000,
        *,
        n_temperatures: int = 10,
        betas: Any = None,
        layer: int | None = 0,
        exchanges: bool = False,
        library: str | None = None,
        chunks: Any = None,
        random_state: Any = None,
    ) -> Any:
        """States at the end of chains whose replicas at other temperatures exchange states with them.

        They reach states that are far apart for chains of `sample`.

        Parameters
        ----------
        n_chains : int, optional
        n_steps : int, optional
            Sweeps of Gibbs sampling, each followed by exchanges.
        n_temperatures : int, optional
            Replicas of each chain, their inverse temperatures evenly from the base-rate model, 0, to this one, 1.
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
        topology = self._topology
        rows, steps = positive_int(n_chains, "n_chains"), positive_int(n_steps, "n_steps")
        ladder = inverse_temperatures(n_temperatures, betas)
        wanted = None if layer is None else self._layer(layer, "layer")
        base = variable(self._base_bias())
        rng = self._rng if random_state is None else stream(entropy_of(random_state))
        with use_backend(self._home):
            chain = compile_tempering(self._parameters, base, ladder, rows, steps, rng)
        *states, shares = chain(self._base_rows(rows, library, chunks))
        chosen = states[: len(topology.sizes)] if wanted is None else states[wanted]
        return (chosen, shares) if exchanges else chosen

    def _rows(self, X: Any, name: str = "X", *, new: bool = False) -> Any:
        """Rows of visible units checked against the model; `new` ones may be of values that are still to be clipped."""
        clip = self.clip is True or (new and bool(self.clip))
        within, owner = self._topology.units[0].within, type(self).__name__
        check_names(self._features_in, X)
        return self._same_library(
            checked_rows(X, self.n_features_in_, name=name, within=within, clip=clip, owner=owner)
        )

    def _layer(self, layer: Any, name: str) -> int:
        count = len(self._topology.sizes)
        if isinstance(layer, bool) or not hasattr(layer, "__index__") or not 0 <= layer < count:
            raise ValueError(f"{name} must be layers from 0 to {count - 1}, got {layer!r}")
        return int(layer)

    def _given_rows(self, states: Any, rows: int, layer: int, name: str) -> Any:
        """A row of states of a layer for each chain."""
        label = name if name == "start" else f"{name}[{layer}]"
        within, size = self._topology.units[layer].within, self._topology.sites(layer)
        states = self._same_library(checked_rows(states, size, name=label, within=within, owner=type(self).__name__))
        if states.shape[0] != rows:
            raise ValueError(f"{label} must have a row for each of {rows} chains, got {states.shape[0]} rows")
        return states

    def _base_bias(self) -> Any:
        """The visible biases of the model without weights that is most like the data, in host memory.

        A unit that was always 0, or always 1, still has some chance to be otherwise: annealing could not weigh states
        that the model without weights never has.
        """
        units = self._topology.units[0]
        return units.bias(units.possible(to_numpy(self.base_rate_)))

    def _visible_tiles(self) -> Any:
        """How the visible units are split: as the weights are, if those are computed later."""
        weights = self._parameters.weights[0].value
        return weights.chunks[0] if is_lazy(array_namespace(weights)) else -1

    def _base_rows(self, rows: int, library: str | None, chunks: Any) -> Any:
        """The base rate for each chain, in the library that the chains are to be computed in."""
        xp = array_namespace(self._like) if library is None else get_namespace(library)
        rate = self.base_rate_ if is_lazy(xp) else to_numpy(self.base_rate_)
        split = chunks if isinstance(chunks, tuple) else ("auto" if chunks is None else chunks, self._visible_tiles())
        shape = (rows, self._topology.sizes[0])
        return from_blocks(xp, _repeated, shape, rate.dtype, split, args=(rate,), name="base-rate")


def _repeated(offset: tuple[int, ...], shape: tuple[int, ...], row: Any) -> Any:
    """A block of rows that are all the same."""
    return array_namespace(row).broadcast_to(row[offset[1] : offset[1] + shape[1]], shape)


def placed(states: Any, layer: int, like: Any) -> Any:
    """States of a layer in the library of rows of visible units, and in their blocks where they are computed later."""
    xp = array_namespace(like)
    if not is_lazy(xp) or is_lazy(array_namespace(states)):
        return asarray(states, xp)
    split = (like.chunks[0], like.chunks[1] if layer == 0 else -1)
    return from_blocks(xp, _part, states.shape, states.dtype, split, args=(states,), name="start")


def _part(offset: tuple[int, ...], shape: tuple[int, ...], states: Any) -> Any:
    """A block of rows."""
    return states[offset[0] : offset[0] + shape[0], offset[1] : offset[1] + shape[1]]
