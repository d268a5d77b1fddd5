"""One step of learning: contrastive divergence and its persistent form, compiled.

The gradient of the mean log-likelihood is that of the free energy, averaged over the model's own states, less that
averaged over the data. The model's states come from a short Markov chain: contrastive divergence starts it at the data
in every step, persistent contrastive divergence (stochastic maximum likelihood) goes on where the last step ended. The
states are held fixed, and the tape differentiates the difference of the two means.

References
----------
G. E. Hinton, "Training products of experts by minimizing contrastive divergence", Neural Computation 14 (2002).
T. Tieleman, "Training restricted Boltzmann machines using approximations to the likelihood gradient", ICML 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp import natural_bm as B

from .energy import Parameters, draw, free_energy, gibbs_step, hidden_probability, shape_of, visible_probability

__all__ = ["Learner", "compile_step", "shares"]


@dataclass(frozen=True)
class Learner:
    """What a step of learning changes, and how.

    Attributes
    ----------
    parameters : Parameters of Variables
    velocities : Parameters of Variables, or None
        The decaying sums of past steps; None without momentum.
    rate : Variable
        The learning rate, set from outside.
    chains : Variable of shape (chains, hidden units), or None
        The hidden units of the persistent chains; None for contrastive divergence, which starts at the data.
    n_gibbs : int
        Sweeps of the chain in each step.
    momentum, weight_decay : float
    rng : RandomStreams
    """

    parameters: Parameters
    velocities: Parameters | None
    rate: Any
    chains: Any | None
    n_gibbs: int
    momentum: float
    weight_decay: float
    rng: Any


def compile_step(learner: Learner, rows: int | None) -> Any:
    """Compile one step on a minibatch, which changes the learner's Variables.

    How many rows there are must be said for contrastive divergence, whose chains start at them; with persistent chains
    one compiled step serves any number.

    The compiled function is called with the rows and with the shares that `shares` gives for their number. Made-up and
    given states go through the formulas together, as one matrix, so each product is computed once for both.
    """
    parameters = learner.parameters
    n_visible = shape_of(parameters.weights)[0]
    dtype = B.dtype(parameters.weights)
    data = B.placeholder(shape=(rows, n_visible), dtype=dtype, name="data")
    share = B.placeholder(ndim=1, dtype=dtype, name="share")
    fantasy, updates = _fantasy(learner, data, rows)
    states = B.stop_gradient(B.concatenate([fantasy, data], axis=0))
    if learner.chains is not None:
        length, n_hidden = shape_of(learner.chains)
        updates.append(
            (learner.chains, draw(hidden_probability(parameters, states)[:length], (length, n_hidden), learner.rng))
        )
    counts = B.reshape(share, (states.shape[0],))  # one for each state, which the tape need not find out
    loss = B.sum(counts * free_energy(parameters, states))
    updates += _descent(learner, B.gradients(loss, list(parameters)))
    return B.function([data, share], [], updates=updates, name="contrastive_divergence")


def shares(chains: int | None, rows: int) -> list[float]:
    """What each state counts in a step: the loss is the mean free energy of the rows less that of made-up states.

    Parameters
    ----------
    chains : int or None
        The number of persistent chains; None where chains start at the rows.
    rows : int
        The number of rows.

    Examples
    --------
    >>> shares(4, 2)
    [-0.25, -0.25, -0.25, -0.25, 0.5, 0.5]
    """
    count = rows if chains is None else chains
    return [-1.0 / count] * count + [1.0 / rows] * rows


def _fantasy(learner: Learner, data: Any, rows: int | None) -> tuple[Any, list[tuple[Any, Any]]]:
    """Visible states that the model makes up, and the updates of the streams that a loop drew from."""
    parameters, rng = learner.parameters, learner.rng
    n_visible, n_hidden = shape_of(parameters.weights)
    if learner.chains is not None:
        hidden, length = learner.chains, shape_of(learner.chains)[0]
    elif rows is not None:
        hidden, length = draw(hidden_probability(parameters, data), (rows, n_hidden), rng), rows
    else:
        raise ValueError("contrastive divergence needs to know the number of rows")
    visible = draw(visible_probability(parameters, hidden), (length, n_visible), rng)
    updates: list[tuple[Any, Any]] = []
    if learner.n_gibbs > 1:
        sweeps, moved = B.scan(
            lambda state: gibbs_step(parameters, state, length, rng)[0],
            outputs_info=[visible],
            n_steps=learner.n_gibbs - 1,
        )
        visible, updates = sweeps[-1], list(moved.items())
    return visible, updates


def _descent(learner: Learner, gradients: Sequence[Any]) -> list[tuple[Any, Any]]:
    """New values for the parameters: down the gradient, with momentum and a pull of the weights towards 0."""
    weights, *biases = gradients
    if learner.weight_decay:
        weights = weights + learner.weight_decay * learner.parameters.weights
    steps = [learner.rate * gradient for gradient in (weights, *biases)]
    updates: list[tuple[Any, Any]] = []
    if learner.velocities is not None:
        steps = [learner.momentum * old + step for old, step in zip(learner.velocities, steps, strict=True)]
        updates += zip(learner.velocities, steps, strict=True)
    updates += [(old, old - step) for old, step in zip(learner.parameters, steps, strict=True)]
    return updates
