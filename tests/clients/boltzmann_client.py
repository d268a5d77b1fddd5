"""Boltzmann machines as a client of natural_bm's backend writes them: symbols, scans, updates, compiled functions.

The programs are those of natural_bm_models.py, and their results are compared with results of natural_bm on Theano.
Nothing here is natural_bm's code. The arithmetic and the order of the seeds must agree with it: one seed for a machine,
one for each layer of persistent chains, and, within a step of a chain, one for each sampled layer.

Two properties of natural_bm affect its numbers and are reproduced here: a layer with neighbours below gets input only
from these, even if there are layers above; and validation advances persistent chains as training does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbm_xp import natural_bm as B
from nbm_xp.tape import Tensor, Variable
from tests.clients import natural_bm_models
from tests.clients.natural_bm_models import BATCH, MACHINES, OPTIMIZERS, STEPS, digits, listed, start_of_weights, waves

__all__ = ["chain", "training"]

States = list[Any]
Updates = dict[Variable, Tensor]


class Machine:
    """A layered machine; neighbouring layers are connected."""

    def __init__(self, name: str) -> None:
        B.make_rng()  # natural_bm's machines create one too, without drawing from it
        sizes, topology = MACHINES[name]
        self.sizes = sizes
        self.biases = [B.variable(start_of_weights((size,)), name=f"b{i}") for i, size in enumerate(sizes)]
        self.weights = {
            (low, high): B.variable(start_of_weights((sizes[low], sizes[high])), name=f"W{low}-{high}")
            for low, above in topology.items()
            for high in sorted(above)
        }
        self.parameters: list[Variable] = [*self.biases, *self.weights.values()]

    def drive(self, layer: int, states: States, upward: bool = False) -> Any:
        """Input of a layer's units, given the states of the neighbouring layers."""
        below = [low for low, high in self.weights if high == layer]
        above = [high for low, high in self.weights if low == layer]
        total = self.biases[layer]
        for low in sorted(below):
            total = total + B.dot(states[low], self.weights[low, layer])
        for high in sorted(above) if not below else ():
            total = total + B.dot(states[high], B.transpose(self.weights[layer, high]))
        return total * ((len(below) + len(above)) / len(below)) if upward and below and above else total

    def updated(self, states: Sequence[Any], parity: int, beta: Any, clamped: Sequence[int] = ()) -> States:
        """States with the even or odd layers replaced by their conditional probabilities."""
        moved = [i for i in range(parity, len(self.sizes), 2) if i not in clamped]
        fresh = {i: B.sigmoid(beta * self.drive(i, list(states))) for i in moved}
        return [fresh.get(i, state) for i, state in enumerate(states)]

    def drawn(self, states: Sequence[Any], parity: int, clamped: Sequence[int] = ()) -> States:
        """States with the even or odd layers sampled from their conditional probabilities."""
        moved = [i for i in range(parity, len(self.sizes), 2) if i not in clamped]
        return [B.random_binomial(p.shape, p) if i in moved else p for i, p in enumerate(states)]

    def upward(self, x: Any) -> States:
        """Probabilities of all layers, each given the layers below."""
        states: States = [x]
        for layer in range(1, len(self.sizes)):
            states.append(B.sigmoid(self.drive(layer, states, upward=True)))
        return states

    def free_energy(self, states: States) -> Any:
        """Free energy of visible states, with the other layers in mean field."""
        if len(self.sizes) > 2:
            states, updates = mean_field(self, states, 25, 1.0, [0])
            assert not updates
        z = B.concatenate([self.drive(i, states) for i in range(1, len(self.sizes), 2)], axis=1)
        energy = -B.sum(B.log(1 + B.exp(z)), axis=1)
        for layer in range(0, len(self.sizes), 2):  # the odd layers are summed out
            energy = energy - B.dot(states[layer], self.biases[layer])
        return energy


def looped(step: Callable[..., Any], states: States, steps: int) -> tuple[States, Updates]:
    """States after a number of steps of a chain, and the updates of a run."""
    every, updates = B.scan(step, outputs_info=states, n_steps=steps)
    return [layer[-1] for layer in every], dict(updates)


def mean_field(
    machine: Machine, states: States, steps: int, beta: float, clamped: Sequence[int]
) -> tuple[States, Updates]:
    """Mean-field iterations of the probabilities."""

    def step(*before: Tensor) -> Any:
        after = machine.updated(machine.updated(before, 1, beta, clamped), 0, beta, clamped)
        if len(before) == 2:
            return after
        settled = [B.allclose(old, new, 1e-5, 1e-6) for old, new in zip(before, after, strict=True)]
        return after, B.until(B.all(settled))

    return looped(step, states, 1 if len(states) == 2 else steps)


