"""The hidden layers of given visible units: the posterior distribution in mean-field approximation, or drawn from.

Layers that hold what is given are clamped. The mean-field approximation takes all other units for independent; its
means are found by letting each layer's mean follow from its neighbours' means, group after group, as a sweep of Gibbs
sampling draws them. A sweep never lowers the bound on the log-probability of what is given.

References
----------
R. Salakhutdinov and G. Hinton, "Deep Boltzmann machines", AISTATS 2009.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from nbm_xp import natural_bm as B

from .energy import Parameters, expectation, sweep
from .sampling import repeated

__all__ = ["mean_sweep", "posterior"]


def mean_sweep(parameters: Parameters, state: list[Any], clamped: Collection[int]) -> list[Any]:
    """Let the means of each group of layers follow from those of all the others."""
    states = list(state)
    for group in parameters.topology.sweep:
        for layer in group:
            if layer not in clamped:
                states[layer] = expectation(parameters, layer, states)
    return states


def posterior(
    parameters: Parameters, data: Any, n_steps: int, *, rows: int | None = None, rng: Any = None
) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """Hidden layers that go with rows of visible units: means, or drawn states where `rng` is given.

    Parameters
    ----------
    parameters : Parameters
    data : Tensor of shape (rows, visible units)
    n_steps : int
        Sweeps, the first one from units that are 1 half of the time.
    rows : int, optional
        The number of rows, where states are drawn.
    rng : RandomStreams, optional

    Returns
    -------
    state : list
        Of ``topology.kept`` layers; None for the others.
    updates : list
        Of the streams that the loop drew from.
    """
    topology = parameters.topology
    kept = [layer for layer in topology.kept if layer]
    column = B.sum(B.zeros_like(data), axis=1, keepdims=True) + 0.5
    state: list[Any] = [data, *([None] * (len(topology.sizes) - 1))]
    for layer in kept:
        state[layer] = column + B.zeros_like(parameters.biases[layer])

    def step(now: list[Any]) -> list[Any]:
        return mean_sweep(parameters, now, (0,)) if rng is None else sweep(parameters, now, rows or 0, rng, (0,))[0]

    return repeated(step, state, kept, n_steps)
