"""What a Backend is told when it is made, its random numbers, its names, and what neon's own layers ask of it."""

from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import installed_libraries, use_backend
from nbm_xp.neon import Backend, Block, Buffer
from nbm_xp.rng import Generator
from tests.helpers.libraries import Library, computing

pytestmark = pytest.mark.jax_at_night


@pytest.fixture
def be() -> Backend:
    return Backend(rng_seed=1, library="numpy")


def mask(be: Backend, shape: tuple[int, int] = (20, 20)) -> list[Any]:
    out = be.zeros(shape)
    be.make_binary_mask(out)
    with computing():
        values: list[Any] = out.get().tolist()
    return values


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


class TestRandomness:
    def test_is_the_same_on_every_library(self, library: Library) -> None:
        ours, theirs = Backend(rng_seed=7, library="numpy"), Backend(rng_seed=7, library=library.name)
        assert mask(ours, (3, 50)) == mask(theirs, (3, 50))
        state = ours.rng_get_state()
        assert state == theirs.rng_get_state()
        first = mask(theirs)
        theirs.rng_set_state(state)
        assert mask(theirs) == first == mask(ours)

    def test_a_tree_draws_whenever_it_is_computed(self, be: Backend) -> None:
        tree = be.binarize(be.zeros((8, 8)))
        first, second = tree.get(), tree.get()
        assert (first != second).any() and set(np.unique(first)) == {-1, 1}
        be.rng_reset()
        np.testing.assert_array_equal(tree.get(), first)

    def test_seeds(self) -> None:
        assert Backend(rng_seed=3, library="numpy").rng_get_state() == (Generator(3).state,)
        for seed in (0, 2**32 - 1, 2**40):
            one, other = (Backend(rng_seed=seed, library="numpy") for _ in range(2))
            assert mask(one) == mask(other)
        one, other = (Backend(library="numpy") for _ in range(2))
        assert mask(one) != mask(other)
        with pytest.raises(TypeError, match="seed must be an integer"):
            Backend(rng_seed="x", library="numpy")  # type: ignore[arg-type]

    def test_the_generator_draws_numpy_arrays(self) -> None:
        be = Backend(rng_seed=5, library="array_api_strict")
        generator = be.gen_rng(9)
        assert generator is be.rng
        assert type(generator.uniform(-1.0, 1.0, size=(2, 3))) is np.ndarray
        assert be.rng_get_state() != be.init_rng_state
        be.rng_reset()
        assert be.rng_get_state() == be.init_rng_state == (Generator(9).state,)

    @pytest.mark.parametrize("state", [None, 3.5, ((1, 2, 3),), (), "state"])
    def test_what_is_no_state_changes_nothing(self, be: Backend, state: Any) -> None:
        before = be.rng_get_state()
        with pytest.raises((TypeError, ValueError), match="state must be what rng_get_state gave"):
            be.rng_set_state(state)
        assert be.rng_get_state() == before

    def test_masks(self, be: Backend) -> None:
        out = be.zeros((100, 100), dtype="int8")
        be.make_binary_mask(out, keepthresh=0.25)
        assert set(np.unique(out.get())) == {0, 1} and 0.23 < out.get().mean() < 0.27
        with pytest.raises(ValueError, match="keepthresh"):
            be.make_binary_mask(out, keepthresh=1.5)
        with pytest.raises(TypeError, match="keepthresh"):
            be.make_binary_mask(out, keepthresh="half")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="out must be a Buffer"):
            be.make_binary_mask(np.zeros((2, 2)))  # type: ignore[arg-type]


