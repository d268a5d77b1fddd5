"""`Generator`, in rooms: its state, and its draws by kind."""

from __future__ import annotations

from .generator import Generator

__all__ = ["Generator"]
