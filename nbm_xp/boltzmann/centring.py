"""The gradient of the free energy by products of states, plain and centred.

Centred Boltzmann machines are the same models with other parameters. In terms of units less their means o_l, the
offsets, a machine has the energy

    E(x) = - Σ_l (x_l - o_l)·c_l - Σ_ij (x_i - o_i)·W_ij (x_j - o_j)

which is that of the plain one with biases b_l = c_l - Σ_j W_lj o_j, less a constant. So offsets may move at any time
without changing the distribution. The gradient with respect to W and c does not depend on whether units are coded as 0
and 1 or as 1 and 0, and its steps for weights and biases interfere less.

References
----------
G. Montavon and K.-R. Müller, "Deep Boltzmann machines and the centering trick", in Neural Networks: Tricks of the
Trade, 2012.
J. Melchior, A. Fischer and L. Wiskott, "How to center deep Boltzmann machines", JMLR 17 (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbm_xp import natural_bm as B

from .energy import Parameters, expectation

__all__ = ["centred", "gradients", "plain_steps", "sliding_means", "with_means"]

SLIDING = 0.01
"""How much a minibatch moves the offsets towards its own means."""


def _shifts(parameters: Parameters, weights: Sequence[Any], offsets: Sequence[Any]) -> list[Any]:
    """Σ_j W_lj o_j of each layer l: how far its plain biases are below its centred ones."""
    shifts: list[Any] = [0.0] * len(offsets)
    for (low, high), matrix in zip(parameters.topology.connections, weights, strict=True):
        shifts[low] = shifts[low] + B.dot(matrix, offsets[high])
        shifts[high] = shifts[high] + B.dot(offsets[low], matrix)
    return shifts


def gradients(
    parameters: Parameters, states: Sequence[Any], counts: Any, offsets: Sequence[Any] | None = None
) -> list[Any]:
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


def centred(parameters: Parameters, gradients: Sequence[Any], offsets: Sequence[Any]) -> list[Any]:
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


def with_means(parameters: Parameters, states: Sequence[Any]) -> list[Any]:
    """States of all layers: those given, and the means of the layers that are summed out."""
    whole = list(states)
    for layer in parameters.topology.marginalised:
        whole[layer] = expectation(parameters, layer, states)
    return [B.stop_gradient(state) for state in whole]


def plain_steps(parameters: Parameters, steps: Sequence[Any], offsets: Sequence[Any]) -> list[Any]:
    """Steps of weights and plain biases that take the model where steps of weights and centred biases do."""
    count = len(parameters.weights)
    shifts = _shifts(parameters, steps[:count], offsets)
    return [*steps[:count], *(step - shift for step, shift in zip(steps[count:], shifts, strict=True))]


def sliding_means(states: Sequence[Any], sample_weights: Any, offsets: Sequence[Any]) -> list[Any]:
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
