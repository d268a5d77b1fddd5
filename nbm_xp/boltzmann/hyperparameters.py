"""What the arguments of the constructors mean, and which of them are refused."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from nbm_xp.machines.rows import positive_int

from .optimising import ADAM, OPTIMIZERS
from .schedules import check_schedule

__all__ = ["WAYS", "Settings"]

WAYS = ("pcd", "cd", "ptt")
"""What `training` can be."""

_OPEN = ("momentum", "centred", "average", "watch")
"""What may be "auto", besides the schedule."""

_TEMPERED = 0.75  # momentum: the chains of tempered training follow steps that are four times as long


class Settings:
    """The hyperparameters of a model that is to learn, and what those mean that are left open. `RBM` explains them.

    Parameters
    ----------
    model : RBM or DBM
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def way(self) -> str:
        """How the model is trained."""
        return str(self.model.training)

    @property
    def centred(self) -> bool:
        """Whether learning follows the gradient of centred units."""
        return self.way == "ptt" if _is_auto(self.model.centred) else bool(self.model.centred)

    @property
    def average(self) -> bool:
        """Whether learning ends with the mean of the parameters along the last steps."""
        return self.way == "ptt" if _is_auto(self.model.average) else bool(self.model.average)

    @property
    def schedule(self) -> Any:
        """How the learning rate changes."""
        usual = "quadratic" if self.way == "ptt" else "constant"
        return usual if _is_auto(self.model.schedule) else self.model.schedule

    @property
    def adaptive(self) -> bool:
        """Whether steps are Adam's."""
        return bool(self.model.optimizer == "adam")

    @property
    def momentum(self) -> float:
        """How much of the last step is repeated."""
        usual = ADAM if self.adaptive else _TEMPERED if self.way == "ptt" else 0.0
        return usual if _is_auto(self.model.momentum) else float(self.model.momentum)

    def check(self) -> None:
        """Refuse, before any work, what learning could not go on with."""
        model = self.model
        for name, least in (("batch_size", 1), ("n_iter", 0), ("n_gibbs", 1)):
            positive_int(getattr(model, name), name, least)
        for name, low, high in (("learning_rate", 1e-300, math.inf), ("momentum", 0, 1), ("weight_decay", 0, math.inf)):
            value = getattr(model, name)
            if name in _OPEN and _is_auto(value):
                continue
            if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) < high:
                above, left_open = "above 0" if low else "at least 0", "'auto' or " if name in _OPEN else ""
                raise ValueError(f"{name} must be {left_open}a number, {above} and below {high}, got {value!r}")
        if model.training not in WAYS:
            raise ValueError(f"training must be one of {list(WAYS)}, got {model.training!r}")
        for name in ("centred", "shuffle", "average", "watch"):
            value = getattr(model, name)
            if name in _OPEN and _is_auto(value):
                continue
            if getattr(value, "shape", ()) or value not in (True, False):
                left_open = "'auto', " if name in _OPEN else ""
                raise ValueError(f"{name} must be {left_open}True or False, got {value!r}")
        if model.optimizer not in OPTIMIZERS:
            raise ValueError(f"optimizer must be one of {list(OPTIMIZERS)}, got {model.optimizer!r}")
        check_schedule(self.schedule)


def _is_auto(value: Any) -> bool:
    """Whether a hyperparameter is left open."""
    return isinstance(value, str) and value == "auto"
