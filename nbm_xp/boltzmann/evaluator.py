"""A model weighed: its partition function Z, exactly, by annealing from either end, and by the ladder it learnt on.

Chains are computed in the library that is asked for, on Dask in blocks; their weights come to host memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp.machines.rows import positive_int
from nbm_xp.namespace import to_numpy, use_backend, wide_dtypes

from . import partition
from .annealing import compile_ais, path_to
from .bridging import LadderEstimate
from .equilibrium import compile_weighing, estimate
from .model import Model
from .partition import AISEstimate
from .placing import temperatures_of, told_temperatures
from .sampler import Sampler

__all__ = ["Evaluator"]


class Evaluator:
    """Log Z of a model.

    Parameters
    ----------
    model : Model
    library, chunks, random_state : optional
        Of the chains: see `Sampler`.
    """

    def __init__(self, model: Model, library: str | None = None, chunks: Any = None, random_state: Any = None) -> None:
        self.model = model._fitted()
        self.chains = Sampler(model, library, chunks, random_state)

    def exact(self) -> float:
        """Log Z by enumeration.

        Raises
        ------
        ValueError
            If the model is too large for it.
        """
        with use_backend(self.model._home) as xp, wide_dtypes(xp):
            return partition.exact_log_partition(self.model._parameters)

    def known(self) -> float | None:
        """Log Z of a model that can be enumerated, or that has a ladder; None of others."""
        if partition.is_enumerable(self.model._topology):
            return self.exact()
        return None if self.model._ladder is None else self.by_ladder(stacklevel=5).log_z

    def annealed(
        self,
        n_runs: int = 100,
        n_temperatures: int | str = 1000,
        betas: Sequence[float] | None = None,
        *,
        reverse: bool = False,
        start: Any = None,
        n_steps: int | None = None,
        base: Model | None = None,
        base_log_z: Any = None,
    ) -> AISEstimate:
        """Log Z by annealing from the base-rate model, or another one, or in reverse: see `RBM.ais`, `reverse_ais`."""
        model, chains, rows = self.model, self.chains, positive_int(n_runs, "n_runs")
        told_temperatures(n_temperatures, betas)  # refused before any work, as what follows
        self._check_base(base, base_log_z)
        first = model if reverse else base
        given = self._given(first, rows, start, n_steps)
        like, known = chains.base_rows(rows), self._base_log_z(base, base_log_z)
        temperatures = temperatures_of(model, n_temperatures, betas, chains.entropy, base)
        if given is None and first is not None:
            own = Sampler(first, chains.library, chains.chunks).own_states(rows, n_steps, chains.rng)
            given = [chains.given_rows(own[layer], rows, layer, "start") for layer in model._topology.retained]
        with use_backend(model._home):
            betas = temperatures[::-1] if reverse else temperatures
            anneal = compile_ais(path_to(model, base), betas, rows, chains.rng, given=given is not None)
        log_weights = anneal(*([like] if given is None else given))
        return partition.estimate(to_numpy(log_weights), known, len(temperatures), reverse=reverse)

    def by_ladder(self, n_chains: int = 100, n_steps: int = 400, stacklevel: int = 4) -> LadderEstimate:
        """Log Z along the ladder of machines that the model learnt on: see `RBM.ladder_log_partition`.

        `stacklevel` leads a warning to the line that called the model.
        """
        rows, steps = positive_int(n_chains, "n_chains"), positive_int(n_steps, "n_steps", 4)
        ladder = self.model._ladder
        if ladder is None:
            raise ValueError('ladder_log_partition is for models trained with training="tempered": ais() weighs others')
        start = self.chains.ladder_states(ladder, rows)
        with use_backend(self.model._home):
            weigh = compile_weighing(ladder, rows, steps - steps % 4, self.chains.rng)
        found = estimate(ladder, weigh(*start))
        found.warn(stacklevel)
        return found

    def _given(self, first: Model | None, rows: int, start: Any, n_steps: int | None) -> Sequence[Any] | None:
        """The states that chains are told to begin with, checked; None where they are to be drawn from a model."""
        topology, chains = self.model._topology, self.chains
        if n_steps is not None:
            positive_int(n_steps, "n_steps", 0)
            if first is None:
                raise ValueError("n_steps must be left out where base is: the base-rate model is drawn from exactly")
        if start is None:
            return None
        if not hasattr(start, "__len__") or len(start) != len(topology.sizes):
            count = len(start) if hasattr(start, "__len__") else repr(start)
            raise ValueError(f"start must have {len(topology.sizes)} entries, one for each layer, got {count}")
        given = {layer: chains.given_rows(start[layer], rows, layer, "start") for layer in topology.retained}
        return list(chains.placed(given, rows).values())

    def _check_base(self, base: Any, known: Any) -> None:
        """Refuse what cannot be annealed from or to, or log Z of it."""
        model = self.model
        if base is None:
            if known is not None:
                raise ValueError("base_log_z must be left out where base is: log Z of the base-rate model is known")
            return
        if not isinstance(base, Model):
            raise TypeError(f"base must be a model as this one is, got {type(base).__name__}")
        if not hasattr(base, "n_features_in_"):
            raise ValueError(f"base must have parameters, but this {type(base).__name__} has learnt nothing yet")
        if base._topology != model._topology:
            raise ValueError(f"base must have the layers of the model, {model._topology}, got {base._topology}")
        if base._home != model._home:
            ours, theirs = model._home, base._home
            raise ValueError(f"base must be of {ours}, as the model is, got one of {theirs}: move it with to({ours!r})")
        if known is not None:
            partition.log_z_of(known, "base_log_z")
        elif not partition.is_enumerable(base._topology):
            raise ValueError(
                "base_log_z must be given, as base is too large to enumerate: its log Z, or 0 for the ratio of the two"
            )

    def _base_log_z(self, base: Model | None, known: Any) -> float:
        """Log Z of what is annealed from or to: of another model, told or by enumeration."""
        if base is None:
            return partition.base_log_partition(self.model._topology, self.model._base_bias())
        return Evaluator(base).exact() if known is None else partition.log_z_of(known, "base_log_z")
