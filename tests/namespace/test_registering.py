"""A library registered by a small external package: replacements, kernels, errors."""

from __future__ import annotations

import ast
import importlib
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbm_xp
from nbm_xp import keras2 as K
from nbm_xp import natural_bm as B
from nbm_xp import register_library
from nbm_xp.boltzmann import RBM
from nbm_xp.namespace import array_namespace, is_lazy, kernel, kernels, library_name, put, to_numpy, use_backend
from nbm_xp.rng import Generator
from nbm_xp.tape import Variable, evaluate, gradients
from tests.helpers.unregistered import restored

ARRAYS = '''
"""Arrays that box NumPy's, and a namespace of the standard that has no sign, and whose maximum is a minimum."""

import sys
import types

import numpy as np


class Boxed:
    def __init__(self, value):
        self.value = np.asarray(value)

    dtype = property(lambda self: self.value.dtype)
    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    device = "a box"
    T = property(lambda self: Boxed(self.value.T))

    def __array_namespace__(self, *, api_version=None):
        return sys.modules[__name__]

    def __getitem__(self, key):
        return Boxed(self.value[_bare(key)])

    def __setitem__(self, key, value):
        self.value[_bare(key)] = _bare(value)


def _bare(x):
    if isinstance(x, (list, tuple)):
        return type(x)(map(_bare, x))
    return x.value if isinstance(x, Boxed) else x


def _boxed(x):
    if isinstance(x, tuple):
        return tuple(map(_boxed, x))
    return Boxed(x) if isinstance(x, (np.ndarray, np.generic)) else x


def _through(function):
    def call(*args, device=None, **options):
        return _boxed(function(*map(_bare, args), **{key: _bare(value) for key, value in options.items()}))

    return call


for _name in "add sub mul truediv pow matmul lt le gt ge eq ne and or mod floordiv neg invert abs".split():
    for _each in (f"__{_name}__", f"__r{_name}__"):
        if hasattr(np.ndarray, _each):
            setattr(Boxed, _each, _through(getattr(np.ndarray, _each)))
for _each in ("__bool__", "__int__", "__float__", "__index__"):
    setattr(Boxed, _each, lambda self, _each=_each: getattr(self.value, _each)())

isdtype, e, inf, nan, pi, newaxis = np.isdtype, np.e, np.inf, np.nan, np.pi, None
__array_api_version__ = "2024.12"
for _name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split():
    globals()[_name] = np.dtype(_name)
for _name in np.__all__:
    if callable(getattr(np, _name)) and not isinstance(getattr(np, _name), type) and _name not in globals():
        globals()[_name] = _through(getattr(np, _name))
maximum = minimum
del sign
linalg = types.SimpleNamespace(**{name: _through(getattr(np.linalg, name)) for name in ("inv", "det")})
'''

GLUE = '''
"""What the arrays of boxed_arrays lack, given from outside."""

import boxed_arrays
import numpy as np

from nbm_xp import register_library

CALLS = []


def sign(x):
    return boxed_arrays.Boxed(np.sign(x.value))


def maximum(x1, x2):
    return boxed_arrays.Boxed(np.maximum(*(getattr(x, "value", x) for x in (x1, x2))))


def trace(x, /, *, offset=0, dtype=None):
    return boxed_arrays.Boxed(np.linalg.trace(x.value, offset=offset, dtype=dtype))


def put(x, places, values, axis):
    CALLS.append("put")
    out = np.array(x.value)
    out[(slice(None),) * axis + (places.value,)] = getattr(values, "value", values)
    return boxed_arrays.Boxed(out)
'''


@pytest.fixture
def arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Import the arrays' package, beside a package that registers it; both are removed afterwards."""
    (tmp_path / "boxed_arrays.py").write_text(ARRAYS)
    (tmp_path / "boxed_glue.py").write_text(GLUE)
    monkeypatch.syspath_prepend(tmp_path)
    with restored():
        yield importlib.import_module("boxed_arrays")
    for name in ("boxed_arrays", "boxed_glue"):
        sys.modules.pop(name, None)


