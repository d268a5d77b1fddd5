"""Files that others made: nothing in them is run, no header is believed beyond measure, no address taken for a path."""

from __future__ import annotations

import ast
import io
import json
import os
import pathlib
import pickle
import threading
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from nbm_xp.boltzmann import DBM, RBM, Topology, load
from nbm_xp.namespace import save_configuration
from nbm_xp.records import parsed
from nbm_xp.runs import RunDirectory, diagnose, evaluate, open_dataset, open_samples, read_evaluation, sample
from nbm_xp.storage.arrays import check_claims, load_arrays, load_tensors, map_array, save_arrays, save_tensors
from nbm_xp.storage.chunked import is_group, open_array, open_group, save_group
from nbm_xp.tape import placeholder, visualize
from tests.helpers.libraries import computing
from tests.helpers.runs import ordinary

zarr = pytest.importorskip("zarr")

VALUES = np.arange(120, dtype="float32").reshape(12, 10)


class Trap:
    """What unpickling leaves a mark by."""

    def __init__(self, mark: pathlib.Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (os.fspath(self.mark),)


@pytest.fixture
def array(tmp_path: pathlib.Path) -> pathlib.Path:
    zarr.create_array(tmp_path / "x.zarr", data=VALUES, chunks=(5, 4), zarr_format=3)
    return tmp_path / "x.zarr"


def rewritten(folder: pathlib.Path, **change: Any) -> None:
    header = folder / "zarr.json"
    header.write_text(json.dumps(json.loads(header.read_text()) | change))


def version_2(folder: pathlib.Path, mark: pathlib.Path) -> None:
    """An array of Zarr's version 2 whose chunks are pickles, and the group that it is in."""
    (folder / "x").mkdir(parents=True)
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    (folder / ".zattrs").write_text('{"nbm_xp": "{}"}')
    about = {"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "<f8", "fill_value": 0, "order": "C"}
    about |= {"compressor": {"id": "pickle", "protocol": 5}, "filters": None}
    (folder / "x" / ".zarray").write_text(json.dumps(about))
    (folder / "x" / "0").write_bytes(pickle.dumps(Trap(mark)))


SHARDS = {"chunk_shape": [5, 2], "codecs": [{"name": "vlen-utf8"}], "index_codecs": [{"name": "bytes"}]}


def test_what_version_2_would_run_is_never_opened(tmp_path: pathlib.Path) -> None:
    mark, folder = tmp_path / "mark", tmp_path / "model.zarr"
    version_2(folder, mark)
    for read in (RBM.load, DBM.load, load, open_group, open_array, lambda path: open_array(path / "x")):
        with pytest.raises(ValueError, match=r"model\.zarr"):
            read(folder)
    with pytest.raises(FileExistsError, match="something else"):
        save_group(folder, {"x": VALUES}, {})
    assert not mark.exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"codecs": [{"name": "numcodecs.pickle", "configuration": {}}]}, "codecs must be one of"),
        ({"codecs": ["pickle"]}, "codecs must be one of"), ({"codecs": []}, "codecs must be a list"),
        ({"codecs": [{"name": "sharding_indexed", "configuration": SHARDS}]}, "codecs must be one of .* 'vlen-utf8'"),
        ({"data_type": "string"}, "data_type must be one of"),
        ({"data_type": {"name": "structured"}}, "data_type must be one of"),
        ({"storage_transformers": [{"name": "x"}]}, "storage_transformers must be none"),
        ({"chunk_grid": {"name": "rectilinear", "configuration": {"chunk_shape": [5, 4]}}}, "chunk_grid"),
        ({"chunk_grid": {"name": "regular"}}, "is damaged"), ({"chunk_key_encoding": 3}, "is damaged"),
        ({"shape": [10**9, 10**9]}, "claims 4,000,000,000,000,000,000 bytes, and at most"),
        ({"shape": [10**9, 10**5]}, "claims 5,000,000,000,000 tiles"), ({"shape": [10**400, 1]}, "claims"),
        ({"shape": [12]}, "along the same axes"), ({"shape": [-1, 10]}, "whole numbers"),
        ({"shape": [1.5, 10]}, "whole numbers"),
        ({"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [0, 4]}}}, "whole numbers"),
        ({"zarr_format": 2}, "no Zarr array of version 3"), ({"node_type": "group"}, "no Zarr array of version 3"),
    ],
    ids=str,
)  # fmt: skip
def test_headers_are_held_to_what_is_known(array: pathlib.Path, change: dict[str, Any], says: str) -> None:
    rewritten(array, **change)
    with pytest.raises(ValueError, match=says):
        open_array(array)


