"""Hamiltonian Monte Carlo of a logistic regression, written once for the arrays of any library."""

import sys

import numpy as np
from matplotlib.figure import Figure

from nbm_xp import Generator, value_and_grad


def log_posterior(w, x, y):
    """The log-density of the weights given labels 0 and 1, up to a constant."""
    xp = w.__array_namespace__()
    z = x @ w
    return xp.sum(y * z - xp.log1p(xp.exp(-xp.abs(z))) - xp.maximum(z, z * 0)) - xp.sum(w * w) / 2


def sample(w, x, y, n_draws, rng, step=0.05, n_steps=10):
    """Draw from the posterior, beginning at w."""
    evaluate = value_and_grad(log_posterior)
    draws, (value, slope) = [], evaluate(w, x, y)
    for _ in range(n_draws):
        momentum = rng.normal(size=w.shape, dtype="float64")
        new, force, energy = w, slope, value - (momentum**2).sum() / 2
        for _ in range(n_steps):  # leapfrog
            momentum = momentum + step / 2 * force
            new = new + step * momentum
            new_value, force = evaluate(new, x, y)
            momentum = momentum + step / 2 * force
        if float(rng.exponential()) > energy - (new_value - (momentum**2).sum() / 2):
            w, value, slope = new, new_value, force
        draws.append(w)
    return np.stack([np.asarray(draw) for draw in draws])


def main(picture: str = "hmc.png", n_draws: int = 2000) -> np.ndarray:
    """Sample the posterior of two weights; return their posterior mean."""
    data = np.random.default_rng(0)
    x, truth = data.normal(size=(200, 2)), np.asarray([1.0, -2.0])
    y = (data.random(200) < 1 / (1 + np.exp(-x @ truth))).astype("float64")
    draws = sample(np.zeros(2), x, y, n_draws, Generator(1))[n_draws // 10 :]
    figure = Figure(figsize=(4.4, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.plot(*draws.T, ".", markersize=2, label="draws")
    axes.plot(*truth, "k+", markersize=14, label="truth")
    axes.set_xlabel("first weight")
    axes.set_ylabel("second weight")
    axes.legend()
    figure.savefig(picture, dpi=100)
    return draws.mean(axis=0)


if __name__ == "__main__":
    print(main(*sys.argv[1:2]))