def registered() -> None:
    register_library(
        "boxed", namespace, "boxed_arrays:Boxed",
        replacements={"sign": "boxed_glue:sign", "maximum": "boxed_glue:maximum", "linalg.trace": "boxed_glue:trace"},
        kernels={"put": "boxed_glue:put", "to_numpy": lambda x: x.value},
        install="boxed-arrays",
    )  # fmt: skip


def namespace() -> Any:
    return importlib.import_module("boxed_arrays")


def test_as_it_is_without_being_registered(arrays: Any) -> None:
    x = arrays.Boxed([[1.0, -2.0], [3.0, 4.0]])
    assert nbm_xp.namespace.is_array(x)
    assert array_namespace(x) is arrays
    assert library_name(x) == library_name(arrays) == "boxed_arrays"
    np.testing.assert_array_equal(B.sum(x, axis=0).value, [4.0, 2.0])
    with pytest.raises(TypeError, match=r"^boxed_arrays has no sign, which sign needs$"):
        B.sign(x)
    for leave in (to_numpy, RBM(2, n_iter=1, random_state=0).fit, lambda x: RBM(2).fit(np.eye(2)).transform(x)):
        with pytest.raises(TypeError, match=r"neither __array__ nor __dlpack__, .*takes a kernel 'to_numpy"):
            leave(x)
    assert "boxed_arrays" in nbm_xp.info()["libraries"]


def test_mends_and_kernels_from_outside(arrays: Any) -> None:
    registered()
    assert "boxed_glue" not in sys.modules, "nothing is imported before the first array comes"
    x = arrays.Boxed([[1.0, -2.0], [3.0, 4.0]])
    xp = array_namespace(x)
    assert library_name(x) == library_name(xp) == library_name(arrays) == "boxed"
    assert not is_lazy(xp)
    np.testing.assert_array_equal(B.sign(x).value, [[1.0, -1.0], [1.0, 1.0]])
    np.testing.assert_array_equal(K.relu(x).value, [[1.0, 0.0], [3.0, 4.0]])
    assert float(xp.linalg.trace(x)) == 5.0
    np.testing.assert_allclose((xp.linalg.inv(x).value @ x.value), np.eye(2), atol=1e-15)
    new = put(x, arrays.Boxed([1]), 7.0, 0)
    assert importlib.import_module("boxed_glue").CALLS == ["put"]
    np.testing.assert_array_equal(to_numpy(new), [[1.0, -2.0], [7.0, 7.0]])
    assert pickle.loads(pickle.dumps(xp)) is xp


def test_all_of_it_on_a_registered_library(arrays: Any) -> None:
    registered()
    host = np.random.default_rng(0).random((6, 4))
    x = arrays.Boxed(host)
    variable, same = Variable(x), Variable(host)
    slope, want = (evaluate(gradients(B.sum(B.maximum(v, 0.5) ** 2 * B.sign(v - 0.3)), v)) for v in (variable, same))
    np.testing.assert_allclose(to_numpy(slope), want)
    for rng in (Generator(7, "boxed"), Generator(7, arrays), Generator(7, nbm_xp.namespace.get_namespace("boxed"))):
        np.testing.assert_array_equal(to_numpy(rng.normal(size=(3, 5))), Generator(7).normal(size=(3, 5)))
    np.testing.assert_array_equal(to_numpy(Generator(7).bernoulli(x)), Generator(7).bernoulli(host))
    with use_backend("boxed"):
        assert library_name(Generator(1).random(2)) == "boxed"
    rbm = RBM(3, random_state=1).fit(host)
    np.testing.assert_allclose(to_numpy(rbm.transform(x)), rbm.transform(host))


