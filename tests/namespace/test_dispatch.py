"""Selection of the namespace: by arrays, by name, by default; its cost; and the imports of the package."""

from __future__ import annotations

import enum
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import array_api_extra as xpx
import numpy as np
import pytest

import nbm_xp
from nbm_xp import namespace
from nbm_xp import natural_bm as B
from nbm_xp.boltzmann import RBM
from nbm_xp.namespace import array_namespace, get_namespace, kernel, library_name, register_array_type, register_kernel
from nbm_xp.namespace import libraries as library_table
from nbm_xp.rng import Generator
from nbm_xp.tape import Variable, evaluate, placeholder, value_and_grad
from nbm_xp.tape import namespace as recorded
from tests.helpers.libraries import Library, libraries
from tests.helpers.unregistered import restored

INPUT = placeholder((None, 2), dtype="float64")


def test_one_array(library: Library) -> None:
    x = library.array([1.0, 2.0])
    assert array_namespace(x) is library.xp
    assert array_namespace(x, x, None, 2, 1.5, True, 1j) is library.xp
    assert array_namespace(3, None, x) is library.xp
    assert library_name(x) == library_name(library.xp) == library.name
    assert namespace.is_array(x)


def test_subclasses_belong_to_the_library() -> None:
    class Own(np.ndarray):
        pass

    for x in (np.float32(2), np.float64(2), np.ones(2).view(Own)):
        assert array_namespace(x) is get_namespace("numpy")
    assert array_namespace(np.ones((2, 2)).view(np.recarray)) is get_namespace("numpy")


@pytest.mark.parametrize("library", libraries("torch"))
def test_parameters_of_torch_are_tensors(library: Library) -> None:
    import torch

    assert array_namespace(torch.nn.Parameter(torch.ones(2))) is library.xp


@pytest.mark.parametrize("library", libraries("jax"))
def test_traced_arrays_of_jax(library: Library) -> None:
    import jax

    seen: list[Any] = []

    def body(x: Any) -> Any:
        seen.append(array_namespace(x))
        assert namespace.is_array(x)
        return library.xp.sum(x)

    x = library.array(np.ones((2, 3)))
    jax.jit(body)(x)
    jax.grad(body)(x)
    jax.vmap(body)(x)
    assert len(seen) == 3
    assert all(xp is library.xp for xp in seen)


def test_scalars_alone_give_the_default() -> None:
    class Colour(enum.IntEnum):
        RED = 1

    assert array_namespace() is namespace.default_namespace()
    assert array_namespace(1, 2.0, None, True, 1j, Colour.RED) is get_namespace("numpy")
    assert array_namespace(Colour.RED, np.ones(2)) is get_namespace("numpy")


HOSTS_OWN = ("numpy", "dask-one", "dask-halves", "dask-ragged", "dask-singles")


@pytest.mark.parametrize("library", libraries(without=HOSTS_OWN))
def test_two_libraries_are_refused_by_name(library: Library) -> None:
    for arguments in [(library.array([1.0]), np.ones(1)), (np.ones(1), 2.0, library.array([1.0]))]:
        with pytest.raises(TypeError, match="two array libraries") as caught:
            array_namespace(*arguments)
        assert library.name in str(caught.value)
        assert "numpy" in str(caught.value)


@pytest.mark.parametrize("value", ["text", [1.0], (1,), {1: 2}, object(), np.dtype("f4"), range(3)])
def test_what_is_no_array_is_refused(value: object) -> None:
    assert not namespace.is_array(value)
    with pytest.raises(TypeError, match="expected arrays or Python scalars"):
        array_namespace(value)
    with pytest.raises(TypeError, match="expected arrays or Python scalars"):
        array_namespace(np.ones(2), value)
    with pytest.raises(TypeError, match="expected an array or a namespace"):
        library_name(value)


def test_registered_types() -> None:
    class Base:
        pass

    class Derived(Base):
        pass

    class Plain:
        pass

    recorder, plain = SimpleNamespace(__name__="recorder"), SimpleNamespace(__name__="plain")
    register_array_type(Base, recorder, absorbing=True)
    register_array_type(Plain, plain)
    for arguments in [(Base(),), (Derived(),), (np.ones(2), Derived()), (Base(), np.ones(2), 1), (Derived(), Base())]:
        assert array_namespace(*arguments) is recorder
    assert array_namespace(Plain()) is plain
    assert array_namespace(Plain(), Base()) is recorder
    with pytest.raises(TypeError, match="two array libraries, numpy and plain"):
        array_namespace(np.ones(2), Plain())
    assert not namespace.is_array(Base())
    register_array_type(Derived, plain)
    assert array_namespace(Derived()) is plain
    register_array_type(Plain, plain, absorbing=True)
    with pytest.raises(TypeError, match=r"two array libraries, \w+ and \w+"):
        array_namespace(Base(), Plain())
    with pytest.raises(TypeError, match="must be a class"):
        register_array_type(Base(), plain)  # type: ignore[arg-type]


