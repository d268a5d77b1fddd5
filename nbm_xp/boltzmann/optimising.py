"""From gradients to steps: plain ones with momentum, and Adam's.

References
----------
D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", ICLR 2015.
I. Loshchilov and F. Hutter, "Decoupled weight decay regularization", ICLR 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp import natural_bm as B

from .energy import Parameters

__all__ = ["ADAM", "OPTIMIZERS", "Optimizer"]

OPTIMIZERS = ("sgd", "adam")
"""What `optimizer` can be."""

ADAM = 0.9
"""How slowly Adam forgets gradients, unless one says otherwise."""

_SECOND, _TINY = 0.999, 1e-8


@dataclass(frozen=True)
class Optimizer:
    """How far a step goes, and where.

    Attributes
    ----------
    rate : Variable
        The learning rate, set from outside.
    momentum : float
        How much of the last step comes again; of Adam, how slowly its mean gradient forgets.
    weight_decay : float
    velocities : Parameters of Variables, or None
        The decaying sums of past steps; of Adam, the means of gradients. None for plain steps.
    squares : Parameters of Variables, or None
        Of Adam, the means of the squares of gradients.
    count : Variable of shape (1,), or None
        Of Adam, how many steps there were.
    """

    rate: Any
    momentum: float = 0.0
    weight_decay: float = 0.0
    velocities: Parameters | None = None
    squares: Parameters | None = None
    count: Any = None

    def shared(self, counts: Any) -> Any:
        """What each state counts in the loss: the rate is in it, where steps are in proportion to gradients.

        A product with the gradients would be one of all parameters.
        """
        return self.rate * counts if self.squares is None else counts

    def steps(self, gradients: Sequence[Any], weights: Sequence[Any]) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """How far each parameter is to go down, and updates of what is kept.

        Parameters
        ----------
        gradients : sequence of Tensor
            Of the loss that `shared` scales; those of the weights first.
        weights : sequence of Tensor
            What `weight_decay` pulls towards 0.
        """
        if self.squares is None or self.velocities is None:
            return self._plain(self._pulled(gradients, weights))
        steps, updates = self._adaptive(gradients, self.velocities, self.squares)
        return self._pulled(steps, weights), updates

    def _pulled(self, steps: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        if not self.weight_decay:
            return list(steps)
        pull = self.rate * self.weight_decay
        pulls = [pull * values for values in weights]
        return [*(step + towards for step, towards in zip(steps, pulls, strict=False)), *steps[len(pulls) :]]

    def _plain(self, steps: list[Any]) -> tuple[list[Any], list[tuple[Any, Any]]]:
        if self.velocities is None:
            return steps, []
        steps = [self.momentum * old + step for old, step in zip(self.velocities, steps, strict=True)]
        return steps, list(zip(self.velocities, steps, strict=True))

    def _adaptive(
        self, gradients: Sequence[Any], velocities: Parameters, squares: Parameters
    ) -> tuple[list[Any], list[tuple[Any, Any]]]:
        first, done = self.momentum, self.count + 1
        means = [first * old + (1 - first) * new for old, new in zip(velocities, gradients, strict=True)]
        spreads = [_SECOND * old + (1 - _SECOND) * B.square(new) for old, new in zip(squares, gradients, strict=True)]
        # Both means began at 0: in proportion to what they have seen, they are too small.
        seen, seen_squares = 1 - (B.exp(math.log(first) * done) if first else 0.0), 1 - B.exp(math.log(_SECOND) * done)
        scale = self.rate * B.sqrt(seen_squares) / seen
        steps = [scale * mean / (B.sqrt(spread) + _TINY) for mean, spread in zip(means, spreads, strict=True)]
        kept = [*zip(velocities, means, strict=True), *zip(squares, spreads, strict=True), (self.count, done)]
        return steps, kept
