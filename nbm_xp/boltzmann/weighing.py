"""A Boltzmann machine that weighs itself: its partition function Z, exactly and by annealed importance sampling.

Chains are computed in the library that is asked for, on Dask in blocks; their weights come to host memory.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import to_numpy, use_backend

from . import partition, sampling
from .annealing import compile_ais, inverse_temperatures
from .bridging import LadderEstimate
from .equilibrium import STEPS, compile_states, compile_weighing, estimate, first_states
from .machine import Machine, placed
from .model import variable
from .partition import AISEstimate
from .randomness import entropy_of, stream
from .rows import positive_int

__all__ = ["Weighing"]


class Weighing(Machine):
    """A Boltzmann machine and its partition function; `Learning` adds how it learns."""

    def log_partition(self) -> float:
        """Log Z, exactly, for a model with at most 20 units outside of one group of unconnected layers.

        In a restricted Boltzmann machine that is a model with at most 20 hidden or 20 visible units.

        Raises
        ------
        ValueError
            If the model is larger.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.array([[1.0]]), np.zeros(1), np.zeros(1))
        >>> rbm.log_partition(), float(np.log(3 + np.e))
        (1.743668..., 1.743668...)
        """
        with use_backend(self._fitted()._home):
            return partition.exact_log_partition(self._parameters)

    def ais(
        self,
        n_runs: int = 100,
        n_temperatures: int = 1000,
        *,
        betas: Any = None,
        library: str | None = None,
        chunks: Any = None,
        random_state: Any = None,
    ) -> AISEstimate:
        """Log Z estimated by annealed importance sampling, with error bars.

        Parameters
        ----------
        n_runs : int, optional
            Independent chains: the error bars come from how their weights differ.
        n_temperatures : int, optional
            How many models each chain goes through, evenly from the base-rate model to this one. More make the
            weights more even, and the error bars honest.
        betas : sequence of float, optional
            Inverse temperatures rising from 0 to 1, in place of `n_temperatures`.
        library, chunks : optional
            As in `sample`.
        random_state : int, None, or generator, optional
            A seed of its own; None draws on in the model's streams.

        Returns
        -------
        AISEstimate

        Raises
        ------
        ValueError
            If an argument is not what it must be.

        References
        ----------
        R. Salakhutdinov and I. Murray, "On the quantitative analysis of deep belief networks", ICML 2008.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.eye(4), np.zeros(4), np.zeros(4), random_state=0)
        >>> found = rbm.ais(200, 100)
        >>> found.log_z_low < rbm.log_partition() < found.log_z_high
        True
        """
        self._fitted()
        rows = positive_int(n_runs, "n_runs")
        ladder = inverse_temperatures(n_temperatures, betas)
        base = variable(self._base_bias())
        rng = self._rng if random_state is None else stream(entropy_of(random_state))
        with use_backend(self._home):
            anneal = compile_ais(self._parameters, base, ladder, rows, rng)
        log_weights = to_numpy(anneal(self._base_rows(rows, library, chunks)))
        base_log_z = partition.base_log_partition(self._topology, base.value)
        return partition.estimate(log_weights, base_log_z, len(ladder))

    def ladder_log_partition(
        self,
        n_chains: int = 100,
        n_steps: int = 400,
        *,
        library: str | None = None,
        chunks: Any = None,
        random_state: Any = None,
    ) -> LadderEstimate:
        """Log Z estimated along the ladder of machines that a model learnt on, by Bennett's acceptance ratio.

        Parameters
        ----------
        n_chains : int, optional
            Chains of each machine; the error bars come from how they differ.
        n_steps : int, optional
            Steps of each chain: exchanges with its neighbours, and a sweep. The first half of them does not count.
        library, chunks : optional
            As in `sample`.
        random_state : int, None, or generator, optional
            A seed of its own; None draws on in the model's streams.

        Returns
        -------
        LadderEstimate

        Raises
        ------
        ValueError
            If an argument is not what it must be, or the model was not trained with ``training="tempered"``.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rows = np.repeat(np.eye(2, 6, dtype="float32"), 50, axis=0)
        >>> rbm = RBM(4, n_iter=3, training="tempered", random_state=0).fit(rows)
        >>> found = rbm.ladder_log_partition()
        >>> found.log_z_low < rbm.log_partition() < found.log_z_high
        True
        """
        rows, steps = positive_int(n_chains, "n_chains"), positive_int(n_steps, "n_steps", 4)
        ladder = self._ladder
        if ladder is None:
            raise ValueError('ladder_log_partition is for models trained with training="tempered": ais() weighs others')
        rng = self._rng if random_state is None else stream(entropy_of(random_state))
        start = first_states(ladder, self._made_up, rows, self._base_rows(rows, library, chunks))
        with use_backend(self._home):
            weigh = compile_weighing(ladder, rows, steps - steps % 4, rng)
        return estimate(ladder, weigh(*start))

    def reverse_ais(
        self,
        n_runs: int = 100,
        n_temperatures: int = 1000,
        *,
        betas: Any = None,
        start: Any = None,
        n_steps: int | None = None,
        library: str | None = None,
        chunks: Any = None,
        random_state: Any = None,
    ) -> AISEstimate:
        """Log Z estimated by annealed importance sampling in reverse, from states of the model to the base-rate model.

        `ais` finds too little, if anything, and this too much: on average, log Z is between the two.

        Parameters
        ----------
        n_runs, n_temperatures, betas
            As in `ais`; the chains go through the temperatures backwards.
        start : sequence with an array of shape (n_runs, units) for each layer, optional
            States of the model to start from; layers that a sweep draws first may be None. By default they are drawn
            exactly, where `log_partition` can tell Z exactly; else on the ladder that the model learnt on, if it has
            one; else along Markov chains. Chains too short for the model void the bound.
        n_steps : int, optional
            Steps on the ladder, by default 400, or sweeps of these chains, by default 1000.
        library, chunks : optional
            As in `ais`; without them, chains are computed as `start` is, where it is given.
        random_state : int, None, or generator, optional
            A seed of its own; None draws on in the model's streams.

        Returns
        -------
        AISEstimate

        Raises
        ------
        ValueError
            If an argument is not what it must be.

        References
        ----------
        Y. Burda, R. Grosse and R. Salakhutdinov, "Accurate and conservative estimates of MRF log-likelihood using
        reverse annealing", AISTATS 2015.

        Examples
        --------
        >>> import numpy as np
        >>> from nbm_xp.boltzmann import RBM
        >>> rbm = RBM.from_parameters(np.eye(4), np.zeros(4), np.zeros(4), random_state=0)
        >>> found = rbm.reverse_ais(200, 100)
        >>> found.log_z_low < rbm.log_partition() < found.log_z_high
        True
        """
        topology = self._topology
        rows = positive_int(n_runs, "n_runs")
        ladder = inverse_temperatures(n_temperatures, betas)[::-1]
        if n_steps is not None:
            positive_int(n_steps, "n_steps", 0)
        base = variable(self._base_bias())
        rng = self._rng if random_state is None else stream(entropy_of(random_state))
        if start is not None and (not hasattr(start, "__len__") or len(start) != len(topology.sizes)):
            count = len(start) if hasattr(start, "__len__") else repr(start)
            raise ValueError(f"start must have {len(topology.sizes)} entries, one for each layer, got {count}")
        own = self._own_states(rows, n_steps, rng, library, chunks) if start is None else start
        given = [self._given_rows(own[layer], rows, layer, "start") for layer in topology.retained]
        if start is not None and library is not None:
            like = self._base_rows(rows, library, chunks)
            given = [placed(states, layer, like) for layer, states in zip(topology.retained, given, strict=True)]
        with use_backend(self._home):
            anneal = compile_ais(self._parameters, base, ladder, rows, rng, given=True)
        log_weights = to_numpy(anneal(*given))
        base_log_z = partition.base_log_partition(topology, base.value)
        return partition.estimate(log_weights, base_log_z, len(ladder), reverse=True)

    def _own_states(self, rows: int, n_steps: int | None, rng: Any, library: str | None, chunks: Any) -> list[Any]:
        """States of the model: exact ones where it is small, else those at equilibrium, else the ends of chains."""
        topology, like, ladder = self._topology, self._base_rows(rows, library, chunks), self._ladder
        layers = tuple(topology.layers)
        with use_backend(self._home):
            if partition.is_enumerable(topology):
                exact = partition.exact_states(self._parameters, rows, rng)
                return [placed(states, layer, like) for layer, states in enumerate(exact)]
            if ladder is not None and n_steps != 0:
                climb = compile_states(ladder, rows, STEPS if n_steps is None else n_steps, layers, rng)
                return list(climb(*first_states(ladder, self._made_up, rows, like))[: len(layers)])
            sweeps = 1000 if n_steps is None else n_steps
            chain = sampling.compile_chain(self._parameters, rows, sweeps, rng, means=(0,), wanted=layers)
        return list(chain(like)[: len(layers)])