def test_a_library_of_the_standard_that_is_not_listed() -> None:
    space = SimpleNamespace(__name__="elsewhere")

    class Other:
        def __array_namespace__(self, api_version: str | None = None) -> Any:
            return space

    with restored():
        assert array_namespace(Other()) is space
        assert namespace.is_array(Other())
        assert library_name(Other()) == library_name(space) == "elsewhere"


def test_arrays_of_their_own_under_another_librarys_functions() -> None:
    """Arrays of another type whose namespace is NumPy do not get NumPy's replacements and kernels."""

    class Own:
        dtype, shape = np.dtype("float64"), (2,)

        def __array_namespace__(self, api_version: str | None = None) -> Any:
            return np

    with restored():
        xp = array_namespace(Own())
        assert xp is not get_namespace("numpy")
        assert xp.sum is np.sum
        assert library_name(Own()) == library_name(xp) != "numpy"
        assert kernel("scatter_add", xp) is None


def test_two_namespaces_of_one_name() -> None:
    spaces = [ModuleType("twin"), ModuleType("twin")]

    class First:
        def __array_namespace__(self, api_version: str | None = None) -> Any:
            return spaces[0]

    class Second:
        def __array_namespace__(self, api_version: str | None = None) -> Any:
            return spaces[1]

    with restored():
        assert (library_name(First()), library_name(Second())) == ("twin", "twin#2")
        assert [get_namespace(name) for name in ("twin", "twin#2")] == spaces
        with pytest.raises(TypeError, match="two array libraries, twin and twin#2"):
            array_namespace(First(), Second())


def test_names() -> None:
    assert get_namespace("cpu") is get_namespace("numpy")
    assert "numpy" in namespace.installed_libraries()
    for wrong in ("tensorflow", "", 3, None, ["numpy"]):
        with pytest.raises(ValueError, match="library must be one of 'numpy', 'cupy', 'dask'"):
            get_namespace(wrong)  # type: ignore[arg-type]


def test_a_library_that_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_table, "_NAMESPACES", {})
    monkeypatch.setattr(library_table, "is_installed", lambda name: name == "numpy")
    assert namespace.installed_libraries() == ["numpy"]
    for attempt in (get_namespace, namespace.set_backend, lambda name: namespace.use_backend(name).__enter__()):
        with pytest.raises(ImportError, match=r"pip install nbm_xp\[cupy\]"):
            attempt("gpu")
    monkeypatch.setenv("NBM_XP_BACKEND", "torch")
    with pytest.raises(ImportError, match=r"nbm_xp\[torch\].*environment variable NBM_XP_BACKEND"):
        namespace.default_namespace()


def test_namespaces_keep_their_names(library: Library) -> None:
    import array_api_compat as compat

    known = {
        "numpy": compat.is_numpy_namespace, "dask": compat.is_dask_namespace, "torch": compat.is_torch_namespace,
        "jax": compat.is_jax_namespace, "cupy": compat.is_cupy_namespace,
        "array_api_strict": compat.is_array_api_strict_namespace,
    }  # fmt: skip
    assert known[library.name](library.xp)


def test_array_api_extra_takes_the_namespaces(library: Library) -> None:
    x = library.array(np.asarray([1.0, 2.0, 3.0]))
    result = xpx.atleast_nd(x, ndim=2, xp=library.xp)
    np.testing.assert_array_equal(library.numpy(result), [[1.0, 2.0, 3.0]])


def test_namespaces_travel_to_other_processes(library: Library) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    there = cloudpickle.loads(cloudpickle.dumps(library.xp))
    assert library_name(there) == library.name
    if library.name in ("numpy", "array_api_strict"):
        return
    assert there is library.xp
    assert pickle.loads(pickle.dumps(library.xp)) is library.xp
    assert "corrected" in repr(library.xp)
    if library.name == "dask":
        assert pickle.loads(pickle.dumps(library.xp.linalg)) is library.xp.linalg


def test_default_in_other_threads() -> None:
    names: list[str] = []
    if "array_api_strict" not in namespace.installed_libraries():
        pytest.skip("array_api_strict is not installed")
    with namespace.use_backend("array_api_strict"):
        thread = threading.Thread(target=lambda: names.append(library_name(namespace.default_namespace())))
        thread.start()
        thread.join()
        assert library_name(namespace.default_namespace()) == "array_api_strict"
    assert names == ["numpy"]


@pytest.mark.parametrize(
    ("code", "without"),
    [
        (
            "import nbm_xp.namespace as n, numpy as np; n.array_namespace(np.ones(2)); n.is_array(object()); n.info()",
            {"dask", "torch", "jax", "cupy", "array_api_strict"},
        ),
        (
            "from nbm_xp.rng import Generator; Generator(1, 'numpy').normal(size=30)",
            {"numpy.f2py", "numpy.testing", "numpy.ma", "array_api_compat.numpy"},
        ),
        ("import nbm_xp.rng as r; r.Generator(1).gamma(2.0, size=3)", {"nbm_xp.tape", "nbm_xp.rng.random_streams"}),
    ],
    ids=["the package", "first numbers", "draws"],
)
def test_what_is_not_needed_is_not_imported(code: str, without: set[str]) -> None:
    program = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "nbm_xp" in done.stdout.split()
    assert not without & set(done.stdout.split())


