"""Long computations with Boltzmann machines, on disk: they survive faults, and come out the same wherever they run."""

from __future__ import annotations

from .directory import RunDirectory, RunError

__all__ = ["RunDirectory", "RunError"]
