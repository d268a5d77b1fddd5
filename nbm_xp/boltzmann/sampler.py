"""Chains of a model, in any library: from its base rate, from given states, with layers held, on its ladder.

Rows go in and come out in the library that they are of, and on Dask nothing is computed before it is asked for. Every
computation is a compiled function of recorded formulas; where it draws on in the model's streams, it is kept for the
next call.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from nbm_xp.machines.estimators import check_names
from nbm_xp.machines.randomness import entropy_of, stream
from nbm_xp.machines.rows import checked_rows, positive_int
from nbm_xp.namespace import array_namespace, from_blocks, get_namespace, is_lazy, to_numpy, use_backend

from . import sampling
from .annealing import path_to
from .equilibrium import compile_states, first_states, own_states
from .ladder import Ladder
from .placing import temperatures_of
from .tempering import compile_tempering

__all__ = ["Sampler"]


class Sampler:
    """The chains of a model.

    Parameters
    ----------
    model : Model
    library : str, optional
        The library to compute in: that of states that are given, or the model's, by default.
    chunks : optional
        With Dask, how the chains are split.
    random_state : int, None, or generator, optional
        A seed of its own; None draws on in the model's streams.
    """

    def __init__(self, model: Any, library: str | None = None, chunks: Any = None, random_state: Any = None) -> None:
        self.model = model
        self.state = model.state_
        self.library = library
        self.chunks = chunks
        self._seed = random_state

    @functools.cached_property
    def rng(self) -> Any:
        """The streams that chains draw from."""
        return self.model.state_.rng if self._seed is None else stream(self.entropy)

    @functools.cached_property
    def entropy(self) -> int:
        """What other streams of these chains follow from, by name."""
        return self.model.state_.seed if self._seed is None else entropy_of(self._seed)

    def last(self, n_chains: int, n_steps: int, *, start: Any, clamp: Any, layer: int | None, means: bool) -> Any:
        """The last states of chains, or the means that they were drawn with: see `RBM.sample`."""
        rows, steps = positive_int(n_chains, "n_chains"), positive_int(n_steps, "n_steps", 0)
        topology = self.model.state_.topology
        wanted = tuple(topology.layers) if layer is None else (self._layer(layer, "layer"),)
        held = self._held(clamp, rows)
        if start is not None and 0 in held:
            raise ValueError("start must be left out where clamp holds the visible layer")
        given = held if start is None else held | {0: self.given_rows(start, rows, 0, "start")}
        ladder = self.model.state_.ladder
        if not given and steps and ladder is not None:
            found = self._on_ladder(ladder, rows, steps, wanted)
        else:
            found = self._chain(rows, steps, wanted, given, tuple(held))
        chosen = found[len(wanted) :] if means else found[: len(wanted)]
        return list(chosen) if layer is None else chosen[0]

    def tempered(
        self, n_chains: int, n_steps: int, *, n_temperatures: int | str, betas: Any, layer: int | None, exchanges: bool
    ) -> Any:
        """The last states of chains of parallel tempering: see `RBM.parallel_tempering`."""
        model = self.model
        rows, steps = positive_int(n_chains, "n_chains"), positive_int(n_steps, "n_steps")
        wanted, like = None if layer is None else self._layer(layer, "layer"), self.base_rows(rows)
        temperatures = temperatures_of(model, n_temperatures, betas, self.entropy, exchanging=True)
        with use_backend(model.state_.library):
            chain = compile_tempering(path_to(model), temperatures, rows, steps, self.rng)
        *states, shares = chain(like)
        chosen = states[: len(model.state_.topology.sizes)] if wanted is None else states[wanted]
        return (chosen, shares) if exchanges else chosen

    def own_states(self, rows: int, n_steps: int | None, rng: Any) -> list[Any]:
        """States of the model: see `equilibrium.own_states`."""
        return own_states(self.model, self.base_rows(rows), n_steps, rng)

    def ladder_states(self, ladder: Ladder, rows: int) -> list[Any]:
        """The states that so many chains on a ladder begin with."""
        return first_states(ladder, self.model.state_.variables, rows, self.base_rows(rows))

    def base_rows(self, rows: int) -> Any:
        """The base rate for each chain, in the library that the chains are to be computed in."""
        model = self.model
        xp = array_namespace(model.state_.like) if self.library is None else get_namespace(self.library)
        rate = model.base_rate_ if is_lazy(xp) else to_numpy(model.base_rate_)
        chunks = self.chunks
        if not isinstance(chunks, tuple):
            chunks = ("auto" if chunks is None else chunks, _visible_tiles(model))
        shape = (rows, model.state_.topology.sizes[0])
        return from_blocks(xp, _repeated, shape, rate.dtype, chunks, args=(rate,), name="base-rate")

    def given_rows(self, states: Any, rows: int, layer: int, name: str) -> Any:
        """A row of states of a layer for each chain, checked."""
        model, label = self.model, name if name == "start" else f"{name}[{layer}]"
        within, size = model.state_.topology.units[layer].within, model.state_.topology.sites(layer)
        if not layer:
            check_names(model.state_.feature_names, states)
        states = checked_rows(states, size, name=label, within=within, clip=not layer, owner=type(model).__name__)
        states = model.state_.same_library(states)
        if states.shape[0] != rows:
            raise ValueError(f"{label} must have a row for each of {rows} chains, got {states.shape[0]} rows")
        return states

    def placed(self, given: Mapping[int, Any], rows: int) -> dict[int, Any]:
        """States of layers in the library that is asked for, if one is, and there in the blocks of the chains."""
        if self.library is None:
            return dict(given)
        like = self.base_rows(rows)
        return {layer: sampling.placed_like(states, layer, like) for layer, states in given.items()}

    def _held(self, clamp: Any, rows: int) -> dict[int, Any]:
        """The layers that keep the states that they are given, rising, and these."""
        if clamp is not None and not isinstance(clamp, Mapping):
            raise ValueError(f"clamp must map layers to their states, got {type(clamp).__name__}")
        found = {}
        for number, states in (clamp or {}).items():
            layer = self._layer(number, "clamp")
            found[layer] = self.given_rows(states, rows, layer, "clamp")
        if len(found) == len(self.model.state_.topology.sizes):
            raise ValueError("clamp must leave a layer to draw, but it holds all of them")
        return dict(sorted(found.items()))

    def _chain(
        self, rows: int, steps: int, wanted: tuple[int, ...], given: Mapping[int, Any], clamped: tuple[int, ...]
    ) -> Sequence[Any]:
        """The last states of chains of sweeps, from given states or from the base rate, and their means."""
        means: tuple[int, ...] = () if given else (0,)
        states = self.placed(given, rows) if given else {0: self.base_rows(rows)}
        options = {"given": tuple(sorted(states)), "means": means, "clamped": clamped, "wanted": wanted}
        build = partial(sampling.compile_chain, self.model.state_.parameters, rows, steps, self.rng, **options)
        chain = self._compiled(("chain", rows, steps, *options.values()), build)
        results: Sequence[Any] = chain(*(states[layer] for layer in sorted(states)))
        return results

    def _on_ladder(self, ladder: Ladder, rows: int, steps: int, wanted: tuple[int, ...]) -> Sequence[Any]:
        """The last states of chains on the ladder, and their means."""
        start = self.ladder_states(ladder, rows)
        build = partial(compile_states, ladder, rows, steps, wanted, self.rng)
        climb = self._compiled(("equilibrium", ("ptt", ladder.pairs), rows, steps, wanted), build)
        results: Sequence[Any] = climb(*start)
        return results

    def _compiled(self, key: tuple[Any, ...], build: Any) -> Any:
        """What `build` compiles: kept under a key where it draws on in the model's streams."""
        if self._seed is None:
            return self.model.state_.function(key, build)
        with use_backend(self.model.state_.library):
            return build()

    def _layer(self, layer: Any, name: str) -> int:
        count = len(self.model.state_.topology.sizes)
        if isinstance(layer, bool) or not hasattr(layer, "__index__") or not 0 <= layer < count:
            raise ValueError(f"{name} must be layers from 0 to {count - 1}, got {layer!r}")
        return int(layer)


def _visible_tiles(model: Any) -> Any:
    """How the visible units are split: as the weights are, if those are computed later."""
    weights = model.state_.parameters.weights[0].value
    return weights.chunks[0] if is_lazy(array_namespace(weights)) else -1


def _repeated(offset: tuple[int, ...], shape: tuple[int, ...], row: Any) -> Any:
    """A block of rows that are all the same."""
    return array_namespace(row).broadcast_to(row[offset[1] : offset[1] + shape[1]], shape)
