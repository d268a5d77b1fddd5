"""A Boltzmann machine learns MNIST by persistent contrastive divergence, in a given processor time.

``python -m examples.mnist --data mnist.npz --out mnist`` learns for so long on one core, and writes the model, its
learning curve and a picture; ``--hidden 500,1000`` makes it a deep machine, whose likelihoods are bounds. Centred units
let steps be long. The learning rate falls to 0 twice, the second time from far lower: while it is high, the chains
follow the model badly, and it swings; as it falls, the chains make more sweeps in a step. Each fall ends with the mean
of the parameters along its last steps, the later ones counting more.

A deep machine learns its first hidden layer alone, and is then given the others with weights of almost 0: such a
machine has the distribution it had before, and its bound is its likelihood. From there all layers learn together.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pathlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import DBM, PCD, RBM, SGD
from nbm_xp.cli.output import signed
from nbm_xp.cli.pictures import panels
from nbm_xp.cli.pictures.panels import BLUE, GREY, ORANGE, SUBTLE, drawn

__all__ = ["PUBLISHED", "Look", "draw", "learn"]

PUBLISHED = -86.34  # mean log-likelihood in testing, CD-25, 500 hidden units: Salakhutdinov and Murray, ICML 2008
BATCH, DECAY = 100, 3e-4
AVERAGED, EVERY = 0.6, 5
"""From which share of a fall on the parameters count in their mean, and every how many steps."""
POSITIVE = 5  # updates of the mean-field approximation of a deep machine
FIRST_LAYER = 0.8  # of the time of a deep machine
SETTLING = 1500  # steps in which the chains of a deep machine find their places, before it learns


@dataclass(frozen=True)
class Schedule:
    """How a machine learns in its time.

    Attributes
    ----------
    falls : sequence of pairs of float
        From which share of the time on the learning rate falls to 0, and from where.
    sweeps : sequence of pairs of float and int
        From which share of the time on the chains make how many sweeps in a step.
    """

    falls: Sequence[tuple[float, float]]
    sweeps: Sequence[tuple[float, int]]

    def fall(self, share: float) -> tuple[tuple[float, float], float]:
        """Which fall of the rate goes on at a share of the time, and how much of it is done."""
        fall = _now(self.falls, share)
        end = min([start for start, _ in self.falls if start > fall[0]], default=1.0)
        return fall, (share - fall[0]) / (end - fall[0])

    def rate(self, share: float) -> float:
        """The learning rate at a share of the time."""
        (_, highest), done = self.fall(share)
        return highest * max(1.0 - done, 1e-4)

    def n_gibbs(self, share: float) -> int:
        """The sweeps of a step at a share of the time."""
        return int(_now(self.sweeps, share)[1])


ALONE = Schedule(falls=((0.0, 0.1), (0.865, 0.015)), sweeps=((0.0, 2), (0.52, 4), (0.865, 5)))
TOGETHER = Schedule(falls=((0.0, 0.002),), sweeps=((0.0, 3), (0.5, 5)))


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
    hidden: Sequence[int] = (500,),
    temperatures: int = 30_000,
    said: Callable[[Look], object] = print,
    clock: Callable[[], float] = time.process_time,
) -> tuple[RBM | DBM, list[Look]]:
    """Learn for so much processor time, that of looks at the model not counted.

    Parameters
    ----------
    train, test : arrays of shape (rows, features)
        Of 0 and 1.
    seconds : float
        Of one core.
    looks : int, optional
        How often to estimate log Z on the way.
    hidden : sequence of int, optional
        The units of each hidden layer.
    temperatures : int, optional
        How many estimate log Z at the end; on the way a tenth of them.
    said : callable, optional
        Called with each look.
    clock : callable, optional
        Gives the seconds since some time, by which learning is measured.

    Returns
    -------
    model : RBM, or DBM of more than one hidden layer
    found : list of Look
    """
    model, used, passes, found = _begun(hidden, train), 0.0, 0.0, list[Look]()
    parts = [1.0] if len(hidden) == 1 else [FIRST_LAYER, 1.0 - FIRST_LAYER]
    for number, (part, schedule) in enumerate(zip(parts, (ALONE, TOGETHER), strict=False)):
        before, left = used, part * seconds
        if number:
            began, model = clock(), _deepened(model, hidden)
            _settle(model, train)
            settled = clock() - began
            before, left = before + settled, left - settled
        for rows, spent in _steps(model, train, schedule, left, clock):
            passes += rows / len(train)
            used = before + spent
            ended = spent >= left and number == len(parts) - 1
            if ended or used >= seconds * (len(found) + 1) / (looks + 1):
                effort = (200, temperatures) if ended else (100, temperatures // 10)
                found.append(_look(model, train[: len(test)], test, passes, used, *effort))
                said(found[-1])
    return model, found


def _steps(
    model: RBM | DBM, train: Any, schedule: Schedule, seconds: float, clock: Callable[[], float]
) -> Iterator[tuple[int, float]]:
    """Learn for so long; after each step, its rows and the time that all steps took."""
    mean, used, last = Mean(), 0.0, schedule.falls[0]
    for number, rows in enumerate(_minibatches(train)):
        began, share = clock(), used / seconds
        fall, done = schedule.fall(share)
        if last != fall:
            mean.leave(model)
            mean, last = Mean(), fall
        model.set_params(learning_rate=schedule.rate(share), n_gibbs=schedule.n_gibbs(share)).partial_fit(rows)
        if done >= AVERAGED and not number % EVERY:
            mean.add(model)
        used += clock() - began
        if used >= seconds:
            mean.leave(model)
        yield len(rows), used
        if used >= seconds:
            return


class Mean:
    """The mean of a model's parameters along the steps, in proportion to how many came before."""

    def __init__(self) -> None:
        self._count, self._means = 0, list[Any]()

    def add(self, model: RBM | DBM) -> None:
        """Let the parameters as they are count."""
        part, now = 2.0 / (self._count + 2.0), parameters(model)
        self._means = [mean + part * (x - mean) for mean, x in zip(self._means or now, now, strict=True)]
        self._count += 1

    def leave(self, model: RBM | DBM) -> None:
        """Set the parameters to their means, if there are any."""
        if self._means:
            set_parameters(model, self._means)


