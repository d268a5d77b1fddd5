"""An RBM of 500 hidden units learns MNIST by persistent contrastive divergence, in a given processor time.

``python -m examples.mnist --data mnist.npz --out mnist`` learns for as long as two cores give in an hour, or less, and
writes the model, its learning curve and a picture. The learning rate falls with the time used; the chains make more
sweeps in each step as it goes on: early the number of steps counts, late how well the chains follow the model.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import RBM
from nbm_xp.cli.answering import signed
from nbm_xp.cli.pictures import panels
from nbm_xp.cli.pictures.look import BLUE, GREY, ORANGE, drawn

__all__ = ["PUBLISHED", "Look", "draw", "learn"]

PUBLISHED = -86.34  # mean log-likelihood in testing, CD-25, 500 hidden units: Salakhutdinov and Murray, ICML 2008
RATE, BATCH = 0.03, 100
SWEEPS = ((0.0, 2), (0.3, 5), (0.7, 10))
"""From which share of the time on the chains make how many sweeps in a step."""


@dataclass(frozen=True)
class Look:
    """What a look at the model found: mean log-likelihoods, in nats, by AIS."""

    passes: float
    seconds: float
    n_gibbs: int
    train: float
    test: float
    log_z: float
    log_z_low: float
    log_z_high: float


def learn(
    train: Any,
    test: Any,
    seconds: float,
    looks: int = 15,
    hidden: int = 500,
    said: Callable[[Look], object] = print,
    clock: Callable[[], float] = time.process_time,
) -> tuple[RBM, list[Look]]:
    """Learn for so much processor time, that of looks at the model not counted.

    Parameters
    ----------
    train, test : arrays of shape (rows, features)
        Of 0 and 1.
    seconds : float
        Of one core.
    looks : int, optional
        How often to estimate log Z on the way; at the end it is estimated with more temperatures.
    hidden : int, optional
    said : callable, optional
        Called with each look.
    clock : callable, optional
        Gives the seconds since some time, by which learning is measured.

    Returns
    -------
    model : RBM
    found : list of Look
    """
    model = RBM(hidden, learning_rate=RATE, batch_size=BATCH, weight_decay=2e-4, n_iter=0, random_state=0).fit(train)
    used, passes, found = 0.0, 0.0, list[Look]()
    for rows in _minibatches(train):
        began, share = clock(), used / seconds
        sweeps = [number for since, number in SWEEPS if share >= since][-1]
        model.set_params(learning_rate=RATE * max(1.0 - share, 1e-4), n_gibbs=sweeps).partial_fit(rows)
        used += clock() - began
        passes += len(rows) / len(train)
        ended = used >= seconds
        if ended or used >= seconds * (len(found) + 1) / (looks + 1):
            runs, temperatures = (200, 30_000) if ended else (100, 4000)
            found.append(_look(model, train[: len(test)], test, passes, used, runs, temperatures))
            said(found[-1])
        if ended:
            break
    return model, found


def _minibatches(rows: Any) -> Iterator[Any]:
    """Minibatches without end, in another order in each pass."""
    random = np.random.default_rng(0)
    while True:
        order = random.permutation(len(rows))
        for first in range(0, len(rows), BATCH):
            yield rows[order[first : first + BATCH]]


def _look(model: RBM, train: Any, test: Any, passes: float, seconds: float, runs: int, temperatures: int) -> Look:
    found = model.ais(runs, temperatures, random_state=1)
    means = [float(B.mean(model.log_likelihood(rows, found))) for rows in (train, test)]
    return Look(passes, seconds, int(model.n_gibbs), *means, found.log_z, found.log_z_low, found.log_z_high)


def draw(model: RBM, found: Sequence[Look], path: pathlib.Path) -> None:
    """Draw fantasies, filters and the learning curve."""
    side = round(model.n_features_in_**0.5)
    fantasies = model.sample(100, 2000, probabilities=True, random_state=2)
    with drawn(path, 16, 6) as figure:
        shown, weights, curve = figure.subplots(1, 3)
        panels.images(shown, fantasies, side, "100 fantasies")
        panels.filters(weights, model.components_, side)
        minutes = [look.seconds / 60 for look in found]
        for name, colour in (("train", BLUE), ("test", ORANGE)):
            values = [getattr(look, name) for look in found]
            curve.plot(minutes, values, "o-", color=colour, label=f"{name}, at the end {signed(values[-1])}")
        curve.axhline(PUBLISHED, color=GREY, linestyle="--", label=f"published, test: {signed(PUBLISHED)}")
        curve.set_xlabel("minutes of one core")
        curve.set_ylabel("mean log-likelihood (nats)")
        curve.set_title("Learning curve")
        curve.legend(loc="lower right")


def main() -> None:
    """Learn, as the arguments of the process say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="an .npz file with train.data and test.data, of 0 and 1")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("mnist"), help="the folder for what is found")
    parser.add_argument("--minutes", type=float, default=75.0, help="of one core")
    given = parser.parse_args()
    with np.load(given.data) as arrays:
        train, test = (arrays[f"{name}.data"].astype("float32") for name in ("train", "test"))
    given.out.mkdir(parents=True, exist_ok=True)
    model, found = learn(train, test, 60 * given.minutes)
    model.save(given.out / "model.safetensors")
    lines = "".join(f"{json.dumps(asdict(look))}\n" for look in found)
    (given.out / "curve.jsonl").write_text(lines, encoding="utf-8")
    draw(model, found, given.out / "mnist.png")


if __name__ == "__main__":
    main()
