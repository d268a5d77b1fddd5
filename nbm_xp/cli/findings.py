"""What the demo finds, for its table and its picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nbm_xp.boltzmann import RBM, AISEstimate

__all__ = ["Findings"]


@dataclass
class Findings:
    """What the demo found, for its table and its picture."""

    train: Any
    test: Any
    baseline: tuple[float, float]
    large: RBM
    small: RBM
    exact: float
    estimates: dict[str, list[AISEstimate]]
    fantasies: Any
    curve: list[tuple[int, float, float]] = field(default_factory=list)
