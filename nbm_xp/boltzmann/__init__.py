"""Boltzmann machines: learnt, sampled and weighed, on the natural_bm surface and on arrays of any library."""

from __future__ import annotations

from .bridging import LadderEstimate
from .classifier import RBMClassifier
from .dbm import DBM
from .estimator import NotFittedError
from .loading import load
from .partition import AISEstimate
from .rbm import RBM
from .topology import Topology

__all__ = ["DBM", "RBM", "AISEstimate", "LadderEstimate", "NotFittedError", "RBMClassifier", "Topology", "load"]
