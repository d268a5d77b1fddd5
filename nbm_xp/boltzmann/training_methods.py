"""Ways to train a machine, as values of the hyperparameter `training`: `PCD`, `CD` and `PTT`, by name or as objects.

A method says where the machine's own states come from (its negative phase), what the gradient is centred on, whether
training ends with a mean of parameters, and how the hidden layers of the data are found.
"""

from __future__ import annotations

from typing import ClassVar

from sklearn.base import BaseEstimator

from nbm_xp.machines.rows import positive_int

from .negative_phase import ContrastiveDivergence, NegativePhase, PersistentChains
from .optimizers import check_flag
from .state import MachineState
from .trajectory_tempering import TemperedChains

__all__ = ["CD", "METHODS", "PCD", "PTT", "TrainingMethod", "training_method"]


class TrainingMethod(BaseEstimator):  # type: ignore[misc]
    """A way to train a machine.

    Parameters
    ----------
    centred : bool, optional
        Whether learning follows the gradient with respect to parameters of the centred units, those less their sliding
        means: the model is the same, but learns from data and from data turned over equally well. By default deep
        machines do, and machines that are trained by `PTT`, whose offsets are others than the means.
    average : bool, optional
        Whether `fit` ends with the mean of the parameters along the last quarter of its steps, later ones counting
        more. Where the learning rate does not fall, what single minibatches and chains leave in the parameters costs
        nats. By default `PTT` does.
    positive : {"mean_field", "gibbs"}, optional
        How hidden layers of a deep machine are found for the data: as means in mean-field approximation, or drawn along
        short chains.
    n_positive : int, optional
        Sweeps of that.

    Attributes
    ----------
    name : str
    schedule : str
        How the learning rate changes by default.
    momentum : float
        That of `SGD` by default.

    Examples
    --------
    >>> from nbm_xp.boltzmann import PTT, RBM
    >>> RBM(16, training=PTT(average=False)).get_params()["training__average"]
    False
    """

    name: ClassVar[str]
    phase: ClassVar[type[NegativePhase]]
    schedule: ClassVar[str] = "constant"
    momentum: ClassVar[float] = 0.0
    is_centred: ClassVar[bool] = False
    is_averaged: ClassVar[bool] = False

    def __init__(
        self,
        *,
        centred: bool | None = None,
        average: bool | None = None,
        positive: str = "mean_field",
        n_positive: int = 10,
    ) -> None:
        self.centred = centred
        self.average = average
        self.positive = positive
        self.n_positive = n_positive

    @property
    def hidden_means(self) -> bool:
        """Whether hidden layers of the data that are not summed out are means."""
        return self.positive == "mean_field"

    def negative_phase(self, state: MachineState, n_gibbs: int) -> NegativePhase:
        """Where the machine's own states come from."""
        return self.phase(state, self, n_gibbs)

    def check(self) -> None:
        """Raise `ValueError` for parameters that training could not go on with."""
        for name in ("centred", "average"):
            check_flag(getattr(self, name), name, None)
        positive_int(self.n_positive, "n_positive")
        if self.positive not in ("mean_field", "gibbs"):
            raise ValueError(f"positive must be 'mean_field' or 'gibbs', got {self.positive!r}")


class PCD(TrainingMethod):
    """Persistent contrastive divergence: chains that go on from step to step (Tieleman 2008).

    See `TrainingMethod` for the parameters.

    References
    ----------
    T. Tieleman, "Training restricted Boltzmann machines using approximations to the likelihood gradient", ICML 2008.
    """

    name = "pcd"
    phase = PersistentChains


class CD(TrainingMethod):
    """Contrastive divergence: chains that start at the minibatch in each step (Hinton 2002).

    See `TrainingMethod` for the parameters.

    References
    ----------
    G. E. Hinton, "Training products of experts by minimizing contrastive divergence", Neural Computation 14 (2002).
    """

    name = "cd"
    phase = ContrastiveDivergence


class PTT(TrainingMethod):
    """Parallel trajectory tempering: chains on a ladder of the machines met along the way (Béreux et al. 2025).

    At least a hundred chains for each machine. They find their way between states far apart, and estimate log Z.

    See `TrainingMethod` for the parameters.

    References
    ----------
    N. Béreux, A. Decelle, C. Furtlehner, L. Rosset and B. Seoane, "Fast training and sampling of restricted Boltzmann
    machines", ICLR 2025.
    """

    name = "ptt"
    phase = TemperedChains
    schedule = "quadratic"
    momentum = 0.75  # the chains follow steps that are four times as long
    is_centred = is_averaged = True


METHODS: dict[str, type[TrainingMethod]] = {method.name: method for method in (PCD, CD, PTT)}
"""The methods by the names that `training` may give."""


def training_method(training: str | TrainingMethod) -> TrainingMethod:
    """The method that `training` names, or is.

    Raises
    ------
    ValueError
        If it is something else.
    """
    if isinstance(training, TrainingMethod):
        return training
    if isinstance(training, str) and training in METHODS:
        return METHODS[training]()
    raise ValueError(f"training must be one of {list(METHODS)} or a PCD, CD or PTT object, got {training!r}")