def test_python_objects_are_not_written(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match="x must be an array of numbers or a string, got Python objects"):
        save_arrays(tmp_path / "x.npz", {"x": np.array([object()])})
    assert not list(tmp_path.iterdir())


def test_ordinary_codecs_are_read(tmp_path: pathlib.Path) -> None:
    codecs = zarr.codecs
    for number, given in enumerate(
        (
            {"compressors": [codecs.GzipCodec(), codecs.Crc32cCodec()]},
            {"compressors": codecs.BloscCodec()},
            {"compressors": None, "shards": (12, 10), "chunks": (6, 5)},
            {"compressors": codecs.ZstdCodec(), "filters": [codecs.TransposeCodec(order=(1, 0))]},
        )
    ):
        about = {"shape": (12, 10), "dtype": "float32", "chunks": (5, 4), "zarr_format": 3}
        zarr.create_array(tmp_path / f"{number}", **about | given)[:] = VALUES
        with computing():
            np.testing.assert_array_equal(open_array(tmp_path / f"{number}").compute(), VALUES)


def test_a_model_s_folder_claims_no_more_than_there_is(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "model.zarr"
    ordinary().save(folder)
    rewritten(folder / "weights.0-1", shape=[10**9, 10**6])
    with pytest.raises(ValueError, match=r"model\.zarr is damaged: what its zarr.json say is not what was written"):
        load(folder)


def test_a_flipped_bit_in_any_file_of_a_model_is_told(tmp_path: pathlib.Path) -> None:
    rbm = ordinary()
    for name in ("model.safetensors", "model.zarr"):
        rbm.save(tmp_path / name)
    for file in sorted(path for path in tmp_path.rglob("*") if path.is_file()):
        whole = file.read_bytes()
        for place in {0, 9, len(whole) // 3, len(whole) // 2, len(whole) - 3, len(whole) - 1} & set(range(len(whole))):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            where = tmp_path / file.relative_to(tmp_path).parts[0]
            with computing(), pytest.raises(ValueError, match=where.name):
                load(where, "numpy")
        file.write_bytes(whole)
    with computing():
        for name in ("model.safetensors", "model.zarr"):
            assert np.array_equal(load(tmp_path / name, "numpy").components_, rbm.components_)


def test_every_bit_of_a_safetensors_header_counts(tmp_path: pathlib.Path) -> None:
    """All that a model says, digest and all: a bit of it in turn."""
    path = tmp_path / "model.safetensors"
    RBM.from_parameters(np.ones((1, 2)), np.zeros(1), np.zeros(2)).save(path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << place % 7)]) + whole[place + 1 :])
        with pytest.raises(ValueError, match=r"model\.safetensors"):
            load(path)


@pytest.mark.parametrize("name", ["seed", "n_iter", "n_samples", "rstate"])
@pytest.mark.parametrize("value", ["Infinity", "NaN", "null", "[]", '"x"', "1e400"])
def test_progress_is_told_in_whole_numbers(tmp_path: pathlib.Path, name: str, value: str) -> None:
    """In a file whose digest is its own, but which no model wrote."""
    path = tmp_path / "model.safetensors"
    RBM.from_parameters(np.ones((1, 2)), np.zeros(1), np.zeros(2)).save(path)
    arrays, about = load_tensors(path)
    progress = json.loads(about["progress"]) | {name: "VALUE"}
    save_tensors(path, arrays, about | {"progress": json.dumps(progress).replace('"VALUE"', value)})
    with pytest.raises(ValueError, match=r"model\.safetensors"):
        load(path)


def test_a_tile_is_never_zeros_by_mistake(tmp_path: pathlib.Path) -> None:
    save_group(tmp_path / "x.zarr", {"x": np.zeros((4, 4))}, {})
    (tile,) = (path for path in (tmp_path / "x.zarr" / "x").rglob("*") if path.is_file() and path.name != "zarr.json")
    lazy = open_group(tmp_path / "x.zarr")[0]["x"]
    tile.unlink()
    with computing(), pytest.raises(ValueError, match="x is damaged: it lacks the chunk"):
        lazy.compute()
    tile.mkdir()
    with pytest.raises(ValueError, match=r"x is damaged: c\.0\.0 is no file"):
        open_group(tmp_path / "x.zarr")


# What headers claim


