"""What pictures are drawn from: a run's directory has more to show than a model alone."""

from __future__ import annotations

import pathlib

from nbm_xp.namespace import to_numpy

from .. import finding
from ..curve import Curve
from ..training import CURVE_FILE
from ..weighing import Weighing, lengths
from . import drawing

__all__ = ["PICTURES", "Source"]

PICTURES = ("filters", "samples", "curve", "convergence", "traces")
_FANTASIES, _SWEEPS = 100, 1000
_RUNS, _TEMPERATURES = 100, 1000


class Source:
    """Something to draw pictures of.

    Parameters
    ----------
    path : pathlib.Path
        A run's directory, or the file of a model.
    seed : int
        Of what is drawn from the model for a picture.
    units : list of int
        Visible units whose traces to draw.
    """

    def __init__(self, path: pathlib.Path, seed: int, units: list[int]) -> None:
        self.path = path
        self.run = finding.run_at(path)
        self.model = finding.read_model(path)
        self.seed = seed
        self.units = units

    def pictures(self) -> list[str]:
        """The names of the pictures that can be drawn."""
        found = ["filters", "samples"]
        if self.run is not None and (self.run.path / CURVE_FILE).is_file():
            found.append("curve")
        return [*found, "convergence"]

    def draw(self, name: str, out: pathlib.Path) -> None:
        """Draw one of them."""
        {
            "filters": self._filters,
            "samples": self._samples,
            "curve": self._curve,
            "convergence": self._convergence,
        }[name](out)

    def _filters(self, out: pathlib.Path) -> None:
        drawing.draw_filters(to_numpy(self.model.components_), out)

    def _samples(self, out: pathlib.Path) -> None:
        drawn = self.model.sample(_FANTASIES, _SWEEPS, probabilities=True, random_state=self.seed)
        drawing.draw_samples(to_numpy(drawn), f"{_FANTASIES} fantasies after {_SWEEPS:,} sweeps", out)

    def _curve(self, out: pathlib.Path) -> None:
        assert self.run is not None
        drawing.draw_curve(Curve(self.run.path / CURVE_FILE).looks, out)

    def _convergence(self, out: pathlib.Path) -> None:
        found = Weighing(_RUNS, lengths(_TEMPERATURES, True), self.seed).of(self.model)
        drawing.draw_convergence(found["estimates"], self.model.components_.shape[0], found["exact"], out)
