"""A spin glass: parallel tempering of the Edwards-Anderson model, and the distribution of the overlap of two chains."""

import sys

import numpy as np
from matplotlib.figure import Figure

from nbm_xp.graphs import GraphMachine, edwards_anderson


def main(picture: str = "spin_glass.png", n_sweeps: int = 1000) -> tuple[float, float]:
    """Temper 64 sets of chains; return the mean squared overlap at the highest and at the lowest temperature."""
    glass = GraphMachine(edwards_anderson((6, 6, 6), random_state=1))
    betas = np.linspace(0.3, 1.2, 8)
    draws = glass.temper(n_chains=64, n_sweeps=n_sweeps, burn_in=n_sweeps, betas=betas, random_state=2)
    states = draws["state"].values.reshape(64, len(betas), -1).astype(float)
    pairs = np.triu_indices(64, 1)
    hot, cold = (np.abs(states[:, k] @ states[:, k].T / states.shape[-1])[pairs] for k in (0, -1))

    figure = Figure(figsize=(5.6, 3.4), layout="constrained")
    axes = figure.subplots()
    for overlaps, beta in ((hot, betas[0]), (cold, betas[-1])):
        axes.hist(overlaps, bins=40, range=(0, 1), histtype="step", density=True, label=f"inverse temperature {beta:g}")
    axes.set_xlabel("absolute overlap of two chains")
    axes.set_ylabel("density")
    axes.legend()
    figure.savefig(picture, dpi=100)
    return float((hot**2).mean()), float((cold**2).mean())


if __name__ == "__main__":
    print(main(*sys.argv[1:2]))
