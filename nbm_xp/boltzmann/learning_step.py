"""The compiled training step: gradients from products of states, plain or centred, and the resulting updates.

The gradient of the mean log-likelihood is the gradient of the free energy averaged over states of the model (see
`negative_phase`), minus its average over the data. It is one product of states for each connection; further terms of
the loss are differentiated by the tape. If the free energy of the data depends on further hidden layers, as in a deep
machine, these layers are the means of the mean-field posterior given the data (which maximises a lower bound on the
log-likelihood), or are drawn from the posterior.

Centred Boltzmann machines are the same models with other parameters. In terms of units less their means o_l, the
offsets, a machine has the energy

    E(x) = - Σ_l (x_l - o_l)·c_l - Σ_ij (x_i - o_i)·W_ij (x_j - o_j)

which is the energy of the plain machine with biases b_l = c_l - Σ_j W_lj o_j, minus a constant. So offsets may change
at any time without changing the distribution. The gradient with respect to W and c does not depend on whether units are
coded as 0 and 1 or as 1 and 0, and steps of weights and biases interfere less.

A step that improves the fit to the rows of a rare mode usually changes the probability of the whole mode by far more.
With the means as offsets, products of centred units, (v - a)(h - b), are about 0 for most rows and large in a rare
mode. The offsets of `Balance` minimise the variance of the products, by a regression of vh on v and h:

    a = E[q v] / E[q],   q = Σ_j (h_j - b_j)(h_j - E[h_j])

and likewise for b. They are means of the data, weighted by the distance of the rows' other layers from their means.

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


@dataclass(frozen=True)
class Learner:
    """The components of a training step.

    Attributes
    ----------
    negative_phase : NegativePhase
        Negative phase, with the machine's state and the training method.
    optimizer : SGD
    offsets : tuple of Variables, or None
        The offsets of each layer for the centred gradient; None for the plain gradient.
    balance : Balance, or None
        Update rule of the offsets; None for sliding means.
    likelihood : float
        Weight of the mean log-likelihood in the objective.
    also : callable, or None
        Function from parameters, rows of visible units and weights of the rows, whose sum is 1, to a further loss to
        minimise.
    """

    negative_phase: NegativePhase
    optimizer: SGD
    offsets: tuple[Array, ...] | None = None
    balance: Balance | None = None
    likelihood: float = 1.0
    also: Callable[[Parameters, Array, Array], Array] | None = None

    @property
    def state(self) -> MachineState:
        """The state of the machine, which a step changes."""
        return self.negative_phase.state

    def scaled(self, counts: Array) -> Array:
        """Return a loss, or weights of states in it, times the learning rate if the optimizer is `in_proportion`."""
        return self.state.rate * counts if self.optimizer.in_proportion else counts

    def moments(self, states: Sequence[Array], counts: Array) -> list[Array]:
        """Return the sums over rows, with these weights, that the offsets follow."""
        if self.balance is not None:
            return self.balance.moments(states, counts)
        return [] if self.offsets is None else [B.dot(counts, state) for state in states]


def record_sums(learner: Learner, rows: int | None) -> tuple[list[Array], list[Array], Updates]:
    """Record the gradients of a minibatch or of a block of it.

    The number of rows must be given if states are drawn for each row, by the negative phase or in hidden layers;
    otherwise the formulas are for any number of rows. The weights of all states of the negative phase have the sum -1,
    those of all rows the sum 1. Both are one matrix in the formulas, so each product is computed once for both.

    Returns
    -------
    inputs : list of placeholders
        The rows, and the weights of the states: those of the negative phase, then those of the rows.
    sums : list of Tensors
        Gradients with respect to weights and biases; then, of centred gradients, `moments` of the rows. Sums over
        blocks are those of all states.
    updates : list
        Updates of the chains and of the random streams.
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
    counts = B.reshape(sample_weights, (states[0].shape[0],))  # one for each state: gives the tape a known length
    first = drawn[0].shape[0]  # index of the first row of data
    whole = with_means(parameters, states)
    sums = learner.moments([state[first:, :] for state in whole], counts[first:])
    scaled = learner.scaled(counts)
    slopes = gradients(parameters, whole, scaled if learner.likelihood == 1.0 else learner.likelihood * scaled)
    if learner.also is not None:
        loss = learner.scaled(learner.also(parameters, data, counts[first:]))
        slopes = [one + other for one, other in zip(slopes, B.gradients(loss, list(parameters)), strict=True)]
    return [given, sample_weights], [*slopes, *sums], updates


