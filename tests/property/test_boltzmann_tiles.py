"""A model whose weights stay in files samples what the same model in memory samples.

What is equal to the last bit: the uniforms behind every draw, always; every state, where no sum is rounded, which the
weights here see to (multiples of 1/8, few enough for float32). Where sums are rounded, they are rounded tile by tile:
probabilities agree to rounding, and a unit differs where its uniform lies that close to its probability.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbm_xp.boltzmann import RBM
from nbm_xp.namespace import get_namespace
from nbm_xp.storage.chunked import open_array
from tests.helpers.libraries import computing, guard

SHAPE = (23, 31)  # hidden and visible units
FILES = ("npy", "zarr")


@pytest.fixture(autouse=True)
def weights_are_large() -> Iterator[None]:
    """Matrices of this size are taken for too large for one block."""
    with dask.config.set({"array.chunk-size": "1KiB"}):
        yield


def exact(seed: int = 0) -> list[Any]:
    random = np.random.default_rng(seed)
    return [(random.integers(-12, 13, size=shape) / 8).astype("float32") for shape in (SHAPE, SHAPE[:1], SHAPE[1:])]


def on_disk(folder: pathlib.Path, kind: str, values: list[Any], tiles: Any) -> RBM:
    """A model with these parameters, of which the weights are in a file."""
    path = folder / f"weights.{kind}"
    if kind == "npy":
        np.save(path, values[0])
    elif not path.exists():
        zarr = pytest.importorskip("zarr")
        zarr.create_array(path, data=values[0], chunks=(7, 10))
    return RBM.from_parameters(open_array(path, tiles), *values[1:], random_state=1)


def splits(length: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Ways to split an axis into a few parts."""
    cuts = st.sets(st.integers(1, length - 1), max_size=4)
    return cuts.map(lambda cuts: tuple(np.diff([0, *sorted(cuts), length]).tolist()))


@given(tiles=st.tuples(splits(SHAPE[0]), splits(SHAPE[1])), chains=st.one_of(st.none(), st.integers(1, 12), splits(12)))
@settings(max_examples=6)
def test_chains_are_those_of_the_model_in_memory_for_any_tiles_and_chunks(
    tiles: Any, chains: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    values = exact()
    chunks = (chains, (SHAPE[1],)) if isinstance(chains, tuple) else chains
    with guard():
        rbm = on_disk(tmp_path_factory.mktemp("tiles"), "npy", values, tiles)
        drawn = rbm.sample(12, 3, chunks=chunks, random_state=3)
        shades = rbm.sample(12, 3, chunks=chunks, random_state=3, probabilities=True)
    held = RBM.from_parameters(*values, random_state=1)
    with computing():
        np.testing.assert_array_equal(drawn.compute(), held.sample(12, 3, random_state=3))
        wanted = held.sample(12, 3, random_state=3, probabilities=True)
        np.testing.assert_allclose(shades.compute(), wanted, rtol=1e-6)


def test_two_workers_draw_what_memory_draws(tmp_path: pathlib.Path, two_workers: Any) -> None:
    values = exact()
    drawn = on_disk(tmp_path, "npy", values, (8, 9)).sample(12, 3, chunks=5, random_state=3)
    wanted = RBM.from_parameters(*values).sample(12, 3, random_state=3)
    np.testing.assert_array_equal(two_workers.compute(drawn).result(), wanted)


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.at_night("zarr")
def test_everything_a_model_does_with_rows(kind: str, tmp_path: pathlib.Path) -> None:
    values = exact(1)
    rows = (np.random.default_rng(2).random((9, SHAPE[1])) < 0.5).astype("float32")
    lazy_rows = get_namespace("dask").asarray(rows).rechunk((4, 31))
    held = RBM.from_parameters(*values, random_state=1)
    with guard():
        rbm = on_disk(tmp_path, kind, values, (8, 9))
        drawn = [rbm.gibbs(rows), rbm.gibbs(lazy_rows), rbm.sample(9, 3, initial=rows)]
        rates = [rbm.transform(rows), rbm.free_energy(lazy_rows), rbm.score_samples(rows), rbm.score_samples(lazy_rows)]
    wanted = [held.gibbs(rows), held.gibbs(rows), held.sample(9, 3, initial=rows)]
    with computing():
        for ours, theirs in zip(drawn, wanted, strict=True):
            np.testing.assert_array_equal(ours.compute(), theirs)
        for ours, theirs in zip(
            rates, [held.transform(rows), held.free_energy(rows), *[held.score_samples(rows)] * 2], strict=True
        ):
            np.testing.assert_allclose(ours.compute(), theirs, rtol=1e-4, atol=1e-5)
        estimate = rbm.ais(20, 8, random_state=4)
    np.testing.assert_allclose(estimate.log_z, held.ais(20, 8, random_state=4).log_z, rtol=1e-5)


@pytest.mark.parametrize("kind", FILES)
def test_a_model_in_a_folder_is_the_one_saved(kind: str, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("zarr")
    values = exact()
    rbm, held = on_disk(tmp_path, kind, values, (8, 9)), RBM.from_parameters(*values, random_state=1)
    with computing():
        rbm.save(tmp_path / "tiles.zarr")
        held.save(tmp_path / "whole.zarr")
    with guard():
        loaded = [RBM.load(tmp_path / "tiles.zarr"), RBM.load(tmp_path / "whole.zarr", library="dask")]
        drawn = [model.sample(6, 2) for model in loaded]
    assert loaded[0].components_.chunks == ((8, 8, 7), (9, 9, 9, 4))
    wanted = held.sample(6, 2)
    with computing():
        for chains in drawn:
            np.testing.assert_array_equal(chains.compute(), wanted)
        whole = RBM.load(tmp_path / "tiles.zarr", library="numpy")
    np.testing.assert_array_equal(whole.components_, values[0])
    np.testing.assert_array_equal(whole.sample(6, 2), wanted)


def test_an_ordinary_file_can_be_opened_for_dask(tmp_path: pathlib.Path) -> None:
    values = exact()
    RBM.from_parameters(*values).save(tmp_path / "model.safetensors")
    with guard():
        components = RBM.load(tmp_path / "model.safetensors", library="dask").components_
    with computing():
        np.testing.assert_array_equal(components.compute(), values[0])


def test_folders_of_something_else_are_refused(tmp_path: pathlib.Path) -> None:
    from nbm_xp.storage.chunked import save_group

    pytest.importorskip("zarr")
    save_group(tmp_path / "x.zarr", {"x": np.ones(3)}, {"format": "another"})
    with pytest.raises(ValueError, match="'another', not 'nbm_xp"):
        RBM.load(tmp_path / "x.zarr")
    with pytest.raises(ValueError, match="written whole"):
        RBM.load(tmp_path)
