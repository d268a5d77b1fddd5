"""The stand-in for CuPy: it has CuPy's names and no other, and rejects what CuPy rejects."""

from __future__ import annotations

import copy
import importlib.util
import json
import pickle
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import concrete_int, to_numpy
from tests.helpers.standin_cupy import installed
from tests.helpers.standin_cupy.arrays import RECORD
from tests.helpers.standin_cupy.record import recorded

CUPY = importlib.util.find_spec("cupy") is not None
standing_in = pytest.mark.skipif(not installed(), reason="the stand-in is not installed: pytest --standin-cupy")


@pytest.mark.skipif(installed() or not CUPY, reason="CuPy is not installed, or its stand-in is")
def test_the_record_is_that_of_the_installed_cupy() -> None:
    found = json.loads(json.dumps(recorded()))
    if found["release"] != RECORD["release"]:
        pytest.skip(f"CuPy {found['release']} is installed, and the record is of {RECORD['release']}")
    assert found == RECORD


@pytest.fixture
def cp() -> Any:
    """The module."""
    import cupy

    return cupy


@pytest.fixture
def x(cp: Any) -> Any:
    """An array of its."""
    return cp.asarray(np.arange(6.0).reshape(2, 3))


@standing_in
def test_standin_of_cupy_has_the_names_of_the_record_and_no_other(cp: Any, x: Any) -> None:
    for module, path in (("cupy", cp), ("cupy.linalg", cp.linalg), ("cupy.fft", cp.fft), ("cupy.cuda", cp.cuda)):
        assert {name for name in vars(path) if not name.startswith("_")} == set(RECORD[module])
    assert {name for name in dir(x) if not name.startswith("_")} <= set(RECORD["ndarray"])
    with pytest.raises(AttributeError):
        cp.trapz_of_mine  # noqa: B018
    with pytest.raises(AttributeError):
        cp.linalg.svdvals  # noqa: B018 - NumPy has it
    with pytest.raises(AttributeError):
        x.flags.writeable  # noqa: B018
    with pytest.raises(NotImplementedError, match="not modelled"):
        cp.random.rand(3)
    with pytest.raises(NotImplementedError, match="not modelled"):
        x.cstruct  # noqa: B018


@standing_in
@pytest.mark.parametrize(
    "wrong",
    [
        lambda cp, x: np.asarray(x), lambda cp, x: x + np.ones(3), lambda cp, x: np.exp(x, out=np.empty((2, 3))),
        lambda cp, x: x @ np.ones(3), lambda cp, x: cp.concatenate([x, np.ones((1, 3))]),
        lambda cp, x: cp.sum(x, where=x > 0), lambda cp, x: range(x[0, 0].astype(int)),
        lambda cp, x: cp.zeros(x.sum().astype(int)), lambda cp, x: x.astype(int, casting="safe"),
        lambda cp, x: np.add.at(x.astype("int8"), cp.asarray([0]), 1),
    ],
)  # fmt: skip
def test_standin_of_cupy_rejects_with_a_type_error(cp: Any, x: Any, wrong: Any) -> None:
    with pytest.raises(TypeError):
        wrong(cp, x)


@standing_in
def test_standin_of_cupy_rejects_values(cp: Any, x: Any) -> None:
    with pytest.raises(ValueError, match="size 1"):
        x.item()
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    with pytest.raises(ValueError, match="Unsupported dtype"):
        cp.asarray(["text"])
    with pytest.raises(ValueError, match="Unsupported dtype"):
        cp.zeros(3, dtype=object)


@standing_in
def test_standin_of_cupy_keeps_results_on_the_device(cp: Any, x: Any) -> None:
    results = [x.sum(), x[0, 0], np.exp(x), np.concatenate([x, x]), cp.array_equal(x, x), *x.nonzero(), x > 1]
    assert all(type(result) is cp.ndarray for result in results)
    assert cp.float32(2) * x.astype("float32")[0, 0] == 0
    assert (x.astype("float32") * 2.5).dtype == "float32"
    assert (x.astype("uint8") * 2.5).dtype == "float64"
    assert cp.asarray([0, 1], dtype="uint8").sum().dtype == "uint64"
    assert isinstance(cp.asnumpy(x), np.ndarray)
    assert pickle.loads(pickle.dumps(x)).get().tolist() == copy.deepcopy(x).get().tolist() == x.tolist()


@standing_in
def test_standin_of_cupy_means_what_cupy_means(cp: Any, x: Any) -> None:
    assert cp.isinf(1.0 / cp.zeros(2)).all()  # no warning
    part = x[:, 1:]
    part[...] = 7
    assert part.data.mem.ptr == x.data.mem.ptr
    assert x.tolist() == [[0, 7, 7], [3, 7, 7]]
    twice = cp.zeros(3)
    twice[cp.asarray([1, 1])] = cp.asarray([5.0, 6.0])
    assert twice.tolist() == [0, 5, 0]  # not NumPy's, the last


@standing_in
def test_standin_of_cupy_runs_the_text_of_kernels(cp: Any) -> None:
    text = """
    extern "C" __global__ void fill(long long n, const float *step, float *out) {
        long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n)
            out[i] = (float)i * step[0];
    }
    """
    kernel, out = cp.RawKernel(text, "fill", options=("--fmad=false",)), cp.zeros(300, dtype="float32")
    kernel((2,), (256,), (np.int64(300), cp.full((1,), 0.5, dtype="float32"), out))
    np.testing.assert_array_equal(out.get(), np.arange(300, dtype="float32") / 2)
    with pytest.raises(TypeError, match="Unsupported type"):
        kernel((2,), (256,), (np.int64(300), np.ones(1, "float32"), out))


@standing_in
def test_standin_of_cupy_makes_hidden_transfers_failures(cp: Any, x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbm_xp.functions import reductions
    from tests.helpers.standin_cupy import device

    assert to_numpy(x).shape == (2, 3)
    assert concrete_int(cp.asarray(3)) == 3
    code = compile("def hidden(x):\n    return float(x)", reductions.__file__, "exec")
    place: dict[str, Any] = {}
    exec(code, place)
    with pytest.raises(device.HiddenTransferError, match=r"float\(\) copies .*reductions\.py:2, hidden"):
        place["hidden"](x[0, 0])
