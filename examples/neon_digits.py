"""A multilayer perceptron learns scikit-learn's handwritten digits by the documented methods of neon's Backend alone.

``python -m examples.neon_digits`` prints how it goes. Forward pass, errors and updates are op-trees; each runs as one
plan into a buffer.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from nbm_xp.neon import Backend, Block, Buffer, OpTree

__all__ = ["Findings", "Perceptron", "learn"]

BATCH = 32


@dataclass(frozen=True)
class Findings:
    """What came of the training: the share of right answers, before in training, the cost, and the time it took."""

    accuracy: float
    costs: list[float]
    seconds: float


class Perceptron:
    """Rectified hidden units with dropout and a softmax, features by examples.

    Parameters
    ----------
    be : Backend
        Its ``bsz`` is the number of examples in a batch.
    sizes : tuple of int
        The numbers of inputs, hidden units and classes.
    keep : float
        The share of hidden units that a training step keeps.
    """

    def __init__(self, be: Backend, sizes: tuple[int, int, int] = (64, 96, 10), keep: float = 0.8) -> None:
        inputs, hidden, classes = sizes
        self.be, self.keep = be, keep
        self.w = be.array(be.rng.normal(0.0, (2 / inputs) ** 0.5, size=(hidden, inputs)))
        self.v = be.array(be.rng.normal(0.0, (1 / hidden) ** 0.5, size=(classes, hidden)))
        self.b, self.c = be.zeros((hidden, 1)), be.zeros((classes, 1))
        self.hidden, self.mask, self.hidden_error = (be.iobuf(hidden) for _ in range(3))
        self.scores, self.answers, self.targets, self.error = (be.iobuf(classes) for _ in range(4))
        self.slopes = [be.zeros_like(weight) for weight in self.weights]
        self.steps = [be.zeros_like(weight) for weight in self.weights]

    @property
    def weights(self) -> list[Buffer]:
        """What is learned."""
        return [self.w, self.b, self.v, self.c]

    def forward(self, x: Buffer, *, training: bool) -> Buffer:
        """The probability of each class, for the examples in the columns of `x`."""
        be = self.be
        self.hidden[:] = be.maximum(be.dot(self.w, x) + self.b, 0)
        if training:
            be.make_binary_mask(self.mask, keepthresh=self.keep)
            self.hidden[:] = self.hidden * self.mask * (1 / self.keep)
        self.scores[:] = be.dot(self.v, self.hidden) + self.c
        powers = be.exp(self.scores - be.max(self.scores, axis=0))
        self.answers[:] = powers / be.sum(powers, axis=0)
        return self.answers

    def cost(self, labels: Buffer) -> OpTree:
        """The mean cross-entropy between the answers and the labels."""
        be = self.be
        self.targets[:] = be.onehot(labels, axis=0)
        tree: OpTree = be.mean(be.sum(-self.targets * be.safelog(self.answers), axis=0))
        return tree

    def backward(self, x: Buffer) -> list[Buffer]:
        """The slopes of the cost in the weights, after `forward` and `cost`."""
        be, (w, b, v, c) = self.be, self.slopes
        self.error[:] = (self.answers - self.targets) / be.bsz
        self.hidden_error[:] = be.dot(self.v.T, self.error) * (self.hidden > 0) * (1 / self.keep)
        be.dot(self.hidden_error, x.T, out=w)
        be.sum(self.hidden_error, axis=1, out=b)
        be.dot(self.error, self.hidden.T, out=v)
        be.sum(self.error, axis=1, out=c)
        return self.slopes

    def update(self, rate: float, momentum: float) -> None:
        """Move the weights down the slopes, in a direction that is kept up."""
        for weight, slope, step in zip(self.weights, self.slopes, self.steps, strict=True):
            step[:] = step * momentum - slope * rate
            weight[:] = weight + step


def batches(be: Backend, x: Buffer, labels: Buffer, order: np.ndarray) -> Iterator[tuple[Buffer, Buffer]]:
    """Whole batches of examples in some order; what is left over at the end is left out."""
    for start in range(0, len(order) - BATCH + 1, BATCH):
        chosen = order[start : start + BATCH]
        yield x.take(chosen, axis=1), labels.take(chosen, axis=1)


def learn(passes: int = 30, seed: int = 1, library: str = "cpu", *, verbose: bool = False) -> Findings:
    """Train on four fifths of the digits, test on the others.

    Parameters
    ----------
    passes : int
        How often each scan is seen.
    seed : int
        Decides the split, the first weights, the order of the scans and what is dropped.
    library : str
        The array library, as `Backend.allocate_backend` knows it.
    verbose : bool
        Whether to print the cost of each pass.
    """
    be = Backend.allocate_backend(library, rng_seed=seed)
    be.bsz = BATCH
    scans, digits = load_digits(return_X_y=True)
    train, test, digits_train, digits_test = train_test_split(
        scans / 16, digits, test_size=0.2, stratify=digits, random_state=seed
    )
    x, labels = be.array(train.T), be.array(digits_train[None, :], dtype="int32")
    network, cost, shuffled = Perceptron(be), be.zeros((1, 1)), np.random.default_rng(seed)
    costs: list[float] = []
    started = time.perf_counter()
    for done in range(passes):
        be.begin(Block.epoch, done)
        total = be.zeros((1, 1))
        order = shuffled.permutation(len(train))
        for scan, label in batches(be, x, labels, order):
            network.forward(scan, training=True)
            total[:] = total + network.cost(label)
            network.backward(scan)
            network.update(rate=0.1 * (1 - done / passes), momentum=0.9)
        cost[:] = total / (len(order) // BATCH)
        costs.append(float(cost.get()[0, 0]))
        be.end(Block.epoch, done)
        if verbose:
            print(f"pass {done + 1:3}: cost {costs[-1]:.4f}")
    seconds = time.perf_counter() - started
    return Findings(accuracy(be, network, test, digits_test), costs, seconds)


def accuracy(be: Backend, network: Perceptron, scans: np.ndarray, digits: np.ndarray) -> float:
    """The share of scans that the network gets right."""
    padded = -(-len(scans) // BATCH) * BATCH
    x, said = be.zeros((scans.shape[1], padded)), be.zeros((1, padded))
    x[:, : len(scans)] = scans.T
    for start in range(0, padded, BATCH):
        part = slice(start, start + BATCH)
        said[:, part] = be.argmax(network.forward(x[:, part], training=False), axis=0)
    right = be.equal(said[:, : len(scans)], be.array(digits[None, :]))
    return float(be.mean(right).get()[0, 0])


def main() -> None:
    """Read the command line, train, test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=int, default=30, help="passes over the training scans (30)")
    parser.add_argument("--seed", type=int, default=1, help="decides all that is random (1)")
    parser.add_argument("--library", default="cpu", help="the array library (cpu)")
    chosen = parser.parse_args()
    findings = learn(chosen.passes, chosen.seed, chosen.library, verbose=True)
    print(f"{findings.accuracy:.2%} of the test scans are right; {findings.seconds:.1f} s")


if __name__ == "__main__":
    main()
