"""One step of learning, compiled: the gradient by products of states, plain and centred, and what steps make of it.

The gradient of the mean log-likelihood is that of the free energy, averaged over the model's own states, less that
averaged over the data. Where the model's states come from is the matter of `negative_phase`. The gradient is one
product of states for each connection; what else is to fall, the tape differentiates. Where the free energy of the data
depends on further hidden layers, as in a deep machine, their states are the means of the posterior given the data in
mean-field approximation (a bound on the log-likelihood is followed), or drawn from it.

Centred Boltzmann machines are the same models with other parameters. In terms of units less their means o_l, the
offsets, a machine has the energy

    E(x) = - Σ_l (x_l - o_l)·c_l - Σ_ij (x_i - o_i)·W_ij (x_j - o_j)

which is that of the plain one with biases b_l = c_l - Σ_j W_lj o_j, less a constant. So offsets may move at any time
without changing the distribution. The gradient with respect to W and c does not depend on whether units are coded as 0
and 1 or as 1 and 0, and its steps for weights and biases interfere less.

A step that makes the machine truer of the rows in a rare place changes how probable the whole place is, as a rule by
far more. With the means for offsets, products of centred units, (v - a)(h - b), are about 0 where most rows lie and
large in a rare place. The offsets of `Balance` let the products vary least: a regression of vh on v and h,

    a = E[q v] / E[q],   q = Σ_j (h_j - b_j)(h_j - E[h_j])

and likewise b: means of the data, in which rows count the more, the farther off their other layers lie.

References
----------
R. Salakhutdinov and G. Hinton, "Deep Boltzmann machines", AISTATS 2009.
G. Montavon and K.-R. Müller, "Deep Boltzmann machines and the centering trick", in Neural Networks: Tricks of the
Trade, 2012.
J. Melchior, A. Fischer and L. Wiskott, "How to center deep Boltzmann machines", JMLR 17 (2016).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nbm_xp import natural_bm as B
from nbm_xp.machines import Array, Updates
from nbm_xp.namespace import array_namespace
from nbm_xp.tape import Function

from .energy import Parameters, expectation, gauged
from .negative_phase import NegativePhase
from .optimizers import SGD
from .posterior import posterior
from .recording import State, rows_placeholder
from .state import MachineState
from .storage import BALANCE

__all__ = ["Balance", "Learner", "centred", "compile_step", "gradients", "plain_steps", "sliding_means", "with_means"]


@dataclass(frozen=True)
class Learner:
    """What a step of learning changes, and how.

    Attributes
    ----------
    negative_phase : NegativePhase
        With the state that changes, and the training method.
    optimizer : SGD
    offsets : tuple of Variables, or None
        The sliding means of the units of each layer that the gradient is centred on; None for the plain gradient.
    balance : Balance, or None
        What the offsets follow instead of the sliding means.
    likelihood : float
        How much the mean log-likelihood counts.
    also : callable, or None
        From parameters, rows of visible units and what each of them counts, 1 in all, to a loss that is to fall
        besides.
    """

    negative_phase: NegativePhase
    optimizer: SGD
    offsets: tuple[Array, ...] | None = None
    balance: Balance | None = None
    likelihood: float = 1.0
    also: Callable[[Parameters, Array, Array], Array] | None = None

    @property
    def state(self) -> MachineState:
        """What changes."""
        return self.negative_phase.state

    @property
    def rate(self) -> Array:
        """The learning rate."""
        pace = self.negative_phase.pace
        return self.state.rate if isinstance(pace, float) else self.state.rate * pace

    def scaled(self, counts: Array) -> Array:
        """A loss, or what each state counts in it, times the rate where the optimizer leaves that to the loss."""
        return self.rate * counts if self.optimizer.in_proportion else counts


def compile_step(learner: Learner, rows: int | None) -> Function:
    """Compile one step on a minibatch, which changes the learner's Variables.

    How many rows there are must be said where something is drawn for each of them: where the negative phase needs it,
    or where their hidden layers are drawn; else one compiled step serves any number.

    The compiled function is called with the rows and with what each state counts: those of the negative phase, -1 in
    all, then the rows, 1 in all. Both go through the formulas together, as one matrix, so each product is computed once
    for both.
    """
    phase, parameters, topology = learner.negative_phase, learner.state.parameters, learner.state.topology
    given, data = rows_placeholder(parameters, rows)
    sample_weights = B.placeholder(ndim=1, dtype=parameters.dtype, name="sample_weights")
    observed, updates = _observed(learner, data, rows)
    drawn, moved = phase.draw(observed, rows)
    updates += moved
    states: State = [
        B.stop_gradient(B.concatenate([drawn[layer], observed[layer]], axis=0)) if layer in topology.retained else None
        for layer in topology.layers
    ]
    updates += phase.go_on(drawn, states)
    counts = B.reshape(sample_weights, (states[0].shape[0],))  # one for each state, which the tape need not find out
    first = drawn[0].shape[0]  # the rows come after these
    besides = None
    if learner.also is not None:
        besides = learner.scaled(learner.also(parameters, data, counts[first:]))
    whole, offsets = with_means(parameters, states), None
    if learner.balance is not None:
        offsets, moved = learner.balance.followed([state[first:, :] for state in whole], counts[first:])
        updates += moved
    elif learner.offsets is not None:
        offsets = sliding_means(whole, counts, learner.offsets)
        updates += zip(learner.offsets, offsets, strict=True)
    scaled = learner.scaled(counts)
    slopes = gradients(parameters, whole, scaled if learner.likelihood == 1.0 else learner.likelihood * scaled, offsets)
    if besides is not None:
        also = B.gradients(besides, list(parameters))
        also = also if offsets is None else centred(parameters, also, offsets)
        slopes = [one + other for one, other in zip(slopes, also, strict=True)]
    updates += _descent(learner, slopes, offsets)
    return B.function([given, sample_weights], [], updates=updates, name=phase.method.name)


def _observed(learner: Learner, data: Array, rows: int | None) -> tuple[State, Updates]:
    """The state of the data, in the layers that are not summed out, and updates of the streams that loops drew from."""
    state, method = learner.state, learner.negative_phase.method
    if len(state.topology.retained) == 1:
        return [data, *([None] * (len(state.topology.sizes) - 1))], []
    rng = None if method.hidden_means else state.rng
    return posterior(state.parameters, data, method.n_positive, rows=rows, rng=rng)


def _descent(learner: Learner, slopes: Sequence[Array], offsets: Sequence[Array] | None = None) -> Updates:
    """New values for the parameters, down the gradient.

    Where gradients are those of the centred model, steps are translated into those of the plain parameters.
    """
    state, topology, momentum = learner.state, learner.state.topology, learner.negative_phase.method.momentum
    steps, updates = learner.optimizer.steps(state, learner.rate, slopes, momentum)
    steps = gauged(topology, steps)
    if offsets is not None:
        steps = plain_steps(state.parameters, steps, offsets)
    weights, biases = state.parameters.weights, state.parameters.biases
    moved = [old - step for old, step in zip(weights, steps, strict=False)]
    for units, old, step in zip(topology.units, biases, steps[len(weights) :], strict=True):
        moved.append(units.stepped(old, step))
    return updates + list(zip(state.parameters, moved, strict=True))


SLIDING = 0.01
"""How much a minibatch moves the offsets towards its own means."""


def _shifts(parameters: Parameters, weights: Sequence[Array], offsets: Sequence[Array]) -> list[Array]:
    """Σ_j W_lj o_j of each layer l: how far its plain biases are below its centred ones."""
    shifts: list[Array] = [0.0] * len(offsets)
    for (low, high), matrix in zip(parameters.topology.connections, weights, strict=True):
        shifts[low] = shifts[low] + B.dot(matrix, offsets[high])
        shifts[high] = shifts[high] + B.dot(offsets[low], matrix)
    return shifts


def gradients(
    parameters: Parameters, states: Sequence[Array], counts: Array, offsets: Sequence[Array] | None = None
) -> list[Array]:
    """The gradients, with respect to weights and biases, of the free energy of states.

    Of the energy they are -x_i x_j and -x_i, where layers that are summed out have their means: one product of all
    states for each connection. Of the centred model they are -(x_i - o_i)(x_j - o_j) and -x_i: the constant between
    the two energies has no part in it.

    Parameters
    ----------
    parameters : Parameters
    states : sequence of Tensor
        As `with_means` gives them.
    counts : Tensor of shape (states,)
        What each of them counts: 0 in all.
    offsets : sequence of Tensor, one for each layer, or None
        Of the centred model; None for the plain one.
    """
    moved = states if offsets is None else [state - offset for state, offset in zip(states, offsets, strict=True)]
    found, down = [], -counts
    for low, high in parameters.topology.connections:
        found.append(B.dot(B.transpose(moved[low]), down[:, None] * moved[high]))
    return [*found, *(B.dot(down, state) for state in states)]


def centred(parameters: Parameters, gradients: Sequence[Array], offsets: Sequence[Array]) -> list[Array]:
    """The gradients with respect to weights and centred biases, from those of plain parameters, of any loss."""
    count = len(parameters.weights)
    of_weights, of_biases = list(gradients[:count]), gradients[count:]
    # With centred biases held, weights move the plain ones by -Σ_j W_lj o_j.
    for place, (low, high) in enumerate(parameters.topology.connections):
        of_weights[place] = (
            of_weights[place]
            - of_biases[low][:, None] * offsets[high][None, :]
            - offsets[low][:, None] * of_biases[high][None, :]
        )
    return [*of_weights, *of_biases]


def with_means(parameters: Parameters, states: Sequence[Array]) -> list[Array]:
    """States of all layers: those given, and the means of the layers that are summed out."""
    whole = list(states)
    for layer in parameters.topology.marginalised:
        whole[layer] = expectation(parameters, layer, states)
    return [B.stop_gradient(state) for state in whole]


def plain_steps(parameters: Parameters, steps: Sequence[Array], offsets: Sequence[Array]) -> list[Array]:
    """Steps of weights and plain biases that take the model where steps of weights and centred biases do."""
    count = len(parameters.weights)
    shifts = _shifts(parameters, steps[:count], offsets)
    return [*steps[:count], *(step - shift for step, shift in zip(steps[count:], shifts, strict=True))]


def sliding_means(states: Sequence[Array], sample_weights: Array, offsets: Sequence[Array]) -> list[Array]:
    """The offsets, moved towards the means of the data.

    Parameters
    ----------
    states : sequence with a Tensor for each layer
        Made-up ones and those of the data, as `with_means` gives them.
    sample_weights : Tensor
        What each state counts: above 0, if it is of the data, and 1 for all of these together.
    offsets : sequence of Variables, one for each layer
    """
    of_data = B.maximum(sample_weights, 0.0)
    means = [B.dot(of_data, state) for state in states]
    return [B.stop_gradient(old + SLIDING * (mean - old)) for old, mean in zip(offsets, means, strict=True)]


_TINY = 1e-12


class Balance:
    """Offsets between places, followed from step to step.

    Parameters
    ----------
    state : MachineState
        It stores, of each layer, the mean, and how much all rows count in its offsets.
    offsets : sequence of Variables, one for each layer
        What units are centred on.
    """

    def __init__(self, state: MachineState, offsets: Sequence[Array]) -> None:
        self.topology, self.offsets = state.topology, offsets
        one = array_namespace(state.like).ones((1,), dtype=state.like.dtype)
        self.means = [state.stored(f"{BALANCE}mean.{layer}", offset.value) for layer, offset in enumerate(offsets)]
        self.weights = [state.stored(f"{BALANCE}weight.{layer}", one) for layer in self.topology.layers]

    def followed(self, states: Sequence[Array], counts: Array) -> tuple[list[Array], Updates]:
        """The offsets after these states of data, and updates of all that is kept.

        Parameters
        ----------
        states : sequence with a Tensor for each layer
            Where a layer is summed out, its means.
        counts : Tensor of shape (states,)
            What each state counts; 1 in all, or less.
        """
        distances = [
            B.sum((state - offset) * (state - mean), axis=1)
            for state, offset, mean in zip(states, self.offsets, self.means, strict=True)
        ]
        offsets, moved = [], []
        kept = zip(states, self.offsets, self.means, self.weights, strict=True)
        for layer, (state, offset, mean, weight) in enumerate(kept):
            others = [low if high == layer else high for low, high in self.topology.connections if layer in (low, high)]
            part = counts * B.maximum(sum(distances[other] for other in others), 0.0)
            total = B.reshape(B.sum(part), (1,))
            added = weight + SLIDING * (total - weight)
            # Both sums, of q v and of q, slide alike; this is what their ratio becomes.
            step = SLIDING * (B.dot(part, state) - total * offset) / B.maximum(added, _TINY)
            offsets.append(offset + step)
            moved += [(mean, mean + SLIDING * (B.dot(counts, state) - mean)), (weight, added)]
        return offsets, [*moved, *zip(self.offsets, offsets, strict=True)]
