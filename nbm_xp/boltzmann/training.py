"""One step of learning: contrastive divergence and its persistent form, compiled.

The gradient of the mean log-likelihood is that of the free energy, averaged over the model's own states, less that
averaged over the data. The model's states come from a short Markov chain: contrastive divergence starts it at the data
in every step, persistent contrastive divergence (stochastic maximum likelihood) goes on where the last step ended. The
states are held fixed, and the tape differentiates the difference of the two means.

Where the free energy of the data depends on further hidden layers, as in a deep machine, their states are the means of
the posterior given the data in mean-field approximation (a bound on the log-likelihood is followed), or drawn from it.

References
----------
G. E. Hinton, "Training products of experts by minimizing contrastive divergence", Neural Computation 14 (2002).
T. Tieleman, "Training restricted Boltzmann machines using approximations to the likelihood gradient", ICML 2008.
R. Salakhutdinov and G. Hinton, "Deep Boltzmann machines", AISTATS 2009.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp import natural_bm as B

from .centring import centred_gradients, plain_steps, sliding_means
from .energy import Parameters, draw_layer, expectation, free_energy, shape_of, sweep
from .posterior import posterior
from .sampling import placeholder, repeated
from .topology import Topology

__all__ = ["Learner", "chain_layers", "compile_step", "shares"]


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
    chains : mapping of layers to Variables of shape (chains, units), or None
        The persistent chains, told by the layers of `chain_layers`; None for contrastive divergence, which starts at
        the data.
    n_gibbs : int
        Sweeps of the chain in each step.
    momentum, weight_decay : float
    rng : RandomStreams
    offsets : tuple of Variables, or None
        The sliding means of the units of each layer that the gradient is centred on; None for the plain gradient.
    positive : {"mean_field", "gibbs"}
        How hidden layers that are not summed out are given for the data.
    n_positive : int
        Sweeps of that.
    """

    parameters: Parameters
    velocities: Parameters | None
    rate: Any
    chains: Mapping[int, Any] | None
    n_gibbs: int
    momentum: float
    weight_decay: float
    rng: Any
    offsets: tuple[Any, ...] | None = None
    positive: str = "mean_field"
    n_positive: int = 10


def chain_layers(topology: Topology) -> list[int]:
    """The layers that tell a persistent chain between two steps.

    A step ends with drawing the group that is summed out, so these are all layers but those drawn next.

    Examples
    --------
    >>> chain_layers(Topology([6, 5])), chain_layers(Topology([6, 5, 4, 3]))
    ([1], [1, 3])
    """
    following = topology.sweep[1]
    return [layer for layer in topology.layers if layer not in following]


def compile_step(learner: Learner, rows: int | None) -> Any:
    """Compile one step on a minibatch, which changes the learner's Variables.

    How many rows there are must be said where something is drawn for each of them: in contrastive divergence, whose
    chains start at them, or where their hidden layers are drawn; else one compiled step serves any number.

    The compiled function is called with the rows and with the shares that `shares` gives for their number. Made-up and
    given states go through the formulas together, as one matrix, so each product is computed once for both.
    """
    parameters, topology = learner.parameters, learner.parameters.topology
    data = placeholder(parameters, rows, "data")
    share = B.placeholder(ndim=1, dtype=parameters.dtype, name="share")
    given, updates = _given(learner, data, rows)
    fantasy, moved = _fantasy(learner, given, rows)
    updates += moved
    states: list[Any] = [
        B.stop_gradient(B.concatenate([fantasy[layer], given[layer]], axis=0)) if layer in topology.kept else None
        for layer in topology.layers
    ]
    updates += _go_on(learner, fantasy, states)
    counts = B.reshape(share, (states[0].shape[0],))  # one for each state, which the tape need not find out
    scaled = learner.rate * counts  # a product with the gradients would be one of all parameters
    if learner.offsets is None:
        loss = B.sum(scaled * free_energy(parameters, states))
        updates += _descent(learner, B.gradients(loss, list(parameters)))
    else:
        offsets = sliding_means(parameters, states, counts, learner.offsets)
        updates += zip(learner.offsets, offsets, strict=True)
        updates += _descent(learner, centred_gradients(parameters, states, scaled, offsets), offsets)
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


def _given(learner: Learner, data: Any, rows: int | None) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """The state of the data, in the layers that are not summed out, and updates of the streams that loops drew from."""
    parameters = learner.parameters
    if len(parameters.topology.kept) == 1:
        return [data, *([None] * (len(parameters.topology.sizes) - 1))], []
    if learner.positive == "mean_field":
        return posterior(parameters, data, learner.n_positive)
    return posterior(parameters, data, learner.n_positive, rows=rows, rng=learner.rng)


def _fantasy(learner: Learner, given: Sequence[Any], rows: int | None) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """A state that the model makes up, in the layers that are not summed out, and updates of streams, as above."""
    parameters, rng, topology = learner.parameters, learner.rng, learner.parameters.topology
    state: list[Any] = [None] * len(topology.sizes)
    if learner.chains is not None:
        for layer, chain in learner.chains.items():
            state[layer], length = chain, shape_of(chain)[0]
    elif rows is not None:
        length = rows
        for layer in topology.kept:
            drawn = layer == 0 or learner.positive != "mean_field"
            state[layer] = given[layer] if drawn else draw_layer(parameters, layer, given[layer], rows, rng)
        for layer in topology.summed:
            state[layer] = draw_layer(parameters, layer, expectation(parameters, layer, state), rows, rng)
    else:
        raise ValueError("contrastive divergence needs to know the number of rows")
    state, _ = sweep(parameters, state, length, rng, clamped=topology.summed)
    updates: list[tuple[Any, Any]] = []
    if learner.n_gibbs > 1:
        state, updates = repeated(
            lambda now: sweep(parameters, now, length, rng)[0], state, topology.kept, learner.n_gibbs - 1
        )
    return state, updates


def _go_on(learner: Learner, fantasy: Sequence[Any], states: Sequence[Any]) -> list[tuple[Any, Any]]:
    """New states for the persistent chains; `states` are theirs, with those of the data after them."""
    if learner.chains is None:
        return []
    updates = []
    for layer, chain in learner.chains.items():
        length = shape_of(chain)[0]
        if layer in learner.parameters.topology.summed:
            means = expectation(learner.parameters, layer, states)[:length]
            updates.append((chain, draw_layer(learner.parameters, layer, means, length, learner.rng)))
        else:
            updates.append((chain, fantasy[layer]))
    return updates


def _descent(learner: Learner, steps: Sequence[Any], offsets: Sequence[Any] | None = None) -> list[tuple[Any, Any]]:
    """New values for the parameters: down the gradient, with momentum and a pull of the weights towards 0.

    `steps` are gradients times the learning rate. Where they are those of the centred model, they are translated into
    those of the plain parameters.
    """
    count, parameters = len(learner.parameters.weights), list(learner.parameters)
    if learner.weight_decay:
        pull = learner.rate * learner.weight_decay
        pulls = [pull * weights for weights in learner.parameters.weights]
        steps = [*(step + pull for step, pull in zip(steps, pulls, strict=False)), *steps[count:]]
    updates: list[tuple[Any, Any]] = []
    if learner.velocities is not None:
        steps = [learner.momentum * old + step for old, step in zip(learner.velocities, steps, strict=True)]
        updates += zip(learner.velocities, steps, strict=True)
    if offsets is not None:
        steps = plain_steps(learner.parameters, steps, offsets)
    return updates + [(old, old - step) for old, step in zip(parameters, steps, strict=True)]
