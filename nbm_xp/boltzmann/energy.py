"""The binary restricted Boltzmann machine as formulas, recorded on Tensors.

A state of the visible units `v` and the hidden units `h`, each 0 or 1, has the energy

    E(v, h) = - v·b - h·c - v·W h

with weights W of shape (visible, hidden), visible biases b and hidden biases c, and the probability exp(-E) / Z. Units
of one layer are independent given the other layer, so either layer is summed out in closed form: that gives the
conditional probabilities and the free energy F(v) = - log Σ_h exp(-E(v, h)) below.

References
----------
G. E. Hinton, "A practical guide to training restricted Boltzmann machines", UTML TR 2010-003.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from nbm_xp import natural_bm as B

__all__ = [
    "Parameters",
    "draw",
    "free_energy",
    "gibbs_step",
    "hidden_input",
    "hidden_probability",
    "shape_of",
    "softplus",
    "visible_probability",
]


class Parameters(NamedTuple):
    """The weights, of shape (visible, hidden), and the biases of both layers: Variables, or Tensors made of them."""

    weights: Any
    hidden: Any
    visible: Any


def shape_of(variable: Any) -> tuple[int, ...]:
    """The lengths of a Variable, which has no unknown ones."""
    return cast("tuple[int, ...]", B.get_variable_shape(variable))


def softplus(x: Any) -> Any:
    """``log(1 + exp(x))``, which the tape records in its stable form."""
    return B.log(1 + B.exp(x))


def hidden_input(parameters: Parameters, visible: Any) -> Any:
    """What the hidden units receive: the log-odds of each being 1, given the visible units."""
    return B.dot(visible, parameters.weights) + parameters.hidden


def hidden_probability(parameters: Parameters, visible: Any) -> Any:
    """The probability that each hidden unit is 1, given the visible units."""
    return B.sigmoid(hidden_input(parameters, visible))


def visible_probability(parameters: Parameters, hidden: Any) -> Any:
    """The probability that each visible unit is 1, given the hidden units."""
    return B.sigmoid(B.dot(hidden, B.transpose(parameters.weights)) + parameters.visible)


def free_energy(parameters: Parameters, visible: Any) -> Any:
    """F(v) of each row: the less, the more probable, exp(-F(v)) / Z being the probability."""
    return -B.dot(visible, parameters.visible) - B.sum(softplus(hidden_input(parameters, visible)), axis=1)


def draw(probability: Any, shape: tuple[int, int], rng: Any) -> Any:
    """Units of 0 and 1, each 1 with its probability.

    `shape` is that of the probabilities, in numbers: how many streams a draw uses depends on it.
    """
    return B.random_binomial(shape, p=probability, dtype=B.dtype(probability), rng=rng)


def gibbs_step(parameters: Parameters, visible: Any, rows: int, rng: Any) -> tuple[Any, Any]:
    """One sweep of Gibbs sampling: the hidden units given the visible ones, then the visible ones given those.

    Parameters
    ----------
    parameters : Parameters
    visible : Tensor of shape (rows, visible units)
    rows : int
        The number of chains.
    rng : RandomStreams

    Returns
    -------
    visible : Tensor
        The new states, 0 and 1.
    probability : Tensor
        What they were drawn with.
    """
    n_visible, n_hidden = shape_of(parameters.weights)
    hidden = draw(hidden_probability(parameters, visible), (rows, n_hidden), rng)
    probability = visible_probability(parameters, hidden)
    return draw(probability, (rows, n_visible), rng), probability
