"""Boltzmann machines: learnt, sampled and weighed, on the natural_bm surface and on arrays of any library."""

from __future__ import annotations

from nbm_xp.machines.diagnostics import MixingWarning
from nbm_xp.machines.estimator import NotFittedError
from nbm_xp.namespace.faces import face

from . import sequences
from .bridging import LadderEstimate, LadderWarning
from .classifier import RBMClassifier
from .dbm import DBM
from .loading import load
from .looks import Look, TrainingWarning
from .partition import AISEstimate
from .rbm import RBM
from .topology import Topology

__all__ = [
    "DBM",
    "RBM",
    "AISEstimate",
    "LadderEstimate",
    "LadderWarning",
    "Look",
    "MixingWarning",
    "NotFittedError",
    "RBMClassifier",
    "Topology",
    "TrainingWarning",
    "load",
    "sequences",
]

face(globals())
