"""What it costs to go through a documented function: ours on ten float32, beside the bare calls that do the same."""

from collections.abc import Iterator

import numpy as np

from nbm_xp import natural_bm as B

from .harness import Contender, Row
from .libraries import Library

MORE = 0.15e-6  # seconds
ONE_ARRAY = ("exp", "log", "sin", "cos", "abs", "square", "sign", "round")
REDUCTIONS = ("sum", "prod", "max", "min", "mean", "any")


def rows(library: Library) -> Iterator[Row]:
    x = library.array(np.linspace(0.1, 1.0, 10, dtype=np.float32))
    xp = np if library.name == "numpy" else library.xp

    def root(x):
        return xp.sqrt(xp.maximum(x, 0.0))

    def sigmoid(x):
        e = xp.exp(xp.minimum(x, 40.0))
        return e / (1 + e)

    def row(name, bare, *arguments, bar=True):
        ours = Contender("nbm_xp", library.finished(getattr(B, name)), arguments)
        more = MORE if bar and library.name == "numpy" else None
        return Row(name, ours, [Contender("bare calls", library.finished(bare), arguments, at_most_more=more)])

    for name in (*ONE_ARRAY, *REDUCTIONS):
        yield row(name, getattr(xp, name), x)
    yield row("sqrt", root, x)  # documented to take what is negative for zero
    yield row("sigmoid", sigmoid, x)
    # Two arrays, and a shape to check: no bar is set for these.
    yield row("maximum", xp.maximum, x, x, bar=False)
    yield row("dot", xp.matmul, x, x, bar=False)
    yield row("reshape", xp.reshape, x, (2, 5), bar=False)