def _begun(hidden: Sequence[int], train: Any) -> RBM | DBM:
    """A machine of the first hidden layer that has learnt nothing yet."""
    return RBM(hidden[0], n_iter=0, **_settings()).fit(train)


def _deepened(model: Any, hidden: Sequence[int]) -> DBM:
    """A deep machine of almost the same distribution: further layers, whose weights are almost 0."""
    random, pairs = np.random.default_rng(3), itertools.pairwise(hidden)
    further = [0.01 * random.standard_normal(pair).astype("float32") for pair in pairs]
    coefs = [model.components_.T, *further]
    intercepts = [model.intercept_visible_, model.intercept_hidden_, *(np.zeros(n, "float32") for n in hidden[1:])]
    return DBM.from_parameters(coefs, intercepts, base_rate=model.base_rate_, **_settings())


def _settle(model: DBM, train: Any) -> None:
    """Let the chains of a machine that has just been made go on, while it learns next to nothing."""
    model.set_params(learning_rate=1e-9, n_gibbs=10)
    for rows, _ in zip(_minibatches(train), range(SETTLING), strict=False):
        model.partial_fit(rows)


def _settings() -> dict[str, Any]:
    return {
        "batch_size": BATCH,
        "optimizer": SGD(weight_decay=DECAY),
        "training": PCD(centred=True, n_positive=POSITIVE),
        "random_state": 0,
    }


def parameters(model: RBM | DBM) -> list[Any]:
    """The weights of a model, then its biases."""
    if isinstance(model, DBM):
        return [*model.coefs_, *model.intercepts_]
    return [model.components_, model.intercept_hidden_, model.intercept_visible_]


def set_parameters(model: RBM | DBM, values: Sequence[Any]) -> None:
    """Set what `parameters` gives."""
    if isinstance(model, DBM):
        count = len(model.coefs_)
        model.coefs_, model.intercepts_ = values[:count], values[count:]
    else:
        model.components_, model.intercept_hidden_, model.intercept_visible_ = values


def _now(changes: Sequence[tuple[float, Any]], share: float) -> tuple[float, Any]:
    """What holds at a share of the time, and since when."""
    return [change for change in changes if share >= change[0]][-1]


