"""What neon 1.8's layers, models and callbacks call beyond the document of its Backend, in the forms they call it."""

import sys
from abc import ABC
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nbm_xp.neon import Autodiff, Backend, Buffer, OpTree, compute_on
from tests.helpers.libraries import Library, computing

pytestmark = pytest.mark.jax_at_night


@pytest.fixture
def be() -> Any:  # which is called in forms beyond its documented ones
    return Backend(rng_seed=1, library="numpy")


class TestBinaryNetworks:
    def test_the_target_may_stand_second(self, library: Library) -> None:
        be: Any = Backend(rng_seed=1, library=library.name)
        x, out = be.array([[-0.5, 0.0, 2.0]]), be.zeros((1, 3))
        assert be.binarize(x, out, stochastic=False) is out
        third = be.zeros((1, 3))
        assert be.binarize(x, third, False) is third
        assert be.binarize(x, x, stochastic=False) is x
        with computing():
            assert out.get().tolist() == third.get().tolist() == x.get().tolist() == [[-1, 1, 1]]
        many = be.zeros((40, 40))
        assert be.binarize(many, many) is many
        with computing():
            assert set(np.unique(many.get())) == {-1, 1}

    def test_as_documented(self, be: Any) -> None:
        x, out = be.array([[-0.5, 0.0]]), be.zeros((1, 2))
        assert be.binarize(x, False).get().tolist() == [[-1, 1]]
        assert be.binarize(x, False, out) is out and out.get().tolist() == [[-1, 1]]
        assert be.binarize(a=x, stochastic=np.False_).get().tolist() == [[-1, 1]]
        with pytest.raises(TypeError, match="multiple values for argument 'out'"):
            be.binarize(x, out, out=out)
        for wrong in (be.ones((1, 2)), x + 1, np.ones(2)):
            with pytest.raises(TypeError, match="stochastic must be True or False"):
                be.binarize(x, stochastic=wrong)

    @pytest.mark.parametrize("by_place", [False, True])
    def test_products_sum_their_rows(self, be: Any, by_place: bool) -> None:
        A, B = be.array([[1, -1, 1], [1, 1, 1]]), be.array([[1, 1], [1, -1], [1, 1]])
        C, sums = be.zeros((2, 2)), be.zeros((2, 1))
        given: Any = (A, B, C, 0.0, sums) if by_place else (A, B, C)
        be.xnor_compound_dot(*given, **({} if by_place else {"bsum": sums}))
        assert C.get().tolist() == [[1, 3], [3, 1]] and sums.get().tolist() == [[4], [4]]
        sums.fill(0)
        be.compound_dot(A, B, C, 1.0, 0.0, False, sums)
        assert sums.get().tolist() == [[4], [4]]

    def test_the_slope_of_gamma_is_not_rounded(self) -> None:
        be = Backend(default_dtype="float64", library="numpy")
        x, error = be.array([[1.0, -1.0, 2.0, -2.0]]), be.array([[3.0, 5.0, 7.0, 11.0]])
        mean, var, slope, offset = (be.array([[value]]) for value in (0.0, 1.0, 0.0, 0.0))
        be.compound_bprop_bn(be.zeros((1, 4)), slope, offset, error, x, mean, var, be.ones((1, 1)), 0.0, True)
        assert slope.get() == 3 - 5 + 14 - 22 and offset.get() == 26


class TestBatchNormalization:
    """Maps of a convolution lie in (maps · positions, images), what is normalised in (maps, positions · images)."""

    def made(self, be: Any) -> dict[str, Any]:
        values = np.linspace(-1, 2, 24).reshape(4, 6) ** 2
        column = {name: be.zeros((2, 1)) for name in ("xsum", "xvar", "gmean", "gvar", "beta")}
        x = be.array(values)
        found = {"whole": x, "x": x.reshape(2, 12), **column, "gamma": be.ones((2, 1)), "y": be.ones((4, 6))}
        found["xsum"][:] = be.sum(found["x"], axis=1)
        return found

    def test_errors_go_back_in_the_shape_of_the_maps(self, library: Library) -> None:
        be = Backend(default_dtype="float64", library=library.name)
        maps = self.made(be)
        error, delta, slope, offset = (
            be.array(np.arange(24.0).reshape(4, 6)),
            be.zeros((4, 6)),
            *(be.zeros((2, 1)) for _ in range(2)),
        )
        normal = [maps[name] for name in ("x", "xsum", "xvar", "gmean", "gvar", "gamma", "beta", "y")]
        be.compound_fprop_bn(*normal, 1e-3, 0.9)
        rest = (maps["x"], maps["xsum"], maps["xvar"], maps["gamma"], 1e-3)
        be.compound_bprop_bn(delta, slope, offset, error.reshape(2, 12), *rest)
        tree = (maps["x"] - be.mean(maps["x"], axis=1)) / be.sqrt(be.var(maps["x"], axis=1) + 1e-3) * maps["gamma"]
        with computing():
            wanted = Autodiff(tree, be, error.reshape(2, 12)).get_grad_asnumpyarray([maps["whole"], maps["gamma"]])
            np.testing.assert_allclose(delta.get(), wanted[0], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(slope.get(), wanted[1], rtol=1e-9)
        be.compound_bprop_bn(error, slope, offset, error.reshape(2, 12), *rest)  # over the errors themselves
        with computing():
            np.testing.assert_allclose(error.get(), wanted[0], rtol=1e-9, atol=1e-12)

    def test_the_places_of_both_releases(self) -> None:
        """1.8 goes on with accumbeta, relu and binary behind rho; 2 has a truth value before, compute_batch_sum."""
        be = Backend(default_dtype="float64", library="numpy")
        names = ("x", "xsum", "xvar", "gmean", "gvar", "gamma", "beta", "y")
        answers = []
        for rest in ((0.5, True, False), (False, 0.5, True, False), (True, 0.5, True)):
            maps = self.made(be)
            be.compound_fprop_bn(*(maps[name] for name in names), 1e-3, 0.9, *rest)
            answers.append(maps["y"].get())
        x = self.made(be)["x"].get()
        normal = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-3)
        for answer in answers:
            np.testing.assert_allclose(answer, np.maximum(normal, 0).reshape(4, 6) + 0.5, rtol=1e-12)


