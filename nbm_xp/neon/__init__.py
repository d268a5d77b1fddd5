"""neon's Backend on today's array libraries: op-trees, buffers and layer operations."""

from __future__ import annotations

from .backend import Backend
from .buffers import Buffer
from .optrees import OpTree

__all__ = ["Backend", "Buffer", "OpTree"]