def gibbs(machine: Machine, states: States, steps: int, beta: float, clamped: Sequence[int]) -> tuple[States, Updates]:
    """Chains of Gibbs sampling."""
    return looped(lambda *before: swept(machine, before, beta, clamped), states, steps)


def swept(machine: Machine, states: Sequence[Any], beta: Any, clamped: Sequence[int] = ()) -> States:
    even = machine.drawn(states, 0, clamped)
    odd = machine.drawn(machine.updated(even, 1, beta, clamped), 1, clamped)
    return machine.drawn(machine.updated(odd, 0, beta, clamped), 0, clamped)


def gibbs_of_probabilities(
    machine: Machine, states: States, steps: int, beta: float, clamped: Sequence[int]
) -> tuple[States, Updates]:
    """Gibbs chains whose steps pass on the probabilities, from which the next step samples."""

    def step(*before: Tensor) -> States:
        odd = machine.updated(machine.drawn(before, 0, clamped), 1, beta, clamped)
        even = machine.updated(machine.drawn(odd, 1, clamped), 0, beta, clamped)
        return [(odd if layer % 2 else even)[layer] for layer in range(len(before))]

    return looped(step, states, steps)


SAMPLERS = {"Meanfield": mean_field, "Gibbs": gibbs, "GibbsProb": gibbs_of_probabilities}


def chain(name: str, sampler: str, clamped: list[int]) -> dict[str, Any]:
    """The states of a machine after two runs of a sampler from the same initial states."""
    np.random.seed(31)  # noqa: NPY002 - natural_bm draws its seeds there
    machine = Machine(name)
    layers = [B.placeholder(shape=(None, size)) for size in machine.sizes]
    after, updates = SAMPLERS[sampler](machine, layers, STEPS, natural_bm_models.BETA, clamped)
    run = B.function(layers, after, updates=updates)
    start = [(waves(natural_bm_models.CHAINS, size) + 1) / 2 for size in machine.sizes]
    return {"first": list(map(listed, run(*start))), "second": list(map(listed, run(*start)))}


def contrastive(machine: Machine, x: Tensor, persistent: list[Variable]) -> tuple[Any, Updates]:
    """Contrastive divergence from the data or from persistent chains, with a small weight decay."""
    data, updates = mean_field(machine, machine.upward(x), 6, 1.0, [0])
    model, drawn = gibbs_of_probabilities(machine, list(persistent or data), 3, 1.0, [])
    updates |= {**drawn, **dict(zip(persistent, model, strict=bool(persistent)))}
    data = [data[0], *B.stop_gradient(data[1:])]
    loss = B.mean(machine.free_energy(data)) - B.mean(machine.free_energy(B.stop_gradient(model)))
    for weight in machine.weights.values():
        loss = loss + B.sum(0.002 * B.square(weight))
    return loss, updates


def training(name: str, trainer: str, optimizer: str) -> dict[str, Any]:
    """The costs of some epochs of plain gradient descent, and the weights afterwards."""
    np.random.seed(53)  # noqa: NPY002
    machine = Machine(name)
    persistent = []
    for size in machine.sizes if trainer == "PCD" else ():
        persistent.append(B.variable(B.eval(B.random_binomial((BATCH, size), p=0.5))))
    x = B.placeholder(shape=(None, machine.sizes[0]))
    loss, kept = contrastive(machine, x, persistent)
    _, options = OPTIMIZERS[optimizer]

    def compiled(rows: Variable, learns: bool) -> Any:
        index = B.placeholder(shape=(BATCH,), dtype="int32")
        slopes = B.gradients(loss, machine.parameters) if learns else ()
        learned = {p: p - options["lr"] * slope for p, slope in zip(machine.parameters, slopes, strict=learns)}
        return B.function([index], loss, updates={**kept, **learned}, givens={x: rows[index]})

    train = compiled(B.variable(digits(4 * BATCH)), True)
    validate = compiled(B.variable(digits(6 * BATCH)[4 * BATCH :]), False)
    order, costs, held_back = np.arange(4 * BATCH), [], []
    for _ in range(natural_bm_models.EPOCHS):
        np.random.shuffle(order)  # noqa: NPY002
        costs.append(np.mean([float(train(batch)) for batch in order.reshape(4, BATCH)]))
        held_back.append(np.mean([float(validate(batch)) for batch in np.arange(2 * BATCH).reshape(2, BATCH)]))
    batch, all_of_it = B.variable(digits(BATCH)), np.arange(BATCH)
    return {
        "costs": listed(costs),
        "held back": listed(held_back),
        "one batch": [float(compiled(batch, learns)(all_of_it)) for learns in (False, True)],
        "weights": [listed(weight.get_value()) for weight in machine.parameters],
        "chains": [listed(layer.get_value()) for layer in persistent],
    }
