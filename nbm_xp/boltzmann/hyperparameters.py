"""What the arguments of the constructors mean, and which of them are refused."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from .optimising import ADAM, OPTIMIZERS
from .rows import positive_int
from .schedules import check_schedule
from .transformer import Transformer

__all__ = ["WAYS", "Hyperparameters"]

WAYS = ("persistent", "contrastive", "tempered")
"""What `training` can be."""

_TEMPERED = 0.75  # momentum: the chains of tempered training follow steps that are four times as long


class Hyperparameters(Transformer):
    """A Boltzmann machine and how it is to learn; `Learning` learns so. `RBM` explains them."""

    learning_rate: float
    batch_size: int
    n_iter: int
    verbose: int
    random_state: Any
    training: str
    persistent: bool | None
    n_gibbs: int
    centred: bool | str
    momentum: float | str
    weight_decay: float
    schedule: Any
    shuffle: bool
    watch: bool | str
    optimizer: str

    @property
    def _way(self) -> str:
        """How the model is trained: `training`, or what its older name says."""
        return self.training if self.persistent is None else WAYS[not self.persistent]

    @property
    def _centred(self) -> bool:
        """Whether learning follows the gradient of centred units."""
        return self._way == "tempered" if _is_auto(self.centred) else bool(self.centred)

    @property
    def _schedule(self) -> Any:
        """How the learning rate changes."""
        usual = "quadratic" if self._way == "tempered" else "constant"
        return usual if _is_auto(self.schedule) else self.schedule

    @property
    def _momentum(self) -> float:
        """How much of the last step is repeated."""
        usual = ADAM if self.optimizer == "adam" else _TEMPERED if self._way == "tempered" else 0.0
        return usual if _is_auto(self.momentum) else float(self.momentum)

    def _check_hyperparameters(self) -> None:
        """Refuse, before any work, what learning could not go on with."""
        for name, least in (("batch_size", 1), ("n_iter", 0), ("n_gibbs", 1)):
            positive_int(getattr(self, name), name, least)
        for name, low, high in (("learning_rate", 1e-300, math.inf), ("momentum", 0, 1), ("weight_decay", 0, math.inf)):
            value = getattr(self, name)
            if name == "momentum" and _is_auto(value):
                continue
            if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) < high:
                above = "above 0" if low else "at least 0"
                raise ValueError(f"{name} must be a number, {above} and below {high}, got {value!r}")
        if self.training not in WAYS:
            raise ValueError(f"training must be one of {list(WAYS)}, got {self.training!r}")
        for name in ("persistent", "centred", "shuffle"):
            value = getattr(self, name)
            if (name == "persistent" and value is None) or (name == "centred" and _is_auto(value)):
                continue
            if getattr(value, "shape", ()) or value not in (True, False):
                raise ValueError(f"{name} must be True or False, got {value!r}")
        if getattr(self.watch, "shape", ()) or self.watch not in ("auto", True, False):
            raise ValueError(f"watch must be 'auto', True or False, got {self.watch!r}")
        if not isinstance(self.clip, bool) and self.clip != "new":
            raise ValueError(f"clip must be True, False or 'new', got {self.clip!r}")
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"optimizer must be one of {list(OPTIMIZERS)}, got {self.optimizer!r}")
        check_schedule(self._schedule)


def _is_auto(value: Any) -> bool:
    """Whether a hyperparameter is left to what suits the way of training."""
    return isinstance(value, str) and value == "auto"
