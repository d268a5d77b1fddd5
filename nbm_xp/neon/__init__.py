"""neon's Backend for today's array libraries: buffers, op-trees and layer operations.

A `Backend` belongs to one array library. Its buffers have at least two axes, features by batch. Expressions of buffers
are recorded on the tape as op-trees; assigning an op-tree to a buffer computes it as one plan.
"""

from __future__ import annotations

from nbm_xp.package import public_names

from .autodiff import Autodiff, gradients
from .backend import Backend
from .buffers import Buffer
from .client import compute_on
from .observing import Block
from .optrees import OpTree

__all__ = ["Autodiff", "Backend", "Block", "Buffer", "OpTree", "compute_on", "gradients"]

public_names(globals())
