"""Fit a gamma distribution by maximum likelihood: SciPy's optimiser, with the gradient of SciPy's special function."""

import sys

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize
from scipy.stats import gamma

from nbm_xp import Generator, value_and_grad
from nbm_xp.special import gammaln


def main(picture: str = "scipy_minimise.png") -> tuple[float, float]:
    """Draw from a gamma distribution; return the fitted shape and rate."""
    x = Generator(0).gamma(2.5, 2.0, size=5000, dtype="float64")  # shape 2.5, rate 1/2
    mean, mean_log = float(x.mean()), float(np.log(x).mean())

    def loss(parameters):
        """The mean negative log-likelihood in the logarithms of shape and rate."""
        xp = parameters.__array_namespace__()
        shape, log_rate = xp.exp(parameters[0]), parameters[1]
        return gammaln(shape) - shape * log_rate - (shape - 1) * mean_log + xp.exp(log_rate) * mean

    found = minimize(value_and_grad(loss), np.zeros(2), jac=True)
    shape, rate = np.exp(found.x)
    figure = Figure(figsize=(5.4, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.hist(x, bins=60, density=True, alpha=0.4, label="data")
    grid = np.linspace(0.01, x.max(), 300)
    axes.plot(grid, gamma.pdf(grid, shape, scale=1 / rate), label=f"gamma({shape:.2f}), rate {rate:.3f}")
    axes.legend()
    figure.savefig(picture, dpi=100)
    return float(shape), float(rate)


if __name__ == "__main__":
    print(main(*sys.argv[1:2]))