def record_update(learner: Learner, sums: Sequence[Array]) -> Updates:
    """Return the updates of offsets and parameters by a step with these sums over a minibatch: see `record_sums`."""
    parameters, offsets = learner.state.parameters, None
    updates: Updates = []
    count = len(list(parameters))
    slopes, moments = list(sums[:count]), sums[count:]
    if learner.balance is not None:
        offsets, updates = learner.balance.followed(moments)
    elif learner.offsets is not None:
        pairs = zip(learner.offsets, moments, strict=True)
        offsets = [B.stop_gradient(old + SLIDING * (mean - old)) for old, mean in pairs]
        updates = list(zip(learner.offsets, offsets, strict=True))
    if offsets is not None:
        slopes = centred(parameters, slopes, offsets)
    return updates + _descent(learner, slopes, offsets)


def compile_step(learner: Learner, rows: int | None) -> Function:
    """Compile one step on a minibatch, a function of the inputs of `record_sums` that changes the Variables."""
    inputs, sums, updates = record_sums(learner, rows)
    updates = updates + record_update(learner, sums)
    return B.function(inputs, [], updates=updates, name=learner.negative_phase.method.name)


def compile_sums(learner: Learner, rows: int) -> Function:
    """Compile the sums over a block of a minibatch, a function that changes the chains of the block only."""
    inputs, sums, updates = record_sums(learner, rows)
    return B.function(inputs, sums, updates=updates, name=f"{learner.negative_phase.method.name} block")


def compile_update(learner: Learner, sums: Sequence[Array]) -> Function:
    """Compile the update of parameters by a step, a function of sums over a minibatch, here those of a first one."""
    parts = [B.placeholder(shape=tuple(part.shape), dtype=learner.state.parameters.dtype) for part in sums]
    return B.function(parts, [], updates=record_update(learner, parts), name="update")


def _observed(learner: Learner, data: Array, rows: int | None) -> tuple[State, Updates]:
    """Return the state of the data in the layers that are not summed out, and updates of random streams."""
    state, method = learner.state, learner.negative_phase.method
    if len(state.topology.retained) == 1:
        return [data, *([None] * (len(state.topology.sizes) - 1))], []
    rng = None if method.hidden_means else state.rng
    return posterior(state.parameters, data, method.n_positive, rows=rows, rng=rng)


def _descent(learner: Learner, slopes: Sequence[Array], offsets: Sequence[Array] | None = None) -> Updates:
    """Return updates of the parameters by a step of gradient descent.

    With `offsets`, gradients are those of the centred model, and steps are converted to plain parameters.
    """
    state, topology, momentum = learner.state, learner.state.topology, learner.negative_phase.method.momentum
    optimizer, count = learner.optimizer, len(state.parameters.weights)
    steps, updates = optimizer.steps(state, state.rate, slopes, momentum)

    def moved(own: Sequence[Array]) -> list[Array]:
        own = gauged(topology, own)
        if offsets is not None:
            own = plain_steps(state.parameters, own, offsets)
        found = [old - step for old, step in zip(state.parameters.weights, own[:count], strict=True)]
        biases = zip(topology.units, state.parameters.biases, own[count:], strict=True)
        return [*found, *(units.stepped(old, step) for units, old, step in biases)]

    pace, followed = learner.negative_phase.paced(lambda pace: moved([pace * step for step in steps]))
    if not isinstance(pace, float):
        steps = [pace * step for step in steps]
    steps = optimizer.shrunk(state, pace * state.rate, steps, momentum)
    return [*updates, *followed, *zip(state.parameters, moved(steps), strict=True)]


SLIDING = 0.01  # weight of a minibatch in the sliding means


def gradients(parameters: Parameters, states: Sequence[Array], counts: Array) -> list[Array]:
    """Return the gradients, with respect to weights and biases, of the weighted sum of free energies of states.

    They are -x_i x_j and -x_i, with means for layers that are summed out: one product of all states for each
    connection.

    Parameters
    ----------
    parameters : Parameters
    states : sequence of Tensor
        Result of `with_means`.
    counts : Tensor of shape (states,)
        Weights of the states.
    """
    found, down = [], -counts
    for low, high in parameters.topology.connections:
        found.append(B.dot(B.transpose(states[low]), down[:, None] * states[high]))
    return [*found, *(B.dot(down, state) for state in states)]


