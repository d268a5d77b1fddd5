"""Missing values: train a machine on images of which half of the pixels are missing, and complete others."""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss

from nbm_xp.boltzmann import RBM, Imputer

CLIPPED = (0.001, 0.01, 0.05, 0.1)  # smallest probabilities: for each imputer the one that suits it


def main(picture: str = "missing_values.png", n_iter: int = 300, iterations: int = 10) -> dict[str, float]:
    """Return the log losses of the missing pixels of images that the imputers have not seen."""
    images = (load_digits().data >= 8).astype("float32")
    missing = np.random.default_rng(0).random(images.shape) < 0.5
    incomplete = np.where(missing, np.nan, images)
    train, new, gaps = incomplete[:1437], incomplete[1437:], missing[1437:]
    how = {"batch_size": 20, "n_gibbs": 5, "schedule": "linear", "diagnostics": False, "random_state": 0}
    imputers = {
        "Imputer(RBM)": Imputer(RBM(64, n_iter=n_iter, **how)),
        "KNNImputer": KNNImputer(n_neighbors=25),
        "IterativeImputer": IterativeImputer(Ridge(100), max_iter=iterations, min_value=0, max_value=1, random_state=0),
    }
    completed = {name: imputer.fit(train).transform(new) for name, imputer in imputers.items()}
    losses = {}
    for name, rows in completed.items():
        truth, found = images[1437:][gaps], rows[gaps].astype("float64")
        losses[name] = min(log_loss(truth, np.clip(found, least, 1 - least)) for least in CLIPPED)
    shown = {"images": images[1437:], "what is known": new, **completed}
    figure = Figure(figsize=(10, 2.4), layout="constrained")
    for axes, (title, rows) in zip(figure.subplots(1, len(shown)), shown.items(), strict=True):
        tiles = np.pad(rows[:16].reshape(4, 4, 8, 8), ((0, 0), (0, 0), (1, 1), (1, 1))).swapaxes(1, 2).reshape(40, 40)
        axes.imshow(np.where(np.isnan(tiles), 0.3, tiles), cmap="Greys", vmin=0, vmax=1)
        axes.set_title(f"{title}\n{losses[title]:.3f} nats" if title in losses else title, fontsize=9)
        axes.set_axis_off()
    figure.savefig(picture, dpi=100)
    return losses


if __name__ == "__main__":
    print(main(*sys.argv[1:2]))