class TestForNeonsLayers:
    @pytest.mark.parametrize("binary", [False, True])
    @pytest.mark.parametrize("accumbeta", [0.0, 0.5])
    def test_batch_normalization(self, library: Library, binary: bool, accumbeta: float) -> None:
        be = Backend(rng_seed=2, default_dtype="float64", library=library.name)
        x, y = be.zeros((3, 8)), be.ones((3, 8))
        be.fill_normal(x, 1.0, 2.0)
        xsum, xvar, gmean, gvar, beta = (be.zeros((3, 1)) for _ in range(5))
        gamma = be.array([[1.0], [2.0], [0.5]])
        be.compound_fprop_bn(x, xsum, xvar, gmean, gvar, gamma, beta, y, 1e-6, 0.9, True, accumbeta, binary=binary)
        with computing():
            values, got, averages = x.get(), y.get(), (gmean.get(), gvar.get())
        mean, var = values.mean(axis=1, keepdims=True), values.var(axis=1, keepdims=True)
        np.testing.assert_allclose(averages[0], 0.1 * mean, rtol=1e-10)
        if not binary:
            wanted = (values - mean) / np.sqrt(var + 1e-6) * [[1.0], [2.0], [0.5]] + accumbeta
            np.testing.assert_allclose(got, wanted, rtol=1e-10)
            np.testing.assert_allclose(averages[1], 0.1 * var, rtol=1e-10)
        else:
            ratio = (got - accumbeta) / (values - mean)
            np.testing.assert_allclose(np.log2(ratio), np.rint(np.log2(ratio)), atol=1e-9)

    def test_batch_normalization_given_the_sums(self, be: Backend) -> None:
        x, y = be.array([[1.0, 3.0, 8.0]]), be.zeros((1, 3))
        xsum, xvar, gmean, gvar, beta = (be.zeros((1, 1)) for _ in range(5))
        xsum[:] = be.sum(x, axis=1)
        be.compound_fprop_bn(x, xsum, xvar, gmean, gvar, be.ones((1, 1)), beta, y, 0.0, 0.0, False, relu=True)
        assert xsum.get() == 4 and gmean.get() == 4
        assert y.get()[0, :2].tolist() == [0, 0] and y.get()[0, 2] > 1
        be.compound_fprop_bn(x, xsum, xvar, gmean, gvar, be.ones((1, 1)), beta, y, 0.0, 0.0, inference=True)
        np.testing.assert_allclose(y.get().mean(), 0, atol=1e-6)

    def test_copy_transpose(self, be: Backend) -> None:
        x, out = be.array(np.arange(24).reshape(2, 3, 4)), be.zeros((4, 2, 3))
        be.copy_transpose(x, out, axes=(2, 0, 1))
        np.testing.assert_array_equal(out.get(), x.get().transpose(2, 0, 1))

    def test_a_view_knows_what_it_is_of(self, be: Backend) -> None:
        x = be.zeros((2, 6))
        assert x.reshape(3, 4).base is x and x.base is None and x.reshape(2, 6) is x


def test_fully_connected_bias(library: Library) -> None:
    be = Backend(library=library.name)
    x, bias, slope = be.ones((2, 3)), be.array([1.0, 2.0]), be.zeros((2, 1))
    be.add_fc_bias(x, bias)
    be.update_fc_bias(x, slope)
    with computing():
        assert x.get().tolist() == [[2, 2, 2], [3, 3, 3]] and slope.get().tolist() == [[6], [9]]
    with pytest.raises(TypeError, match="inputs must be a Buffer"):
        be.add_fc_bias(x + 1, bias)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="out must be a Buffer"):
        be.update_fc_bias(x, None)  # type: ignore[arg-type]


def test_large_sigmoids_are_those_of_small_ones(be: Backend) -> None:
    x = np.linspace(-120, 120, 3 << 16, dtype="float32").reshape(3, -1)
    x[0, :3] = np.inf, -np.inf, np.nan
    large: Buffer = be.sig(be.array(x)).astensor()
    stretches = x.reshape(-1, 4096)
    small = np.stack([be.sig(be.array(row)).get()[:, 0] for row in stretches])
    np.testing.assert_array_equal(large.get().reshape(small.shape), small)