def bomb() -> bytes:
    """An .npz file of 2 MB that holds 2 GB of zeros."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, {"descr": "|u1", "fortran_order": False, "shape": (2 * 10**9,)})
        for _ in range(2000):
            member.write(bytes(10**6))
    return packed.getvalue()


def header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def archived(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("x.npy", content)
    return packed.getvalue()


CLAIMS = header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000000), }\n")
NESTED = header("-" * 9000 + "1\n")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (lambda: archived(CLAIMS), "claims 8,000,000,000,000,000,000 bytes of numbers, and it holds 0"),
        (lambda: archived(NESTED), "header"),
        (lambda: archived(header("{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }\n")), "header claims"),
        (lambda: archived(b"\x93NUMPY\x09\x00"), "version"),
        (lambda: header("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }\n") + b"1", "without a name"),
        pytest.param(bomb, "times as many as it holds", marks=pytest.mark.slow),
    ],
    ids=["shape", "nested", "negative", "version", "one array", "bomb"],
)
def test_archives_claim_no_more_than_they_hold(tmp_path: pathlib.Path, content: Callable[[], bytes], says: str) -> None:
    (tmp_path / "x.npz").write_bytes(content())
    tracemalloc.start()
    with pytest.raises(ValueError, match=says):
        load_arrays(tmp_path / "x.npz")
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


@pytest.mark.parametrize("content", [CLAIMS, NESTED], ids=["shape", "nested"])
def test_so_do_single_arrays(tmp_path: pathlib.Path, content: bytes) -> None:
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.npy is no \.npy file of numbers"):
        open_array(tmp_path / "x.npy")
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros((1000, 1000)))  # many times as many bytes, but few
    assert load_arrays(tmp_path / "x.npz")["x"].shape == (1000, 1000)
    with open(tmp_path / "x.npy", "rb") as file, pytest.raises(ValueError, match="header"):
        check_claims(file)


def test_one_thread_reads_a_header_at_a_time(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two at once one may fail with a SystemError on Python 3.11, whose `ast.literal_eval` NumPy calls."""
    np.savez(tmp_path / "x.npz", x=np.zeros(3))
    np.save(tmp_path / "x.npy", np.zeros(3))
    parse, reading, together = ast.literal_eval, threading.Semaphore(1), []

    def parsed_alone(text: str) -> Any:
        alone = reading.acquire(blocking=False)
        together.append(not alone)
        time.sleep(1e-3)
        if alone:
            reading.release()
        return parse(text)

    monkeypatch.setattr(ast, "literal_eval", parsed_alone)
    with ThreadPoolExecutor(4) as threads:
        for _ in range(5):
            threads.submit(load_arrays, tmp_path / "x.npz")
            threads.submit(map_array, tmp_path / "x.npy")
    assert len(together) == 15  # twice for an archive: its claims are looked at first
    assert not any(together)


def test_machines_have_so_many_layers_and_json_no_more() -> None:
    with pytest.raises(ValueError, match=r"run\.json is not JSON that can be read: it is nested too deeply"):
        parsed("[" * 200_000, "run.json")
    assert len(Topology([1] * 1000).groups) == 2
    with pytest.raises(ValueError, match="layers must be at most 1000, got 20000"):
        Topology([1] * 20_000)
    with pytest.raises(ValueError, match="once"):
        Topology([1, 1], [(0, 1)] * 10**4)


# Addresses

ADDRESSES = ["http:/x", "zip::/x.zip", "s3://", "s3://key:secret@bucket/x"]
PUBLIC: dict[str, Callable[[Any], object]] = {
    "RBM.load": RBM.load, "DBM.load": DBM.load, "load": load, "save": lambda path: ordinary().save(path),
    "open_array": open_array, "open_group": open_group, "is_group": is_group,
    "save_group": lambda path: save_group(path, {"x": VALUES}, {}),
    "sample": lambda path: sample(ordinary(), path, n_chains=2, n_draws=2),
    "evaluate": lambda path: evaluate(ordinary(), path, n_chains=2, n_temperatures=2), "open_samples": open_samples,
    "open_dataset": open_dataset, "read_evaluation": read_evaluation, "diagnose": diagnose,
    "begin": lambda path: RunDirectory.create(path, "train", {}), "open": RunDirectory.open,
    "visualize": lambda path: visualize(placeholder((2,)), path), "save_configuration": save_configuration,
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_addresses_of_no_store_are_no_paths(name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for address in [*ADDRESSES, *(["memory://x"] if name in ("save_group", "visualize", "save_configuration") else [])]:
        with pytest.raises(ValueError, match=r"(path|directory) must (be a path|not hold a password)") as raised:
            PUBLIC[name](address)
        assert "secret" not in str(raised.value)
    for other in (0, b"model", ["model"]):
        with pytest.raises(TypeError, match=r"(path|directory) must be a path, got"):
            PUBLIC[name](other)
    with pytest.raises(ValueError, match=r"(path|directory) must be a path, got ''"):
        PUBLIC[name]("")
    assert list(tmp_path.iterdir()) == []