def _minibatches(rows: Any) -> Iterator[Any]:
    """Minibatches without end, in another order in each pass."""
    random = np.random.default_rng(0)
    while True:
        order = random.permutation(len(rows))
        for first in range(0, len(rows), BATCH):
            yield rows[order[first : first + BATCH]]


def _look(model: RBM | DBM, train: Any, test: Any, passes: float, seconds: float, runs: int, temperatures: int) -> Look:
    found = model.ais(runs, temperatures, random_state=1)
    in_training, in_testing = (float(B.mean(model.log_likelihood(rows, found))) for rows in (train, test))
    bounds = found.log_z, found.log_z_low, found.log_z_high
    return Look(passes, seconds, int(model.n_gibbs), in_training, in_testing, *bounds)


def draw(model: RBM | DBM, found: Sequence[Look], path: pathlib.Path) -> None:
    """Draw fantasies, filters and the learning curve."""
    side = round(model.n_features_in_**0.5)
    filters = parameters(model)[0]
    filters = filters.T if isinstance(model, DBM) else filters
    fantasies = model.sample(100, 2000, probabilities=True, random_state=2)
    with drawn(path, 16, 6) as figure:
        shown, weights, curve = figure.subplots(1, 3)
        panels.images(shown, fantasies, side, "100 fantasies")
        panels.filters(weights, filters, side)
        minutes = [look.seconds / 60 for look in found]
        for name, colour in (("train", BLUE), ("test", ORANGE)):
            values = [getattr(look, name) for look in found]
            curve.plot(minutes, values, "o-", color=colour, label=f"{name}, at the end {signed(values[-1])}")
        curve.axhline(PUBLISHED, color=GREY, linestyle="--", label=f"published, test: {signed(PUBLISHED)}")
        curve.set_xlabel("minutes of one core")
        curve.set_ylabel("mean log-likelihood (nats)")
        curve.set_title("Learning curve")
        curve.legend(loc="upper left")
        _draw_rate(curve, minutes[-1], deep=isinstance(model, DBM))
        lowest = min(found, key=lambda look: look.test)
        if lowest not in (found[0], found[-1]):
            curve.annotate(
                "the rate is high: chains lag\nbehind the model, and it swings",
                (lowest.seconds / 60, lowest.test),
                xytext=(14, -4),
                textcoords="offset points",
                color=SUBTLE,
                va="center",
            )


def _draw_rate(curve: Axes, minutes: float, *, deep: bool) -> None:
    """Draw how the learning rate falls, as an area at the foot of the learning curve."""
    shares, first = np.linspace(0.0, 1.0, 1001), FIRST_LAYER if deep else 1.0
    alone = [ALONE.rate(share / first) for share in shares[shares <= first]]
    together = [TOGETHER.rate((share - first) / (1.0 - first)) for share in shares[shares > first]]
    area = curve.twinx()
    area.fill_between(shares * minutes, [*alone, *together], color=GREY, alpha=0.25, linewidth=0)
    area.set_ylim(0.0, 5 * ALONE.falls[0][1])
    area.set_yticks([0.0, ALONE.falls[0][1]])
    area.set_ylabel("learning rate", loc="bottom")
    area.grid(visible=False)
    area.spines["right"].set_visible(False)


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn as the arguments say, by default those of the process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="an .npz file with train.data, valid.data and test.data, of 0, 1")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("mnist"), help="the folder for what is found")
    parser.add_argument("--minutes", type=float, default=75.0, help="of one core")
    parser.add_argument("--hidden", default="500", help="units of the hidden layer, or of each: 500,1000")
    given = parser.parse_args(arguments)
    with np.load(given.data) as arrays:
        train, valid, test = (arrays[f"{name}.data"].astype("float32") for name in ("train", "valid", "test"))
    train = np.concatenate([train, valid])  # nothing is chosen any more
    given.out.mkdir(parents=True, exist_ok=True)
    model, found = learn(train, test, 60 * given.minutes, hidden=[int(n) for n in given.hidden.split(",")])
    model.save(given.out / "model.safetensors")
    lines = "".join(f"{json.dumps(asdict(look))}\n" for look in found)
    (given.out / "curve.jsonl").write_text(lines, encoding="utf-8")
    draw(model, found, given.out / "mnist.png")


if __name__ == "__main__":
    main()
