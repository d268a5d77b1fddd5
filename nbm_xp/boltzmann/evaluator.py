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

    def __init__(self, model: Any, library: str | None = None, chunks: Any = None, random_state: Any = None) -> None:
        self.model = model
        self.state = model.state_
        self.chains = Sampler(model, library, chunks, random_state)

    def exact(self) -> float:
        """Log Z by enumeration.

        Raises
        ------
        ValueError
            If the model is too large for it.
        """
        with use_backend(self.model.state_.library) as xp, wide_dtypes(xp):
            return partition.exact_log_partition(self.model.state_.parameters)

    def known(self) -> float | None:
        """Log Z of a model that can be enumerated, or that has a ladder; None of others."""
        if partition.is_enumerable(self.model.state_.topology):
            return self.exact()
        return None if self.model.state_.ladder is None else self.by_ladder(stacklevel=5).log_z

    def annealed(
        self,
        n_runs: int = 100,
        n_temperatures: int | str = 1000,
        betas: Sequence[float] | None = None,
        *,
        reverse: bool = False,
        start: Any = None,
        n_steps: int | None = None,
    ) -> AISEstimate:
        """Log Z by annealing from the base-rate model, or in reverse: see `RBM.ais`, `reverse_ais`."""
        model, chains, rows = self.model, self.chains, positive_int(n_runs, "n_runs")
        told_temperatures(n_temperatures, betas)  # refused before any work, as what follows
        given = self._given(rows, start) if reverse else None
        if n_steps is not None:
            positive_int(n_steps, "n_steps", 0)
        like = chains.base_rows(rows)
        temperatures = temperatures_of(model, n_temperatures, betas, chains.entropy)
        if given is None and reverse:
            own = chains.own_states(rows, n_steps, chains.rng)
            given = [chains.given_rows(own[layer], rows, layer, "start") for layer in model.state_.topology.retained]
        with use_backend(model.state_.library):
            betas = temperatures[::-1] if reverse else temperatures
            anneal = compile_ais(path_to(model), betas, rows, chains.rng, given=given is not None)
        log_weights = to_numpy(anneal(*([like] if given is None else given)))
        base_log_z = partition.base_log_partition(model.state_.topology, model.state_.base_bias())
        return partition.estimate(log_weights, base_log_z, len(temperatures), reverse=reverse)

    def by_ladder(self, n_chains: int = 100, n_steps: int = 400, stacklevel: int = 4) -> LadderEstimate:
        """Log Z along the ladder of machines that the model learnt on: see `RBM.ladder_log_partition`.

        `stacklevel` leads a warning to the line that called the model.
        """
        rows, steps = positive_int(n_chains, "n_chains"), positive_int(n_steps, "n_steps", 4)
        ladder = self.model.state_.ladder
        if ladder is None:
            raise ValueError('ladder_log_partition is for models trained with training="ptt": ais() weighs others')
        start = self.chains.ladder_states(ladder, rows)
        with use_backend(self.model.state_.library):
            weigh = compile_weighing(ladder, rows, steps - steps % 4, self.chains.rng)
        found = estimate(ladder, weigh(*start))
        found.warn(stacklevel)
        return found

    def _given(self, rows: int, start: Any) -> Sequence[Any] | None:
        """The states that chains are told to begin with, checked; None where they are to be drawn from the model."""
        topology, chains = self.model.state_.topology, self.chains
        if start is None:
            return None
        if not hasattr(start, "__len__") or len(start) != len(topology.sizes):
            count = len(start) if hasattr(start, "__len__") else repr(start)
            raise ValueError(f"start must have {len(topology.sizes)} entries, one for each layer, got {count}")
        given = {layer: chains.given_rows(start[layer], rows, layer, "start") for layer in topology.retained}
        return list(chains.placed(given, rows).values())
