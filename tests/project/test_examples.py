"""The examples of the gallery run, shortened, draw their pictures and find what they say."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pictures need nbm_xp[app]")

HAIRPIN = {(site, 11 - site) for site in range(5)}
EXAMPLES: dict[str, tuple[dict[str, int], Callable[[Any], bool]]] = {
    "digits": ({"n_iter": 3}, lambda mean: -25 < mean < -16),
    "hmc": ({"n_draws": 300}, lambda mean: bool(np.allclose(mean, [1.0, -2.0], atol=0.6))),
    "lattice_on_disk": ({"length": 96, "n_sweeps": 19}, lambda energy: abs(energy + 1.106) < 0.2),
    "latent_units": ({"n_iter": 100}, lambda accuracy: accuracy > 0.9),
    "mnist": ({"n_components": 4, "n_iter": 2}, lambda mean: -11.5 < mean < -9.5),  # 16 random bits: -16 log 2
    "missing_values": ({"n_iter": 80, "iterations": 1}, lambda losses: losses["Imputer(RBM)"] < losses["KNNImputer"]),
    "neon_digits": ({"epochs": 5}, lambda accuracy: accuracy > 0.9),
    "outliers": ({"n_seeds": 1, "n_iter": 20}, lambda areas: areas["digits"][0] > 0.65 and areas["wine"][0] > 0.85),
    "random_on_a_cluster": ({"rows": 2000}, lambda equal: equal),
    "rna_family": ({"n_iter": 30}, lambda pairs: pairs == HAIRPIN),
    "scipy_minimise": ({}, lambda found: bool(np.allclose(found, [2.5, 0.5], atol=0.15))),
    "spin_glass": ({"n_sweeps": 100}, lambda overlaps: overlaps[0] < 0.05 < 0.5 < overlaps[1]),
}
ROOT = Path(__file__).parents[2]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::nbm_xp.graphs.MixingWarning")  # shortened, chains do not come to equilibrium
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * ("cluster" in n)) for n in EXAMPLES])
@pytest.mark.at_night("missing_values", "outliers", "latent_units", "mnist", "lattice_on_disk", "rna_family")
def test_an_example_finds_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(5).random((500, 16)) < 0.5
    np.savez("mnist.npz", **{"train.data": rows, "test.data": rows[:100]})
    shortened, is_right = EXAMPLES[name]
    found = importlib.import_module(f"examples.{name}").main(str(tmp_path / "picture.png"), **shortened)
    assert is_right(found), found
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", [*EXAMPLES, "keras2_digits"])
def test_an_example_is_short_and_in_the_gallery(name: str) -> None:
    assert len((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 60
    assert f"../examples/{name}.py" in (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
