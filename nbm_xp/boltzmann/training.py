"""One step of learning, compiled.

The gradient of the mean log-likelihood is that of the free energy, averaged over the model's own states, less that
averaged over the data. Where the model's states come from is the matter of `negative_phase`. The gradient is one
product of states for each connection (`centring`); what else is to fall, the tape differentiates.

Where the free energy of the data depends on further hidden layers, as in a deep machine, their states are the means of
the posterior given the data in mean-field approximation (a bound on the log-likelihood is followed), or drawn from it.

References
----------
R. Salakhutdinov and G. Hinton, "Deep Boltzmann machines", AISTATS 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp import natural_bm as B

from .balancing import Balance
from .centring import centred, gradients, plain_steps, sliding_means, with_means
from .energy import Parameters, gauged
from .negative_phase import NegativePhase
from .optimizers import Descent
from .posterior import posterior
from .sampling import rows_placeholder

__all__ = ["Learner", "compile_step"]


@dataclass(frozen=True)
class Learner:
    """What a step of learning changes, and how.

    Attributes
    ----------
    parameters : Parameters of Variables
    descent : Descent
    negative_phase : NegativePhase
        Where the model's own states come from.
    rng : RandomStreams
    offsets : tuple of Variables, or None
        The sliding means of the units of each layer that the gradient is centred on; None for the plain gradient.
    positive : {"mean_field", "gibbs"}
        How hidden layers that are not summed out are given for the data.
    n_positive : int
        Sweeps of that.
    likelihood : float
        How much the mean log-likelihood counts.
    balance : Balance, or None
        What the offsets follow instead of the sliding means.
    also : callable, or None
        From parameters, rows of visible units and what each of them counts, 1 in all, to a loss that is to fall
        besides.
    """

    parameters: Parameters
    descent: Descent
    negative_phase: NegativePhase
    rng: Any
    offsets: tuple[Any, ...] | None = None
    positive: str = "mean_field"
    n_positive: int = 10
    likelihood: float = 1.0
    balance: Balance | None = None
    also: Callable[[Parameters, Any, Any], Any] | None = None


def compile_step(learner: Learner, rows: int | None) -> Any:
    """Compile one step on a minibatch, which changes the learner's Variables.

    How many rows there are must be said where something is drawn for each of them: where the negative phase needs it,
    or where their hidden layers are drawn; else one compiled step serves any number.

    The compiled function is called with the rows and with what each state counts: the negative phase's weights, then
    one over the number of rows for each of them. Made-up and given states go through the formulas together, as one
    matrix, so each product is computed once for both.
    """
    parameters, topology = learner.parameters, learner.parameters.topology
    told, data = rows_placeholder(parameters, rows, "data")
    sample_weights = B.placeholder(ndim=1, dtype=parameters.dtype, name="sample_weights")
    given, updates = _given(learner, data, rows)
    made_up, moved = learner.negative_phase.draw(given, rows, learner.rng)
    updates += moved
    states: list[Any] = [
        B.stop_gradient(B.concatenate([made_up[layer], given[layer]], axis=0)) if layer in topology.retained else None
        for layer in topology.layers
    ]
    updates += learner.negative_phase.go_on(made_up, states, learner.rng)
    counts = B.reshape(sample_weights, (states[0].shape[0],))  # one for each state, which the tape need not find out
    scaled = learner.descent.scaled(counts)
    scaled = scaled if learner.likelihood == 1.0 else learner.likelihood * scaled

    besides = None
    if learner.also is not None:
        besides = learner.descent.scaled(learner.also(parameters, data, counts[made_up[0].shape[0] :]))
    whole, offsets = with_means(parameters, states), None
    if learner.balance is not None:
        first = made_up[0].shape[0]
        offsets, moved = learner.balance.followed([state[first:, :] for state in whole], counts[first:])
        updates += moved
    elif learner.offsets is not None:
        offsets = sliding_means(whole, counts, learner.offsets)
        updates += zip(learner.offsets, offsets, strict=True)
    slopes = gradients(parameters, whole, scaled, offsets)
    if besides is not None:
        also = B.gradients(besides, list(parameters))
        also = also if offsets is None else centred(parameters, also, offsets)
        slopes = [one + other for one, other in zip(slopes, also, strict=True)]
    updates += _descent(learner, slopes, offsets)
    return B.function([told, sample_weights], [], updates=updates, name="contrastive_divergence")


def _given(learner: Learner, data: Any, rows: int | None) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """The state of the data, in the layers that are not summed out, and updates of the streams that loops drew from."""
    parameters = learner.parameters
    if len(parameters.topology.retained) == 1:
        return [data, *([None] * (len(parameters.topology.sizes) - 1))], []
    if learner.positive == "mean_field":
        return posterior(parameters, data, learner.n_positive)
    return posterior(parameters, data, learner.n_positive, rows=rows, rng=learner.rng)


def _descent(learner: Learner, gradients: Sequence[Any], offsets: Sequence[Any] | None = None) -> list[tuple[Any, Any]]:
    """New values for the parameters, down the gradient.

    Where gradients are those of the centred model, steps are translated into those of the plain parameters.
    """
    topology, parameters, count = learner.parameters.topology, list(learner.parameters), len(learner.parameters.weights)
    steps, updates = learner.descent.steps(gradients, learner.parameters.weights)
    steps = gauged(topology, steps)
    if offsets is not None:
        steps = plain_steps(learner.parameters, steps, offsets)
    moved = [old - step for old, step in zip(parameters[:count], steps, strict=False)]
    for units, old, step in zip(topology.units, parameters[count:], steps[count:], strict=True):
        moved.append(units.moved(old, step))
    return updates + list(zip(parameters, moved, strict=True))
