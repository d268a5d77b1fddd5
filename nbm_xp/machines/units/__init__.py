"""Kinds of units: all that a Boltzmann machine knows about what a unit can be, a chapter for each.

A unit that receives r has the states x with weights exp(x·r - e(x)), where e is its own energy. What follows from that
stands here, once for each kind; a topology holds the kind of each layer, and no other chapter asks which it is.
"""

from __future__ import annotations

from .binary import BINARY, Binary
from .categorical import Categorical
from .gaussian import GAUSSIAN, Gaussian
from .kind import Units, Values, softplus
from .mixed import Mixed
from .naming import KINDS, kind_of
from .normal import NORMAL, Normal
from .rectified import RECTIFIED, Rectified
from .spin import SPIN, Spin

__all__ = [
    "BINARY",
    "GAUSSIAN",
    "KINDS",
    "NORMAL",
    "RECTIFIED",
    "SPIN",
    "Binary",
    "Categorical",
    "Gaussian",
    "Mixed",
    "Normal",
    "Rectified",
    "Spin",
    "Units",
    "Values",
    "kind_of",
    "softplus",
]
