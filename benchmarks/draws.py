"""Random numbers in the sizes that the bars are for: ours beside NumPy's PCG64 and Dask's generators."""

import importlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbm_xp.rng import Generator, substreams

from .harness import Contender, Row, power
from .libraries import Library

SIZE, SIDE, STREAMS = 10**8, 10**4, 15_360
MANY, SMALL = 10**7, 10
INTO = (("float32", {}, 0.33), ("float64", {"bits": 31}, 1 / 1.8), ("float64", {"bits": 53}, 0.8))  # with their bars
NEW = {"float32": 1 / 2.8, "float64": 1 / 1.8}
BOTH_CORES, ZIGGURAT, GIBBS, TILES, COLUMNS = 1 / 1.7, 1 / 0.9, 1 / 2.5, 1 / 1.5, 1 / 0.6
SEEDING = 3e-3  # seconds
TEN_NUMBERS, ACCEPTED = 1.3, 2.0
GOALS = {"integers below 6, int8": 0.8}


def rows(library: Library) -> Iterator[Row]:
    if library.name != "numpy":
        return
    ours, both = Generator(2026, "numpy"), Generator(2026, "numpy", threads=2)
    pcg64 = np.random.Generator(np.random.PCG64(2026))

    size = library.sized(SIZE)
    many = power(size)

    def row(name: str, call: Any, peer: str, other: Any, bar: float, size: int = size) -> Row:
        return Row(name, Contender("nbm_xp", call), [Contender(peer, other, at_most=bar)], per=size, unit="number")

    for dtype, bits, bar in INTO:
        memory = np.ones(size, dtype)  # its pages are the process's own already; of a new array, that is half the time
        yield row(
            f"{many} uniforms into an array that is there, {dtype}{''.join(f', {n} bits' for n in bits.values())}",
            lambda memory=memory, bits=bits: ours.random(out=memory, **bits),
            "NumPy PCG64",
            lambda memory=memory, dtype=dtype: pcg64.random(dtype=dtype, out=memory),
            bar,
        )
    for dtype, bar in NEW.items():
        yield row(
            f"{many} uniforms, {dtype}",
            lambda dtype=dtype: ours.random(size, dtype),
            "NumPy PCG64",
            lambda dtype=dtype: pcg64.random(size, dtype=dtype),
            bar,
        )
    yield row(
        "ten uniforms, float64",
        lambda: ours.random(SMALL, "float64"),
        "NumPy PCG64",
        lambda: pcg64.random(SMALL),
        TEN_NUMBERS,
        SMALL,
    )
    memory = np.ones(size, "float32")
    yield row(
        f"{many} uniforms into an array that is there, float32, two threads",
        lambda: both.random(out=memory),
        "one thread",
        lambda: ours.random(out=memory),
        BOTH_CORES,
    )
    yield row(
        f"{many} normals, float32",
        lambda: ours.standard_normal(size, "float32"),
        "NumPy's ziggurat",
        lambda: pcg64.standard_normal(size, dtype=np.float32),
        ZIGGURAT,
    )
    p = pcg64.random(size, dtype=np.float32)
    yield row(
        f"{many} ones and zeros by an array of probabilities, float32",
        lambda: ours.binomial(1, p, dtype="float32"),
        "NumPy random < p, as float32",
        lambda: (pcg64.random(size, dtype=np.float32) < p).astype(np.float32),
        GIBBS,
    )
    yield row(
        f"{many} ones and zeros by an array of probabilities, bool",
        lambda: ours.binomial(1, p, dtype="bool"),
        "NumPy random < p",
        lambda: pcg64.random(size, dtype=np.float32) < p,
        GIBBS,
    )
    yield Row(
        f"seed states of {STREAMS} streams",
        Contender("nbm_xp", lambda: substreams((2026,) * 6, STREAMS)),
        [Contender("nothing", lambda: None, at_most_more=SEEDING)],
    )
    yield from distributions(ours, pcg64, library.sized(MANY))
    yield from lazy((library.sized(SIDE), SIDE))


def distributions(ours: Generator, pcg64: np.random.Generator, many: int) -> Iterator[Row]:
    """Integers and numbers by rejection or search, beside NumPy's of the same name."""

    def redrawn() -> Any:
        z = pcg64.standard_normal(many)
        far = np.nonzero(np.abs(z) > 2)[0]
        while far.size:
            z[far] = pcg64.standard_normal(far.size)
            far = far[np.abs(z[far]) > 2]
        return z

    for name, call, other in (
        ("integers below 6", lambda: ours.integers(0, 6, many), lambda: pcg64.integers(0, 6, many)),
        ("integers below 2**40", lambda: ours.integers(0, 2**40, many), lambda: pcg64.integers(0, 2**40, many)),
        (
            "integers of 64 bits",
            lambda: ours.integers(-(2**63), 2**63, many),
            lambda: pcg64.integers(-(2**63), 2**63 - 1, many, endpoint=True),
        ),
        (
            "integers below 6, int8",
            lambda: ours.integers(0, 6, many, "int8"),
            lambda: pcg64.integers(0, 6, many, np.int8),
        ),
        ("truncated normals", lambda: ours.truncated_normal(size=many, dtype="float64"), redrawn),
        ("gamma(2)", lambda: ours.gamma(2.0, 3.0, many, "float64"), lambda: pcg64.gamma(2.0, 3.0, many)),
        ("beta(2, 3)", lambda: ours.beta(2.0, 3.0, many, "float64"), lambda: pcg64.beta(2.0, 3.0, many)),
        ("poisson(30)", lambda: ours.poisson(30.0, many), lambda: pcg64.poisson(30.0, many)),
        ("binomial(100, 0.3)", lambda: ours.binomial(100, 0.3, many), lambda: pcg64.binomial(100, 0.3, many)),
        ("binomial(1000, 0.5)", lambda: ours.binomial(1000, 0.5, many), lambda: pcg64.binomial(1000, 0.5, many)),
        ("poisson(4)", lambda: ours.poisson(4.0, many), lambda: pcg64.poisson(4.0, many)),
    ):
        peer = "NumPy's, redrawn" if other is redrawn else "NumPy PCG64"
        yield Row(
            f"{power(many)} {name}",
            Contender("nbm_xp", call),
            [Contender(peer, other, at_most=GOALS.get(name, ACCEPTED))],
            per=many,
            unit="number",
        )


def lazy(shape: tuple[int, int]) -> Iterator[Row]:
    """Draws on Dask, summed, on one thread."""
    da = importlib.import_module("dask.array")
    ours, size = Generator(2026, "dask"), math.prod(shape)
    for name, chunks, bar in (("tiles of 1000 × 1000", (1000, 1000), TILES), ("columns of 100", (-1, 100), COLUMNS)):
        theirs = da.random.default_rng(2026)
        yield Row(
            f"Dask, {power(size)} uniforms in {name}, summed",
            Contender("nbm_xp", lambda c=chunks: summed(ours.random(shape, "float32", chunks=c))),
            [
                Contender(
                    "dask.array.random",
                    lambda c=chunks, g=theirs: summed(g.random(shape, dtype=np.float32, chunks=c)),
                    at_most=bar,
                )
            ],
            per=size,
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
