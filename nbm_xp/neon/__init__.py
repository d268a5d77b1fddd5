"""neon's Backend on today's array libraries: buffers, op-trees of them, and layer operations.

A `Backend` belongs to one array library. Its buffers have two axes or more, features by batch; expressions of them are
recorded on the tape as op-trees and run as one plan where they are assigned to a buffer.
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
