"""One look for all pictures, which are written whole or not at all.

Ink is dark on white; blue is the model, orange the test or what is compared, grey what is given.
"""

from __future__ import annotations

import contextlib
import math
import pathlib
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from nbm_xp.files import replacing

__all__ = ["BLUE", "GREY", "INK", "LOOK", "ORANGE", "SUBTLE", "drawn", "sheet", "write"]

BLUE, ORANGE, GREY, INK, SUBTLE = "#1f5f99", "#d9622b", "#8a8f98", "#20242c", "#4a4f59"
LOOK: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 12.5,
    "axes.titlesize": 14,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#b9bec7",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": SUBTLE,
    "ytick.color": SUBTLE,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e8eaee",
    "legend.frameon": False,
    "lines.linewidth": 2.2,
    "svg.hashsalt": "nbm_xp",
}


def sheet(images: Any, side: int, columns: int, gap: int = 1, fill: float = float("nan")) -> Any:
    """Rows of pixels as one picture: square images beside and below one another, with a gap between."""
    count = len(images)
    rows = math.ceil(count / columns)
    step = side + gap
    page = np.full((rows * step - gap, columns * step - gap), fill)
    for place, image in enumerate(images):
        top, left = divmod(place, columns)
        page[top * step : top * step + side, left * step : left * step + side] = image.reshape(side, side)
    return page


@contextlib.contextmanager
def drawn(path: pathlib.Path, width: float, height: float, *, arranged: bool = True) -> Iterator[Figure]:
    """A figure to draw on, of so many inches at 100 dots each, which is written when the body ends.

    Its panels are `arranged` with margins that fit their labels, unless the body places them itself.
    """
    with mpl.rc_context(LOOK):
        layout = ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.12) if arranged else None
        figure = Figure(figsize=(width, height), dpi=100, facecolor="white", layout=layout)
        yield figure
        write(figure, path)


def write(figure: Figure, path: pathlib.Path) -> None:
    """Write a figure to a .png file."""
    with replacing(path) as part:
        figure.savefig(part, format="png", metadata={"Software": "nbm_xp"})