class TestRandomState:
    def test_names_of_numpys(self, be: Any) -> None:
        rng = be.rng
        assert rng.rand(2, 3).shape == rng.randn(2, 3).shape == rng.random_sample((2, 3)).shape == (2, 3)
        assert rng.rand(2).dtype == rng.randn(2).dtype == rng.random_sample(2).dtype == "float64"
        assert {type(number) for number in (rng.rand(), rng.randn(), rng.random_sample())} == {float}
        assert type(rng.randint(9)) is int and set(rng.randint(2, 4, size=(20, 5)).ravel()) == {2, 3}
        assert abs(rng.randn(10000).mean()) < 0.05 and abs(rng.rand(10000).mean() - 0.5) < 0.02

    def test_the_state_can_be_kept(self, be: Any) -> None:
        rng = be.rng
        state = rng.get_state()
        first = rng.rand(5)
        rng.set_state(state)
        np.testing.assert_array_equal(rng.rand(5), first)
        be.rng_set_state((state,))
        np.testing.assert_array_equal(rng.rand(5), first)
        rng.seed(1)
        assert rng.get_state() == Backend(rng_seed=1, library="numpy").rng.get_state()
        for wrong, error in ((-1, ValueError), ("x", TypeError)):
            with pytest.raises(error, match="seed must"):
                rng.seed(wrong)
        assert rng.get_state() == Backend(rng_seed=1, library="numpy").rng.get_state()

    def test_a_number_decides_how_much_is_kept(self, be: Any) -> None:
        out = be.zeros((3, 3))
        be.make_binary_mask(out, keepthresh=be.rng.rand())
        assert set(np.unique(out.get())) <= {0, 1}


class TestBuffers:
    @pytest.mark.parametrize("name", ["numpy", "array_api_strict"])
    def test_contiguity_is_that_of_numpys_views(self, name: str) -> None:
        x = Backend(library=name).array(np.arange(24).reshape(2, 3, 4))
        values = np.arange(24.0).reshape(2, 3, 4)
        views: list[Any] = [
            lambda a: a, lambda a: a[1], lambda a: a[:, 1], lambda a: a[0:1, 1:2], lambda a: a[:, :, 0:2],
            lambda a: a[1, 0:2], lambda a: a[:, 0:1], lambda a: a[::-1], lambda a: a[1:2, ::-1], lambda a: a[:, ::2],
            lambda a: a.reshape(6, 4)[2:5], lambda a: a.reshape(6, 4).T, lambda a: a.reshape(6, 4).T.reshape(2, 12),
            lambda a: a.reshape(24, 1).T, lambda a: a[0:0], lambda a: a[:, :, 1:2].reshape(2, 3)[0:1],
        ]  # fmt: skip
        for place, view in enumerate(views):
            if place == 12:  # NumPy copies there; ours is a view, and its elements are spread
                assert not view(x).is_contiguous
                continue
            assert view(x).is_contiguous == view(values).flags.c_contiguous, place

    def test_lengths_in_another_order(self, be: Any) -> None:
        x = be.array(np.arange(24).reshape(2, 3, 4))
        view = x.dimension_reorder([2, 0, 1])
        assert view.shape == (4, 2, 3) and view.get().ravel().tolist() == list(range(24))
        for wrong in ([0, 1], [0, 1, 1], [0, 1, 3]):
            with pytest.raises(ValueError, match="new_order must name each of 3 axes once"):
                x.dimension_reorder(wrong)

    def test_addresses(self, be: Any) -> None:
        x = be.zeros((4, 5))
        assert x.raw() == x.asnumpyarray().ctypes.data and x[1].raw() - x.raw() == 5 * 4
        with pytest.raises(TypeError, match="arrays of array_api_strict have no address"):
            Backend(library="array_api_strict").zeros(3).raw()

    def test_text(self, be: Any) -> None:
        assert str(be.zeros((1, 2))) == repr(be.zeros((1, 2)))


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
        """A package of neon's make: Tensor, whose methods say that they are not written, nodes and Autodiff."""

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
        differentiation.Autodiff.__wrapped__ = object  # neon's own is a class in a decorator
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
        tree = node.build("sub", x + 1, sum_)  # which neon's own would not take
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


def test_no_class_is_too_few(be: Any) -> None:
    with pytest.raises(ValueError, match=r"out must have the classes along axis 0, got shape \(0, 3\)"):
        be.onehot([0, 1, 0], axis=0, out=be.zeros((0, 3)))
