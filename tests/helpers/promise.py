"""The numbers that never change: recorded values of every draw, and how they are written down.

``python -m tests.helpers.promise`` records draws that are not in the file yet, on NumPy with its kernels, at a seed
that is hashed. What is there stays: it may only be taken out, or recorded anew, with a new major version; who does
takes the file away first. `test_random_numbers` holds the record to the recurrence in Python's integers, and to every
form that the package has.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nbm_xp.rng import Generator
from tests.helpers.distributions import DRAWS, REAL, WITH_ARRAYS

__all__ = ["FILE", "PROMISES", "written"]

FILE = pathlib.Path(__file__).parents[1] / "golden" / "random_numbers.json"
SEED = 2026
DTYPES = ("float16", "float32", "float64")


def _with_arrays(draw: Callable[..., Any], generator: Generator) -> Any:
    return draw(generator, np.asarray)


PROMISES: dict[str, Callable[[Generator], Any]] = (
    {f"{name}/{dtype}": partial(draw, dtype=dtype) for name, draw in REAL.items() for dtype in DTYPES}
    | {name: draw for name, draw in DRAWS.items() if name not in REAL}
    | {f"{name}/arrays": partial(_with_arrays, draw) for name, draw in WITH_ARRAYS.items()}
    | {
        "many normals": lambda g: g.normal(size=100_001, dtype="float32"),
        "many uniforms": lambda g: g.random(1_000_000, "float32"),
        "bytes": lambda g: np.frombuffer(g.bytes(9), "uint8"), "child": lambda g: g.spawn(2)[1].random(9, "float32"),
        "part": lambda g: g.split(2)[1].random(9, "float32"),
        "fold_in/name": lambda g: g.fold_in("weights").random(9, "float32"),
        "fold_in/number": lambda g: g.fold_in(-7).random(9, "float32"),
        "substreams": lambda g: g.substreams(3)[2].random(9, "float32"),
        "jumped": lambda g: g.jumped(5).random(9, "float32"),
        "advance": lambda g: g.advance(12345).random(9, "float32"),
        "SeedSequence": lambda g: Generator(np.random.SeedSequence(SEED, spawn_key=(3,))).random(9, "float32"),
        "seed/0": lambda g: Generator(0).random(9, "float32"), "seed/1": lambda g: Generator(1).random(9, "float32"),
        "seed/large": lambda g: Generator(10**40).random(9, "float32"),
        "six": lambda g: Generator((2026,) * 6).random(9, "float32"),
    }
)  # fmt: skip
"""Draws by name; each is given a generator at the seed, for NumPy."""


def written(x: Any) -> dict[str, Any]:
    """An array in the form of the file: what it is, its first values, and a hash of all its bytes."""
    x = np.asarray(x)
    first = x.ravel()[:6]
    values = [float(v).hex() for v in first] if x.dtype.kind == "f" else [int(v) for v in first]
    little = np.ascontiguousarray(x).astype(x.dtype.newbyteorder("<"))
    digest = hashlib.sha256(little.tobytes()).hexdigest()
    return {"dtype": str(x.dtype), "shape": list(x.shape), "first": values, "sha256": digest}


def main() -> None:
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for name, draw in PROMISES.items():
        known.setdefault(name, written(draw(Generator(SEED, "numpy"))))
    lines = [f"{json.dumps(name)}: {json.dumps(record)}" for name, record in sorted(known.items())]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
