"""A Backend: options, names, histograms, time marks, and neon's own objects computing on it."""

import sys
from abc import ABC
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import installed_libraries, use_backend
from nbm_xp.neon import Autodiff, Backend, Block, Buffer, OpTree, compute_on
from tests.helpers.libraries import Library, computing

pytestmark = pytest.mark.at_night("jax")


@pytest.fixture
def be() -> Any:  # Any, because calls go beyond the documented signatures
    return Backend(rng_seed=1, library="numpy")


class TestMaking:
    @pytest.mark.parametrize("dtype", ["float16", "float64", np.float32, np.dtype("float64"), "nbm"])
    def test_dtypes(self, dtype: Any) -> None:
        if dtype == "nbm":
            dtype = Backend(library="numpy").default_dtype
        be = Backend(default_dtype=dtype, library="numpy")
        assert be.default_dtype is dtype
        assert be.zeros(2).get().dtype == np.dtype(dtype)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"default_dtype": "int32"}, "default_dtype must be one of"),
            ({"default_dtype": "text"}, "default_dtype must be one of"),
            ({"compat_mode": "torch"}, "compat_mode must be None or 'caffe'"),
            ({"library": "abacus"}, "library must be one of"),
            ({"rng_seed": -1}, "seed must not be negative"),
        ],
    )
    def test_refusals(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Backend(**{"library": "numpy", **options})

    def test_the_configured_library_is_the_default(self) -> None:
        with use_backend("array_api_strict"):
            be = Backend()
        assert be.library == "array_api_strict"
        assert be.xp.__name__ == "array_api_strict" or be.zeros(1).array.__class__.__module__.startswith("array_api_")

    def test_no_setting_decides_what_a_backend_computes(self) -> None:
        be = Backend(rng_seed=1, default_dtype="float64", library="numpy")
        third = be.array([[1]], dtype="int32")
        with use_backend("array_api_strict"):
            trees = [third / 3, be.divide(third, 3), be.mean(third) / 3, be.add(third, [[2]]) / 9, be.exp(0) / 3]
            assert [float(tree.get()[0, 0]) for tree in trees] == [1 / 3] * 5

    def test_names(self, be: Backend) -> None:
        assert be.backend_choices() == sorted(be.backend_choices())
        assert set(installed_libraries()) <= set(be.backend_choices()) <= set(be.backends)
        assert set(be.backends.values()) == {Backend}
        with pytest.raises(ValueError, match="name must be one of 'cpu', 'gpu'"):
            be.allocate_backend("abacus")

    def test_blocks(self, be: Backend) -> None:
        assert [int(block) for block in Block] == [0, 1, 2, 3, 4]
        be.begin(0, 7)
        be.end(Block.epoch, 7)
        with pytest.raises(ValueError, match="block must be one of"):
            be.begin(5, 0)


class TestObserving:
    def test_histograms_are_those_of_numpy(self, library: Library) -> None:
        be = Backend(library=library.name)
        draws = np.random.default_rng(1).normal(size=300) * 2.0 ** np.linspace(-60, 20, 300)
        given = np.concatenate([draws, [0, 0, 2.0**-48, 2.0**15, 2.0**16, 63.99998856, 0.11262291, np.inf]])
        edges = np.concatenate([[-np.inf], np.arange(-47.0, 17.0)])
        with np.errstate(divide="ignore"):
            levels = np.rint(np.log2(np.abs(given.astype("float32"))))
        wanted = np.histogram(levels[np.isfinite(levels) | (levels < 0)], bins=edges)[0]
        found = be.array(given).hist("given")
        assert (found.shape, str(found.dtype)) == ((1, 64), "int32")
        be.zeros((2, 2)).hist("zeros")
        counts, rows = be.dump_hist_data()
        with computing():
            np.testing.assert_array_equal(found.get()[0], wanted)
            np.testing.assert_array_equal(counts[rows["given"]].get()[0], wanted)
            assert counts[rows["zeros"]].get()[0, 0] == 4
        assert be.dump_hist_data()[1] == {}

    def test_other_bins(self, be: Any) -> None:
        be.set_hist_buffers(4, -1)
        assert (be.hist_bins, be.hist_offset) == (4, -1)
        assert be.array([0.25, 1.0, 8.0, 16.0]).hist("x").get().tolist() == [[1, 1, 0, 1]]
        with pytest.raises(ValueError, match="hist_bins must be 1 or more"):
            be.set_hist_buffers(0, 0)
        assert be.hist_bins == 4

    def test_times_and_devices(self, be: Any) -> None:
        begin, end = be.init_mark(), be.init_mark()
        be.record_mark(begin)
        be.record_mark(end)
        be.synchronize_mark(end)
        assert 0 <= be.get_time(begin, end) == (end["time"] - begin["time"]) * 1000
        assert (be.device_type, be.device_id) == (0, 0)


class TestInNeonsPlace:
    @pytest.fixture
    def neon(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """A package like neon: Tensor, whose methods raise NotImplementedError, nodes and Autodiff."""

        class Tensor:
            def __str__(self) -> str:
                raise NotImplementedError

        class OtherBackend(ABC):  # noqa: B024 - as neon's own, of whose methods nothing is asked here
            pass

        class OpTreeNode(tuple[Any, ...]):
            @staticmethod
            def build(op: str, a: Any, b: Any, out: Any = None) -> Any:
                node = OpTreeNode(({"op": op, "shape": (1, 2)}, a, b))
                return node if out is None else OpTreeNode(({"op": "assign"}, out, node)).execute()

            def execute(self) -> Any:
                assert isinstance(self[1].backend, OtherBackend)
                return self[1].backend.execute(self)

        neon: Any = ModuleType("neon")
        neon.NervanaObject = type("NervanaObject", (), {"be": None})
        parts: dict[str, Any] = {name: ModuleType(f"neon.{name}") for name in ("backends", "backends.backend")}
        kinds = parts["backends.backend"]
        kinds.Tensor, kinds.Backend, kinds.OpTreeNode = Tensor, OtherBackend, OpTreeNode
        differentiation: Any = ModuleType("neon.backends.autodiff")
        differentiation.Autodiff = lambda op_tree, be, next_error=None: ("neon's own", op_tree)
        differentiation.Autodiff.__wrapped__ = object  # neon's own is a decorated class
        parts["layers"] = ModuleType("neon.layers")
        parts["layers"].Autodiff, parts["layers"].Tensor = differentiation.Autodiff, Tensor
        for module in (neon, *parts.values(), differentiation):
            module.__path__ = []
            monkeypatch.setitem(sys.modules, module.__name__, module)
        before = Buffer.__bases__
        yield neon
        Buffer.__bases__ = before

    def test_buffers_are_its_tensors(self, be: Any, neon: Any) -> None:
        layers: Any = sys.modules["neon.layers"]
        held = be.ones((2, 3))
        assert not isinstance(held, layers.Tensor)
        for _ in range(2):
            assert compute_on(be, 16) is be
        assert neon.NervanaObject.be is be and be.bsz == 16
        with pytest.raises(ValueError, match="batch_size"):
            compute_on(be, 0)
        assert isinstance(held, layers.Tensor) and isinstance(held[0:1].T, layers.Tensor)
        assert Buffer.__bases__.count(layers.Tensor) == 1 and not isinstance(held + 1, layers.Tensor)
        assert str(held) == repr(held) and (held + 1).get().sum() == 12

    def test_its_nodes_compute(self, be: Any, neon: Any) -> None:
        for _ in range(2):
            compute_on(be, 16)
        node: Any = sys.modules["neon.backends.backend"].OpTreeNode
        x, out = be.array([[1.0, 2.0]]), be.zeros((1, 2))
        assert node.build("add", x, x, out=out) is out and out.get().tolist() == [[2, 4]]
        sum_ = node.build("add", x, out)
        assert type(sum_) is node and sum_[1] is x
        x[:] = node.build("mul", sum_, sum_)
        assert x.get().tolist() == [[9, 36]]
        tree = node.build("sub", x + 1, sum_)  # which neon's own build rejects
        assert type(tree) is OpTree and tree.get().tolist() == [[-1, -3]]

    def test_its_autodiff_asks_who_computes(self, be: Any, neon: Any) -> None:
        layers: Any = sys.modules["neon.layers"]
        for _ in range(2):
            compute_on(be, 16)
        differentiation: Any = sys.modules["neon.backends.autodiff"]
        assert layers.Autodiff is differentiation.Autodiff
        x = be.ones((1, 2))
        assert isinstance(layers.Autodiff(be.square(x), be, next_error=x), Autodiff)
        assert layers.Autodiff("tree", object()) == ("neon's own", "tree")

    def test_a_module_that_is_missing_within_is_not_taken_for_another_make(
        self, be: Any, neon: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
    ) -> None:
        (tmp_path / "backend.py").write_text("import no_module_of_this_name\n")
        monkeypatch.delitem(sys.modules, "neon.backends.backend")
        monkeypatch.setattr(sys.modules["neon.backends"], "__path__", [str(tmp_path)])
        with pytest.raises(ModuleNotFoundError, match="no_module_of_this_name"):
            compute_on(be, 16)
        assert neon.NervanaObject.be is None


def test_copy_transpose(be: Backend) -> None:
    x, out = be.array(np.arange(24).reshape(2, 3, 4)), be.zeros((4, 2, 3))
    be.copy_transpose(x, out, axes=(2, 0, 1))
    np.testing.assert_array_equal(out.get(), x.get().transpose(2, 0, 1))
