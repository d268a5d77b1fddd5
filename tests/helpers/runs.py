"""Runs for tests: small models, what a directory holds, and a program that samples in a process of its own."""

from __future__ import annotations

import hashlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbm_xp.boltzmann import DBM, RBM, Topology

__all__ = ["HEARS_INTERRUPTIONS", "SAMPLE", "deep", "dyadic", "files_of", "ordinary", "program"]


def ordinary(n_visible: int = 20, n_hidden: int = 12, seed: int = 0) -> RBM:
    """A small model with weights of all sizes."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(0, 0.5, (n_hidden, n_visible)).astype("float32")
    return RBM.from_parameters(
        weights, rng.normal(size=n_hidden).astype("float32"), rng.normal(size=n_visible).astype("float32")
    )


def dyadic(n_visible: int = 20, n_hidden: int = 12, seed: int = 0) -> RBM:
    """A model whose weights and biases are multiples of 1/64 below 2: their sums are exact in float32, in any order."""
    rng = np.random.default_rng(seed)

    def multiples(*shape: int) -> Any:
        return (rng.integers(-100, 101, shape) / 64).astype("float32")

    return RBM.from_parameters(multiples(n_hidden, n_visible), multiples(n_hidden), multiples(n_visible))


def deep(sizes: Sequence[int] = (12, 9, 7), seed: int = 0, scale: float = 0.5, **params: Any) -> DBM:
    """A small machine of any layers with weights of all sizes; further arguments are hyperparameters."""
    rng = np.random.default_rng(seed)
    topology = Topology(sizes, params.get("connections"))
    shapes = [topology.weights_shape(number) for number in range(len(topology.connections))]
    weights = [(scale * rng.normal(size=shape)).astype("float32") for shape in shapes]
    return DBM.from_parameters(weights, [rng.normal(size=size).astype("float32") for size in sizes], **params)


def files_of(folder: str | os.PathLike[str]) -> dict[str, str]:
    """All files below a folder, and the hashes of what they hold."""
    place = pathlib.Path(folder)
    return {
        str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


SAMPLE: dict[str, Any] = {
    "n_chains": 24,
    "n_draws": 12,
    "burn_in": 10,
    "thin": 2,
    "chunks": 8,
    "checkpoint_every": 3,
    "random_state": 5,
    "layers": (0, 1),
}


HEARS_INTERRUPTIONS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""The beginning of a program that may be started deaf to them, as a process in the background of a shell is."""


def program(source: str, **options: Any) -> subprocess.Popen[str]:
    """A Python program of its own, with this package to import; a signal ends it, whatever began these tests."""
    root = os.fspath(pathlib.Path(__file__).parents[2])
    paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", HEARS_INTERRUPTIONS + source],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
