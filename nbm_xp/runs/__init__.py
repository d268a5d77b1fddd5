"""Long computations with Boltzmann machines, on disk: they survive faults, and come out the same wherever they run."""

from __future__ import annotations

from .directory import RunDirectory, RunError
from .reading import open_dataset, open_samples
from .sampling import sample
from .schedulers import Workers

__all__ = ["RunDirectory", "RunError", "Workers", "open_dataset", "open_samples", "sample"]