def test_arrays_that_were_met_before(arrays: Any) -> None:
    x = arrays.Boxed([1.0, -2.0])
    assert library_name(x) == "boxed_arrays"
    registered()
    assert library_name(x) == "boxed"
    np.testing.assert_array_equal(B.sign(x).value, [1.0, -1.0])


def test_under_the_name_that_it_was_met_by(arrays: Any) -> None:
    x = arrays.Boxed([1.0, -2.0])
    assert library_name(x) == "boxed_arrays"
    register_library("boxed_arrays", arrays, arrays.Boxed, replacements={"sign": np.positive})
    assert array_namespace(x) is not arrays
    assert library_name(x) == library_name(arrays) == "boxed_arrays"


def test_a_lazy_one_says_so(arrays: Any) -> None:
    register_library("boxed", arrays, arrays.Boxed, lazy=True)
    assert is_lazy(array_namespace(arrays.Boxed([1.0])))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"name": 3}, TypeError, "name must be a name, got 3"),
        ({"name": "numpy"}, ValueError, "name must be one that no library has yet, got 'numpy'"),
        ({"name": "gpu"}, ValueError, "name must be one that no library has yet, got 'gpu'"),
        ({"namespace": 3}, TypeError, "namespace must be an array API namespace.*got 3"),
        ({"namespace": "boxed_arrays"}, TypeError, "namespace must be .*got 'boxed_arrays'"),
        ({"array_types": ()}, ValueError, "array_types must name at least one class"),
        ({"array_types": "Boxed"}, TypeError, "array_types must be classes or 'package:Class', got 'Boxed'"),
        ({"array_types": np}, TypeError, "array_types must be classes or 'package:Class', got <module 'numpy'"),
        ({"array_types": [np.ndarray]}, ValueError, "classes that no library has yet, and numpy has"),
        ({"replacements": {"a.b": abs}}, ValueError, "replacements must be names of the standard.*got 'a.b'"),
        ({"replacements": {"sgn": abs}}, ValueError, "replacements must be names of the standard.*got 'sgn'"),
        ({"replacements": {"linalg.invert": abs}}, ValueError, "replacements must be names of .*'linalg.invert'"),
        ({"replacements": {"sort": 3}}, TypeError, r"replacements\['sort'\] must be callable or .*got 3"),
        ({"replacements": [abs]}, TypeError, "replacements must be a mapping of names to functions"),
        ({"kernels": {"sort": abs}}, ValueError, "kernels must be among .*scatter_add.*; got sort"),
        ({"kernels": {"put": "put"}}, TypeError, r"kernels\['put'\] must be callable or .*got 'put'"),
        ({"lazy": "yes"}, TypeError, "lazy must be True, False or None, got 'yes'"),
    ],
)
def test_what_cannot_be_registered(arrays: Any, change: dict[str, Any], error: type[Exception], text: str) -> None:
    good = {"name": "boxed", "namespace": arrays, "array_types": arrays.Boxed, "kernels": {"put": abs}}
    with pytest.raises(error, match=text):
        register_library(**(good | change))
    assert "boxed" not in nbm_xp.info()["libraries"]
    assert kernel("put", "boxed") is None


def test_what_is_registered_is_not_registered_again(arrays: Any) -> None:
    registered()
    with pytest.raises(ValueError, match="name must be one that no library has yet, got 'boxed'"):
        registered()


def test_every_kernel_that_is_asked_for_has_a_name() -> None:
    """Functions that bodies use must be in `OPERATIONS`, or external packages could not register them."""
    asked = set()
    for path in Path(nbm_xp.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            title = getattr(called, "id", getattr(called, "attr", ""))
            if title in ("kernel", "or_kernel") and isinstance(node.args[0], ast.Constant):
                asked.add(node.args[0].value)
    assert {"put", "rng.draw", "convolution.correlate"} <= asked
    assert asked <= kernels.OPERATIONS
    known = {name for (name, _), found in kernels._KERNELS.items() if found}
    assert {name for name in known if not name.startswith(("test.", "example."))} <= kernels.OPERATIONS