def test_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    register_kernel("test.own", "gpu", abs)
    assert kernel("test.own", "cupy") is abs
    assert kernel("test.own", "numpy") is None
    register_kernel("test.by-namespace", get_namespace("numpy"), abs)
    assert kernel("test.by-namespace", get_namespace("numpy")) is abs
    assert kernel("test.by-namespace", "numpy") is abs
    assert kernel("test.by-namespace", object()) is None
    with pytest.raises(ValueError, match="library must be one of"):
        register_kernel("test.own", object(), abs)
    register_kernel("test.late", "numpy", "math:sqrt")
    import math

    assert kernel("test.late", "numpy") is math.sqrt
    assert kernel("test.late", "numpy") is math.sqrt
    register_kernel("test.late", "numpy", abs)
    assert kernel("test.late", "numpy") is abs
    with pytest.raises(ValueError, match="library must be one of"):
        register_kernel("test.own", "abacus", abs)
    for wrong in ("nonsense", 3):
        with pytest.raises(TypeError, match="function must be callable"):
            register_kernel("test.own", "numpy", wrong)  # type: ignore[arg-type]


def test_info() -> None:
    found = nbm_xp.info()
    assert found["versions"]["nbm_xp"] == nbm_xp.__version__ == "0.2.0"
    assert found["libraries"]["numpy"]["version"] == np.__version__
    assert found["libraries"]["numpy"]["devices"] == ["cpu"]
    assert found["configuration"]["floatx"] == ("float32", "default")
    for entry in found["libraries"].values():
        assert entry["installed"] == (entry["install"] is None)
    text = nbm_xp.format_info()
    for word in ("nbm_xp", "0.2.0", "array-api-compat", np.__version__, "floatx", "(default)", "cupy"):
        assert word in text


MASKED = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])


ENTRANCES = pytest.mark.parametrize(
    "enter",
    [
        pytest.param(B.sigmoid, id="a function"),
        pytest.param(B.mean, id="a reduction"),
        pytest.param(lambda x: B.dot(np.ones((2, 2)), x), id="beside an array"),
        pytest.param(namespace.to_numpy, id="to_numpy"),
        pytest.param(lambda x: namespace.to_numpy([x[0], x[1]]), id="in a list"),
        pytest.param(lambda x: namespace.to_numpy([1.0, np.ma.masked]), id="masked in a list"),
        pytest.param(lambda x: namespace.asarray([[x[0], x[1]]], get_namespace("numpy")), id="in a list of lists"),
        pytest.param(Variable, id="a variable"),
        pytest.param(lambda x: Variable(np.zeros((2, 2))).set_value(x), id="its new value"),
        pytest.param(lambda x: Variable(np.zeros((2, 2))) + x, id="beside a Tensor"),
        pytest.param(lambda x: x * Variable(np.zeros((2, 2))), id="before a Tensor"),
        pytest.param(lambda x: Variable(np.zeros((2, 2)))[x > 1.0], id="an index"),
        pytest.param(recorded.asarray, id="recorded"),
        pytest.param(lambda x: evaluate(INPUT * 2, {INPUT: x}), id="an input"),
        pytest.param(lambda x: value_and_grad(lambda a: recorded.sum(a))(x), id="a point of a gradient"),
        pytest.param(lambda x: Generator(1).bernoulli(x / 4), id="a parameter of a draw"),
        pytest.param(lambda x: RBM(2).fit(x / 4), id="data"),
    ],
)


@ENTRANCES
def test_a_masked_array_is_refused_and_keeps_its_mask(enter: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"numpy\.ma.* its mask would be lost: pass its data"):
        enter(MASKED)
    assert MASKED.mask.tolist() == [[False, True], [False, False]]


@ENTRANCES
def test_so_are_blocks_of_them(enter: Callable[[Any], Any]) -> None:
    da = pytest.importorskip("dask.array")
    for lazy in (da.from_array(MASKED, chunks=1), da.ma.masked_greater(da.ones((2, 2)), 0.5) + 1.0):
        B.mean(B.sigmoid(da.ones((2, 2))))  # an array of the same type
        with pytest.raises(TypeError, match="its mask would be lost"):
            enter(lazy)
        assert library_name(da.ma.filled(lazy, 0.0)) == "dask"


def test_so_is_one_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    with pytest.warns(UserWarning, match="prototype"):
        masked = torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False]))
    with pytest.raises(TypeError, match="MaskedTensor is not taken"):
        B.sigmoid(masked)