def centred(parameters: Parameters, gradients: Sequence[Array], offsets: Sequence[Array]) -> list[Array]:
    """Return the gradients of any loss with respect to weights and centred biases, from those of plain parameters.

    Of free energies, with weights of states that sum to 0, they are the products -(x_i - o_i)(x_j - o_j) and -x_i.
    """
    count = len(parameters.weights)
    of_weights, of_biases = list(gradients[:count]), gradients[count:]
    # With constant centred biases, the plain biases depend on the weights by -Σ_j W_lj o_j.
    for place, (low, high) in enumerate(parameters.topology.connections):
        left = B.stack([of_biases[low], offsets[low]], axis=1)
        right = B.stack([offsets[high], of_biases[high]], axis=0)
        of_weights[place] = of_weights[place] - B.dot(left, right)
    return [*of_weights, *of_biases]


def with_means(parameters: Parameters, states: Sequence[Array]) -> list[Array]:
    """Return states of all layers: the given ones, and the means of the layers that are summed out."""
    whole = list(states)
    for layer in parameters.topology.marginalised:
        whole[layer] = expectation(parameters, layer, states)
    return [B.stop_gradient(state) for state in whole]


def plain_steps(parameters: Parameters, steps: Sequence[Array], offsets: Sequence[Array]) -> list[Array]:
    """Return the steps of weights and plain biases that equal given steps of weights and centred biases."""
    count = len(parameters.weights)
    shifts: list[Array] = [0.0] * len(offsets)  # Σ_j W_lj o_j of each layer l: centred minus plain biases
    for (low, high), step in zip(parameters.topology.connections, steps[:count], strict=True):
        shifts[low] = shifts[low] + B.dot(step, offsets[high])
        shifts[high] = shifts[high] + B.dot(offsets[low], step)
    return [*steps[:count], *(step - shift for step, shift in zip(steps[count:], shifts, strict=True))]


_TINY = 1e-12


class Balance:
    """Offsets of minimal variance (see the module's description), updated from step to step.

    Parameters
    ----------
    state : MachineState
        Stores the sliding mean of each layer, and the sliding sum of weights of its offsets.
    offsets : sequence of Variables, one for each layer
        Offsets of the units.
    """

    def __init__(self, state: MachineState, offsets: Sequence[Array]) -> None:
        self.topology, self.offsets = state.topology, offsets
        one = array_namespace(state.like).ones((1,), dtype=state.like.dtype)
        self.means = [state.stored(f"{BALANCE}mean.{layer}", offset.value) for layer, offset in enumerate(offsets)]
        self.weights = [state.stored(f"{BALANCE}weight.{layer}", one) for layer in self.topology.layers]

    def moments(self, states: Sequence[Array], counts: Array) -> list[Array]:
        """Return three sums over rows for each layer: of q, q x and x, see the module's description.

        Parameters
        ----------
        states : sequence with a Tensor for each layer
            States x, or means of layers that are summed out.
        counts : Tensor of shape (states,)
            Weights of the states, with sum 1 or less.
        """
        distances = [
            B.sum((state - offset) * (state - mean), axis=1)
            for state, offset, mean in zip(states, self.offsets, self.means, strict=True)
        ]
        found = []
        for layer, state in enumerate(states):
            distance = sum(distances[other] for other in self.topology.neighbours(layer))
            part = counts * B.maximum(distance, 0.0)
            found += [B.reshape(B.sum(part), (1,)), B.dot(part, state), B.dot(counts, state)]
        return found

    def followed(self, moments: Sequence[Array]) -> tuple[list[Array], Updates]:
        """Return the offsets after rows with these `moments`, and updates of all Variables."""
        offsets, moved = [], []
        kept = zip(self.offsets, self.means, self.weights, strict=True)
        for layer, (offset, mean, weight) in enumerate(kept):
            total, product, average = moments[3 * layer : 3 * layer + 3]
            added = weight + SLIDING * (total - weight)
            # The sums of q v and of q are both sliding means; this is the step of their ratio.
            step = SLIDING * (product - total * offset) / B.maximum(added, _TINY)
            offsets.append(offset + step)
            moved += [(mean, mean + SLIDING * (average - mean)), (weight, added)]
        return offsets, [*moved, *zip(self.offsets, offsets, strict=True)]
