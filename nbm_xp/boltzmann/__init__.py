"""Boltzmann machines of layers: training, sampling and evaluation on arrays of any library."""

from __future__ import annotations

from sklearn.exceptions import NotFittedError

from nbm_xp.machines.diagnostics import MixingWarning, TrainingWarning
from nbm_xp.package import public_names

from . import sequences
from .annealing import AISEstimate
from .bridging import LadderEstimate, LadderWarning
from .classifier import RBMClassifier
from .dbm import DBM
from .diagnostics import Diagnostics
from .estimator import load
from .negative_phase import TrainingMethod
from .optimizers import SGD, Adam
from .quality import AdversarialAccuracy, Thermodynamics
from .rbm import RBM
from .topology import Topology
from .training_methods import CD, PCD, PTT
from .wrappers import Imputer, OutlierDetector

__all__ = [
    "CD", "DBM", "PCD", "PTT", "RBM", "SGD", "AISEstimate", "Adam", "AdversarialAccuracy", "Diagnostics", "Imputer",
    "LadderEstimate", "LadderWarning", "MixingWarning", "NotFittedError", "OutlierDetector", "RBMClassifier",
    "Thermodynamics", "Topology", "TrainingMethod", "TrainingWarning", "load", "sequences",
]  # fmt: skip

public_names(globals())
