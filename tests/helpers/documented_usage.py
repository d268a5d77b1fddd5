"""Boltzmann machines used as the pages document it: `mypy` checks the types of these calls, and a test makes them."""

from __future__ import annotations

import math
import pathlib
import tempfile

import numpy as np

from nbm_xp.boltzmann import DBM, PTT, RBM, AISEstimate, load


def falling(done: int, total: int) -> float:
    """The factor of the learning rate after some passes."""
    return math.exp(-3 * done / total)


def main() -> None:
    rows = (np.random.default_rng(0).random((40, 6)) < 0.4).astype("float32")
    seen: list[int] = []

    def count(model: RBM) -> None:
        seen.append(model.n_iter_)

    rbm = RBM(4, n_iter=2, schedule=falling, random_state=np.random.default_rng(0)).fit(rows, callback=count)
    assert seen == [1, 2]
    RBM(4, n_iter=1, schedule=lambda done, total: 1 / (1 + done), training=PTT(centred=True)).fit(rows.tolist())
    rbm.set_params(n_iter=3).fit(rows, resume=True).partial_fit(rows)
    score: float = rbm.score(rows)
    exact = RBM.from_parameters(rbm.components_, rbm.intercept_hidden_, rbm.intercept_visible_).score(rows)
    assert math.isclose(score, exact, rel_tol=1e-6)
    estimate: AISEstimate = rbm.ais(20, betas=np.linspace(0, 1, 50), random_state=1)
    bounds: tuple[float, float] = estimate.log_z_low, estimate.log_z_high
    assert bounds[0] < bounds[1]
    assert rbm.reverse_ais(20, betas=[0.0, 0.5, 1.0]).effective_runs <= 20
    assert rbm.log_likelihood(rows, estimate).shape == rbm.log_likelihood(rows, 2.5).shape == (40,)
    names: list[str] = rbm.set_output(transform="default").get_feature_names_out().tolist()
    assert names == ["rbm0", "rbm1", "rbm2", "rbm3"]
    deep = DBM([6, 4, 3], n_iter=1, schedule=falling, connections=[(0, 1), (1, 2)]).fit(rows)
    assert deep.sample(3, 2, clamp={1: np.ones((3, 4))}, layer=None)[2].shape == (3, 3)
    assert deep.sample(3, 2, initial=rows[:3], library="dask", chunks=2).shape == (3, 6)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.safetensors"
        rbm.save(file)
        assert RBM.load(file, library="numpy").get_params() == load(str(file)).get_params()


if __name__ == "__main__":
    main()
