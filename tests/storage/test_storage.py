"""Arrays in files and folders: opened without being read, written tile by tile, whole or not at all."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

from nbm_xp.storage.chunked import is_group, open_array, open_group, save_group
from tests.helpers.libraries import computing, guard

zarr = pytest.importorskip("zarr")

VALUES = np.arange(120, dtype="float32").reshape(12, 10)


def numpy(lazy: Any) -> Any:
    with computing():
        return lazy.compute()


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_npy_file_is_opened_in_tiles(order: str, tmp_path: pathlib.Path) -> None:
    np.save(tmp_path / "x.npy", np.asarray(VALUES, order=order))
    with guard():
        x = open_array(tmp_path / "x.npy", chunks=(5, 4))
    assert (x.shape, x.dtype, x.chunks) == ((12, 10), np.float32, ((5, 5, 2), (4, 4, 2)))
    np.testing.assert_array_equal(numpy(x), VALUES)
    assert type(numpy(x[:5, :4])) is np.ndarray
    assert open_array(tmp_path / "x.npy").numblocks == (1, 1)
    assert len(pickle.dumps(x)) < 5000


def test_a_changed_file_is_another_array(tmp_path: pathlib.Path) -> None:
    np.save(tmp_path / "x.npy", VALUES)
    name = open_array(tmp_path / "x.npy").name
    assert open_array(tmp_path / "x.npy").name == name
    np.save(tmp_path / "x.npy", VALUES[1:])
    assert open_array(tmp_path / "x.npy").name != name


def test_a_zarr_array_is_opened_in_its_own_chunks(tmp_path: pathlib.Path) -> None:
    zarr.create_array(tmp_path / "x.zarr", data=VALUES, chunks=(5, 4))
    with guard():
        x, other = open_array(tmp_path / "x.zarr"), open_array(tmp_path / "x.zarr", chunks=6)
    assert (x.chunks, other.numblocks) == (((5, 5, 2), (4, 4, 2)), (2, 2))
    np.testing.assert_array_equal(numpy(x), VALUES)
    np.testing.assert_array_equal(numpy(other), VALUES)


def test_other_files_raise_an_error(tmp_path: pathlib.Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    for content in (b"", b"no array", pickle.dumps(VALUES), (tmp_path / "objects.npy").read_bytes()):
        (tmp_path / "x.npy").write_bytes(content)
        with pytest.raises(ValueError, match=r"x\.npy is no \.npy file of numbers"):
            open_array(tmp_path / "x.npy")
    (tmp_path / "x.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"x\.npy"):
        open_array(tmp_path / "x.npy")
    with pytest.raises(ValueError, match="is no Zarr array"):
        open_array(tmp_path)
    with pytest.raises(ValueError, match="is no folder of arrays that was written whole"):
        open_group(tmp_path / "x.zarr")


def test_a_folder_keeps_arrays_and_tiles(tmp_path: pathlib.Path) -> None:
    arrays = {
        "eager": VALUES, "lazy": da.from_array(VALUES, chunks=(5, 4)),
        "uneven": da.from_array(VALUES, chunks=((2, 7, 3), (1, 9))),
        "growing": da.from_array(VALUES, chunks=((5, 7), (10,))), "vector": np.arange(3.0), "scalar": np.asarray(2.5),
        "empty": np.zeros((0, 4)),
    }  # fmt: skip
    with computing():
        save_group(tmp_path / "x.zarr", arrays, {"note": "ä"})
    with guard():
        found, about = open_group(tmp_path / "x.zarr")
    assert about == {"note": "ä"}
    assert found.keys() == arrays.keys()
    assert found["lazy"].chunks == ((5, 5, 2), (4, 4, 2))
    for name, array in found.items():
        np.testing.assert_array_equal(numpy(array), np.asarray(arrays[name]))
        assert array.dtype == arrays[name].dtype
    assert [file.name for file in tmp_path.iterdir()] == ["x.zarr"]
    group = zarr.open_group(tmp_path / "x.zarr", mode="r")  # ordinary Zarr
    np.testing.assert_array_equal(group["eager"][:], VALUES)
    assert is_group(tmp_path) and is_group("model.zarr") and not is_group("model.npz")


def test_a_folder_is_replaced_by_a_whole_one_or_not_at_all(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.zarr"
    save_group(path, {"x": VALUES}, {"version": 1})

    def fail(block: Any) -> Any:
        raise OSError("no space left on device")

    broken = da.from_array(VALUES, chunks=5).map_blocks(fail, dtype="float32", meta=VALUES[:0, :0])
    with computing(), pytest.raises(OSError, match="no space left"):
        save_group(path, {"y": VALUES, "x": broken}, {"version": 2})
    assert [file.name for file in tmp_path.iterdir()] == ["x.zarr"]
    found, about = open_group(path)
    assert (about, list(found)) == ({"version": 1}, ["x"])
    save_group(path, {"z": VALUES[:2]}, {"version": 3})
    assert [file.name for file in tmp_path.iterdir()] == ["x.zarr"]
    found, about = open_group(path)
    assert (about, list(found)) == ({"version": 3}, ["z"])


def test_what_is_there_and_is_something_else_stays(tmp_path: pathlib.Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="something else"):
        save_group(tmp_path, {"x": VALUES}, {})
    half = zarr.create_group(tmp_path / "half.zarr")
    half.create_array("x", shape=VALUES.shape, dtype=VALUES.dtype)
    with pytest.raises(ValueError, match="written whole"):
        open_group(tmp_path / "half.zarr")
    with pytest.raises(FileExistsError, match="something else"):
        save_group(tmp_path / "half.zarr", {"x": VALUES}, {})


def test_large_arrays_in_memory_are_cut(tmp_path: pathlib.Path) -> None:
    with dask.config.set({"array.chunk-size": "1KiB"}):
        save_group(tmp_path / "x.zarr", {"x": np.zeros((6000, 6000), "float32")}, {})
    (x,) = open_group(tmp_path / "x.zarr")[0].values()
    assert 1 < x.numblocks[0] * x.numblocks[1] < 10
