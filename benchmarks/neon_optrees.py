"""neon's op-trees beside the same lines written by hand: recorded anew at each call, run as one plan into a buffer."""

from collections.abc import Iterator

import numpy as np

from nbm_xp.neon import Backend

from .harness import Contender, Row
from .libraries import Library

OVER_HAND, SIZE, SMALL, STEPS = 1.1, 1024, 16, 50


def rows(library: Library) -> Iterator[Row]:
    be = Backend(rng_seed=2026, library=library.name)
    bar = OVER_HAND if library.name == "numpy" else None
    for size, at_most in ((SIZE, bar), (SMALL, None)):
        w, x, y, z, out = made(be, size, 5)
        yield Row(
            f"out[:] = sig(dot(w, x)) * y + z, {size} × {size}",
            contender("nbm_xp", library, layer(be, out), w, x, y, z),
            [Contender("by hand", library.finished(layer_by_hand(library)), arrays(w, x, y, z), at_most=at_most)],
        )
    weight, slope, step = made(be, SMALL, 3)
    yield Row(
        f"momentum, {SMALL} × {SMALL}, another rate each time",
        contender("nbm_xp", library, momentum(step), weight, slope),
        [Contender("by hand", library.finished(momentum_by_hand(step.array)), arrays(weight, slope))],
        per=STEPS,
        unit="step",
    )


def made(be, size, count):
    return [be.array(be.rng.normal(0.0, size**-0.5, size=(size, size))) for _ in range(count)]


def arrays(*buffers):
    return tuple(buffer.array for buffer in buffers)


def contender(name, library, call, *buffers):
    return Contender(name, library.finished(call), buffers)


def layer(be, out):
    def run(w, x, y, z):
        out[:] = be.sig(be.dot(w, x)) * y + z
        return out.array

    return run


def layer_by_hand(library):
    xp = np if library.name == "numpy" else library.xp
    kept = {}

    def run(w, x, y, z):
        value = 1 / (1 + xp.exp(-(w @ x))) * y + z
        if library.name not in ("numpy", "cupy", "torch"):
            return value
        out = kept.setdefault("out", value)
        out[...] = value
        return out

    return run


def momentum(step):
    def run(weight, slope):
        for t in range(STEPS):
            step[:] = step * 0.9 - (slope + weight * 1e-4) * (0.1 / (t + 2))
        return step.array

    return run


def momentum_by_hand(step):
    def run(weight, slope):
        value = step
        for t in range(STEPS):
            value = value * 0.9 - (slope + weight * 1e-4) * (0.1 / (t + 2))
        return value

    return run
