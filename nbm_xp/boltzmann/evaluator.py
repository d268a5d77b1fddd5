"""A model weighed: its partition function Z, exactly, by annealing from either end, and by the ladder it learnt on.

Chains are computed in the library that is asked for, on Dask in blocks; their weights come to host memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp.namespace import to_numpy, use_backend, wide_dtypes

from . import partition
from .annealing import compile_ais
from .bridging import LadderEstimate
from .equilibrium import compile_weighing, estimate
from .model import Model, variable
from .partition import AISEstimate
from .placing import temperatures_of
from .rows import positive_int
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
        return None if self.model._ladder is None else self.by_ladder().log_z

    def annealed(
        self, n_runs: int = 100, n_temperatures: int | str = 1000, betas: Sequence[float] | None = None
    ) -> AISEstimate:
        """Log Z by annealing from the base-rate model: see `RBM.ais`."""
        rows = positive_int(n_runs, "n_runs")
        temperatures = temperatures_of(self.model, n_temperatures, betas, self.chains.entropy)
        return self._weigh(rows, temperatures)

    def reversed(
        self, n_runs: int, n_temperatures: int | str, betas: Sequence[float] | None, *, start: Any, n_steps: int | None
    ) -> AISEstimate:
        """Log Z by annealing to the base-rate model, from states of the model: see `RBM.reverse_ais`."""
        topology = self.model._topology
        rows = positive_int(n_runs, "n_runs")
        temperatures = temperatures_of(self.model, n_temperatures, betas, self.chains.entropy)[::-1]
        if n_steps is not None:
            positive_int(n_steps, "n_steps", 0)
        if start is not None and (not hasattr(start, "__len__") or len(start) != len(topology.sizes)):
            count = len(start) if hasattr(start, "__len__") else repr(start)
            raise ValueError(f"start must have {len(topology.sizes)} entries, one for each layer, got {count}")
        own = self.chains.own_states(rows, n_steps) if start is None else start
        given = {layer: self.chains.given_rows(own[layer], rows, layer, "start") for layer in topology.retained}
        return self._weigh(rows, temperatures, given if start is None else self.chains.placed(given, rows))

    def by_ladder(self, n_chains: int = 100, n_steps: int = 400) -> LadderEstimate:
        """Log Z along the ladder of machines that the model learnt on: see `RBM.ladder_log_partition`."""
        rows, steps = positive_int(n_chains, "n_chains"), positive_int(n_steps, "n_steps", 4)
        ladder = self.model._ladder
        if ladder is None:
            raise ValueError('ladder_log_partition is for models trained with training="tempered": ais() weighs others')
        start = self.chains.ladder_states(ladder, rows)
        with use_backend(self.model._home):
            weigh = compile_weighing(ladder, rows, steps - steps % 4, self.chains.rng)
        found = estimate(ladder, weigh(*start))
        found.warn(stacklevel=4)
        return found

    def _weigh(self, rows: int, temperatures: Sequence[float], given: dict[int, Any] | None = None) -> AISEstimate:
        """Anneal chains, from states of the model where these are given, and have their weights tell log Z."""
        model, base = self.model, variable(self.model._base_bias())
        with use_backend(model._home):
            anneal = compile_ais(model._parameters, base, temperatures, rows, self.chains.rng, given=given is not None)
        first = [self.chains.base_rows(rows)] if given is None else list(given.values())
        log_weights = to_numpy(anneal(*first))
        base_log_z = partition.base_log_partition(model._topology, base.value)
        return partition.estimate(log_weights, base_log_z, len(temperatures), reverse=given is not None)
