"""Random numbers in the sizes that the bars are for: ours beside NumPy's PCG64 and Dask's generators."""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbm_xp.rng import Generator, substreams

from .harness import Contender, Row
from .libraries import Library

SIZE = 10**8
SIDE = 10**4
STREAMS = 15_360
BARS = {"float32": 1 / 2.8, "float64": 1 / 1.8}
BOTH_CORES, ZIGGURAT, GIBBS, TILES, COLUMNS = 1 / 1.7, 1 / 0.9, 1 / 2.5, 1 / 1.2, 1 / 0.6
SEEDING = 3e-3  # seconds
MANY, ACCEPTED = 10**7, 2.0


def rows(library: Library) -> Iterator[Row]:
    if library.name != "numpy":
        return
    ours, both = Generator(2026, "numpy"), Generator(2026, "numpy", threads=2)
    pcg64 = np.random.Generator(np.random.PCG64(2026))

    def row(name: str, call: Any, peer: str, other: Any, bar: float) -> Row:
        return Row(name, Contender("nbm_xp", call), [Contender(peer, other, at_most=bar)], per=SIZE, unit="number")

    for dtype, bar in BARS.items():
        memory = np.ones(SIZE, dtype)  # its pages are the process's own already; of a new array, that is half the time
        yield row(
            f"1e8 uniforms into an array that is there, {dtype}",
            lambda memory=memory: ours.random(out=memory),
            "NumPy PCG64",
            lambda memory=memory, dtype=dtype: pcg64.random(dtype=dtype, out=memory),
            bar,
        )
        yield row(
            f"1e8 uniforms, {dtype}",
            lambda dtype=dtype: ours.random(SIZE, dtype),
            "NumPy PCG64",
            lambda dtype=dtype: pcg64.random(SIZE, dtype=dtype),
            bar,
        )
    memory = np.ones(SIZE, "float32")
    yield row(
        "1e8 uniforms into an array that is there, float32, two threads",
        lambda: both.random(out=memory),
        "one thread",
        lambda: ours.random(out=memory),
        BOTH_CORES,
    )
    yield row(
        "1e8 normals, float32",
        lambda: ours.standard_normal(SIZE, "float32"),
        "NumPy's ziggurat",
        lambda: pcg64.standard_normal(SIZE, dtype=np.float32),
        ZIGGURAT,
    )
    p = pcg64.random(SIZE, dtype=np.float32)
    yield row(
        "1e8 ones and zeros by an array of probabilities, float32",
        lambda: ours.binomial(1, p, dtype="float32"),
        "NumPy random < p, as float32",
        lambda: (pcg64.random(SIZE, dtype=np.float32) < p).astype(np.float32),
        GIBBS,
    )
    yield row(
        "1e8 ones and zeros by an array of probabilities, bool",
        lambda: ours.binomial(1, p, dtype="bool"),
        "NumPy random < p",
        lambda: pcg64.random(SIZE, dtype=np.float32) < p,
        GIBBS,
    )
    yield Row(
        f"seed states of {STREAMS} streams",
        Contender("nbm_xp", lambda: substreams((2026,) * 6, STREAMS)),
        [Contender("nothing", lambda: None, at_most_more=SEEDING)],
    )
    yield from distributions(ours, pcg64)
    yield from lazy()


def distributions(ours: Generator, pcg64: np.random.Generator) -> Iterator[Row]:
    """Integers and numbers by rejection or search, beside NumPy's of the same name."""

    def redrawn() -> Any:
        z = pcg64.standard_normal(MANY)
        far = np.nonzero(np.abs(z) > 2)[0]
        while far.size:
            z[far] = pcg64.standard_normal(far.size)
            far = far[np.abs(z[far]) > 2]
        return z

    for name, call, other in (
        ("integers below 6", lambda: ours.integers(0, 6, MANY), lambda: pcg64.integers(0, 6, MANY)),
        ("integers below 2**40", lambda: ours.integers(0, 2**40, MANY), lambda: pcg64.integers(0, 2**40, MANY)),
        (
            "integers of 64 bits",
            lambda: ours.integers(-(2**63), 2**63, MANY),
            lambda: pcg64.integers(-(2**63), 2**63 - 1, MANY, endpoint=True),
        ),
        (
            "integers below 6, int8",
            lambda: ours.integers(0, 6, MANY, "int8"),
            lambda: pcg64.integers(0, 6, MANY, np.int8),
        ),
        ("truncated normals", lambda: ours.truncated_normal(size=MANY, dtype="float64"), redrawn),
        ("gamma(2)", lambda: ours.gamma(2.0, 3.0, MANY, "float64"), lambda: pcg64.gamma(2.0, 3.0, MANY)),
        ("beta(2, 3)", lambda: ours.beta(2.0, 3.0, MANY, "float64"), lambda: pcg64.beta(2.0, 3.0, MANY)),
        ("poisson(30)", lambda: ours.poisson(30.0, MANY), lambda: pcg64.poisson(30.0, MANY)),
        ("binomial(100, 0.3)", lambda: ours.binomial(100, 0.3, MANY), lambda: pcg64.binomial(100, 0.3, MANY)),
        ("binomial(1000, 0.5)", lambda: ours.binomial(1000, 0.5, MANY), lambda: pcg64.binomial(1000, 0.5, MANY)),
        ("poisson(4)", lambda: ours.poisson(4.0, MANY), lambda: pcg64.poisson(4.0, MANY)),
    ):
        peer = "NumPy's, redrawn" if other is redrawn else "NumPy PCG64"
        yield Row(
            f"1e7 {name}",
            Contender("nbm_xp", call),
            [Contender(peer, other, at_most=ACCEPTED)],
            per=MANY,
            unit="number",
        )


def lazy() -> Iterator[Row]:
    """Draws of (10000, 10000) on Dask, summed, on one thread."""
    da = importlib.import_module("dask.array")
    ours = Generator(2026, "dask")
    for name, chunks, bar in (("tiles of 1000 × 1000", (1000, 1000), TILES), ("columns of 100", (SIDE, 100), COLUMNS)):
        theirs = da.random.default_rng(2026)
        yield Row(
            f"Dask, 1e8 uniforms in {name}, summed",
            Contender("nbm_xp", lambda c=chunks: summed(ours.random((SIDE, SIDE), "float32", chunks=c))),
            [
                Contender(
                    "dask.array.random",
                    lambda c=chunks, g=theirs: summed(g.random((SIDE, SIDE), dtype=np.float32, chunks=c)),
                    at_most=bar,
                )
            ],
            per=SIDE * SIDE,
            unit="number",
        )
    yield Row(
        "Dask, building 10,000 blocks",
        Contender("nbm_xp", lambda: ours.random((SIDE, SIDE), chunks=100).__dask_graph__()),
        [
            Contender("nothing", lambda: None, at_most_more=1.0),
            Contender("dask.array.random", lambda: da.random.default_rng(1).random((SIDE, SIDE), chunks=100)),
        ],
    )


def summed(x: Any) -> float:
    return float(x.sum(dtype=np.float32).compute(scheduler="synchronous"))
