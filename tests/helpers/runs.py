"""Runs for tests: small models, runs of every kind, what a directory holds, and programs in processes of their own."""

from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import DBM, RBM, Topology
from nbm_xp.files import place_of
from nbm_xp.graphs import GraphMachine, edwards_anderson, random_regular
from nbm_xp.runs import RunDirectory, evaluate, measure_lattice, sample, sample_graph, train
from nbm_xp.runs.execution import kind_of

__all__ = [
    "HEARS_INTERRUPTIONS", "RUNS", "SAMPLE", "deep", "dyadic", "files_of", "left_off", "ordinary", "program",
    "results_of", "stopping_after", "whole",
]  # fmt: skip


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
    shapes = [(sizes[low], sizes[high]) for low, high in topology.connections]
    weights = [(scale * rng.normal(size=shape)).astype("float32") for shape in shapes]
    return DBM.from_parameters(weights, [rng.normal(size=size).astype("float32") for size in sizes], **params)


def files_of(folder: str | os.PathLike[str]) -> dict[str, str]:
    """All files below a folder, and the hashes of what they hold."""
    place, found = place_of(folder), dict[str, str]()
    for path in sorted(place.iterdir(), key=str):
        if path.is_file():
            found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found |= {f"{path.name}/{name}": digest for name, digest in files_of(path).items()}
    return found


SAMPLE: dict[str, Any] = {
    "n_chains": 24, "n_draws": 12, "burn_in": 10, "thin": 2, "chunks": 8, "checkpoint_every": 3, "random_state": 5,
    "layers": (0, 1),
}  # fmt: skip


@functools.cache
def laddered() -> DBM:
    """A machine that learned on a ladder, whose states cannot be enumerated."""
    return DBM([20, 21, 25], n_iter=2, training="ptt", learning_rate=0.05, random_state=0).fit(_rows(20))


def _rows(n_visible: int) -> Any:
    return (np.random.default_rng(1).random((40, n_visible)) < 0.4).astype("float32")


EVALUATE: dict[str, Any] = {
    "n_chains": 24, "n_temperatures": 30, "chunks": 8, "checkpoint_every": 6, "random_state": 5,
}  # fmt: skip
QUALITY: dict[str, Any] = {"thermodynamics": True, "adversarial_accuracy": True}
GRAPH: dict[str, Any] = {"beta": 0.8, "random_state": 5}
RUNS: dict[str, Callable[..., RunDirectory]] = {
    "sample": lambda place, **how: sample(ordinary(), place, **SAMPLE | how),
    "clamped": lambda place, **how: sample(
        ordinary(), place, **SAMPLE | {"layers": (0,), "clamp": {1: np.ones(12, "float32")}} | how
    ),
    "ladder": lambda place, **how: sample(laddered(), place, **SAMPLE | {"layers": (0, 1, 2)} | how),
    "evaluate": lambda place, **how: evaluate(ordinary(), place, _rows(20), **EVALUATE | how),
    "skipping": lambda place, **how: evaluate(
        # a machine whose chains in reverse begin with sweeps
        deep((21, 25, 22), connections=[(0, 1), (0, 2), (1, 2)], scale=0.2), place, _rows(21),
        **EVALUATE | QUALITY | {"reverse": True, "n_sweeps": 20} | how,
    ),
    "weighed on the ladder": lambda place, **how: evaluate(
        laddered(), place, _rows(20)[:10], **EVALUATE | QUALITY | {"ladder_steps": 40} | how
    ),
    "glass": lambda place, **how: sample_graph(
        GraphMachine(edwards_anderson((24, 20), random_state=1)), place,
        **GRAPH | {"n_chains": 2, "n_sweeps": 24, "chunks": 10, "checkpoint_every": 3} | how,
    ),
    "web": lambda place, **how: sample_graph(
        GraphMachine(random_regular(120, 3, random_state=1), fields=0.1), place,
        **GRAPH | {"n_chains": 66, "n_sweeps": 4, "shards": 3, "clamp": {3: 1, 70: -1}, "rule": "metropolis"} | how,
    ),
    "transition": lambda place, **how: measure_lattice(
        place, (12, 8), [1.5, 2.5, 3.5], **{"n_sweeps": 200, "checkpoint_every": 50, "random_state": 2} | how
    ),
    "train": lambda place, **how: train(
        RBM(8, n_iter=20, random_state=2), place, _rows(16), **{"checkpoint_every": 1} | how
    ),
    "train in blocks": lambda place, **how: train(
        RBM(8, n_iter=12, batch_size=1001, random_state=2), place, _rows(16).repeat(50, axis=0),
        **{"checkpoint_every": 1} | how,
    ),
}  # fmt: skip
"""Runs of every kind, begun in a directory with further options."""


def results_of(place: str | os.PathLike[str]) -> dict[str, str]:
    """The files of a run's results, and the hashes of what they hold; but that which tells how long a training took."""
    results = tuple(set(kind_of(RunDirectory.read(place).kind).results) - {"result.json"})
    return {name: digest for name, digest in files_of(place).items() if name.startswith(results)}


@functools.cache
def whole(name: str) -> dict[str, str]:
    """The results of one of `RUNS` that nothing has disturbed."""
    with tempfile.TemporaryDirectory() as folder:
        return results_of(RUNS[name](pathlib.Path(folder) / "run").path)


def stopping_after(share: float, told: list[int] | None = None) -> Callable[[int, int], None]:
    """A `progress` that notes what it is told, and breaks a run off after a share of its work."""

    def stop(done: int, total: int) -> None:
        if told is not None:
            told.append(done)
        if done > share * total:
            raise KeyboardInterrupt

    return stop


def left_off(begin: Callable[..., RunDirectory], *arguments: Any, share: float, **how: Any) -> int:
    """Begin a run that is broken off after a share of its work; what it reported last."""
    told: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        begin(*arguments, progress=stopping_after(share, told), **how)
    return told[-1]


HEARS_INTERRUPTIONS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""The beginning of a program that may be started deaf to them, as a process in the background of a shell is."""


def program(source: str, **options: Any) -> subprocess.Popen[str]:
    """A Python program of its own, with this package to import; a signal ends it, whatever began these tests."""
    root = os.fspath(pathlib.Path(__file__).parents[2])
    paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", HEARS_INTERRUPTIONS + source], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip
