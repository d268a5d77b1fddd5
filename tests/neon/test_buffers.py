"""Buffers own their memory, cast values as they are stored, and are unchanged by calls that raise an error."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nbm_xp.namespace import asarray, library_name
from nbm_xp.neon import Backend, Buffer
from tests.helpers.libraries import Library, computing, libraries

pytestmark = pytest.mark.at_night("jax")

WRITING_IN_PLACE = libraries("numpy", "torch", "cupy", without=("numpy-readonly",))


@pytest.fixture
def be() -> Backend:
    return Backend(rng_seed=1, library="numpy")


def shown(buffer: Buffer) -> Any:
    with computing():
        return buffer.get().tolist()


class TestMemory:
    def test_is_not_that_of_what_it_was_made_of(self, library: Library) -> None:
        be = Backend(library=library.name)
        given = np.ones((2, 2), dtype="float32")
        x = be.array(library.array(given) if library.lazy else asarray(given, library.xp))
        y = be.array(x)
        x[:] = 5
        assert given.tolist() == [[1, 1], [1, 1]]
        assert shown(y) == [[1, 1], [1, 1]]

    def test_is_not_that_of_what_was_stored(self, library: Library) -> None:
        be = Backend(library=library.name)
        x, y, z, w, v = be.ones((2, 2)), *(be.zeros((2, 2)) for _ in range(4))
        array = library.array(np.full((2, 2), 3.0, dtype="float32"))
        y[:] = x
        z[:] = be.add(x, 0).T.T
        v[:] = +x  # on PyTorch, +x is x
        w[:] = array
        x[0, 0] = 9
        w[0, 1] = 7
        assert [shown(b) for b in (y, z, v)] == [[[1, 1], [1, 1]]] * 3
        with computing():
            np.testing.assert_array_equal(library.numpy(array), 3)

    def test_results_become_memory_without_a_copy(self, be: Backend) -> None:
        x, y = be.ones((50, 40)), be.zeros((50, 40))
        before = y.array
        y[:] = x + x
        assert y.array is not before
        y[:] = be.dot(x, be.ones((40, 40)))
        assert y.array.base is None and y.array.flags.c_contiguous

    @pytest.mark.parametrize("library", WRITING_IN_PLACE)
    def test_a_view_is_written_where_its_memory_is(self, library: Library) -> None:
        be = Backend(library=library.name)
        steps = be.zeros((3, 8))
        memory = steps.array
        for t in range(4):
            steps[:, 2 * t : 2 * t + 2] = be.ones((3, 2)) * t
        steps.T[0, :] = 9
        steps.reshape(24, 1)[5] = 8
        assert steps.array is memory
        assert shown(steps)[0] == [9, 0, 1, 1, 2, 8, 3, 3]

    def test_a_transposed_result_is_laid_out_anew(self, be: Backend) -> None:
        x, y = be.array(np.arange(6).reshape(2, 3)), be.zeros((3, 2))
        y[:] = (x + 0).T
        y.share((2, 1))[:] = 9
        assert shown(y) == [[9, 9], [1, 4], [2, 5]]

    def test_copies_are_their_own(self, be: Backend) -> None:
        x = be.array([[1.0, 2.0]], name="x")
        for twin in (copy.copy(x), copy.deepcopy(x), copy.copy(x.T)):
            twin[:] = 0
        assert shown(x) == [[1, 2]]
        assert copy.copy(x).name == "x"

    def test_get_copies_and_asnumpyarray_looks(self, be: Backend) -> None:
        x = be.zeros((1, 2))
        taken, seen = x.get(), x.asnumpyarray()
        x[:, 0] = 3
        assert taken.tolist() == [[0, 0]] and seen.tolist() == [[3, 0]]
        taken[:] = 8
        assert shown(x) == [[3, 0]]


class TestStoring:
    @pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float16", "float64"])
    def test_casts_towards_zero(self, library: Library, dtype: str) -> None:
        if library.name == "array_api_strict" and dtype == "float16":
            pytest.skip("the standard has no float16")
        be = Backend(library=library.name)
        x = be.zeros((1, 2), dtype=dtype)
        x[:] = be.array([[1.75, 2.25]]) * 1.0
        assert shown(x) == [[1.75, 2.25]] if dtype.startswith("float") else [[1, 2]]
        x.set(library.array(np.asarray([[3.5, 4.5]])))
        assert shown(x) == ([[3.5, 4.5]] if dtype.startswith("float") else [[3, 4]])
        x[:, 1] = 6.5
        assert x.dtype == dtype and shown(x)[0][1] == (6.5 if dtype.startswith("float") else 6)

    @pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
    def test_integers_hold_the_nearest_that_they_can(self, library: Library, dtype: str) -> None:
        be = Backend(library=library.name)
        info = np.iinfo(dtype)
        given = [-np.inf, -3e9, -128.5, -1.5, np.nan, 1.5, 127.5, 255.5, 2.0**31, np.inf]
        wanted = [0 if np.isnan(value) else int(np.clip(value, info.min, info.max)) for value in given]
        x, part = be.zeros((1, 10), dtype=dtype), be.zeros((2, 10), dtype=dtype)
        x[:] = be.array([given]) * 1  # float32, which cannot represent the largest int32
        part.T[::-1, 1:][:] = library.array(np.asarray(given)[::-1].reshape(10, 1))
        made = be.array([given], dtype=dtype)
        assert shown(x) == shown(made) == [wanted] and shown(part) == [[0] * 10, wanted]
        x.fill(-(10**15))
        x[:, 1] = 1e15
        x[:, 2] = np.nan
        assert shown(x)[0][:4] == [info.min, info.max, 0, info.min]
        if dtype != "int32":
            x[:] = be.array([[-300, 0, 300]], dtype="int32")[:, 2]
            assert shown(x) == [[info.max] * 10]

    def test_a_vector_is_all_elements_in_a_row(self, be: Backend) -> None:
        row, column = be.zeros((1, 3)), be.zeros((3, 1))
        for x in (row, column):
            x[:] = np.arange(3.0)
        assert shown(row) == [[0, 1, 2]] and shown(column) == [[0], [1], [2]]
        with pytest.raises(ValueError, match=r"must fit the shape \(3, 3\), got \(3,\)"):
            be.zeros((3, 3))[:] = np.arange(3.0)

    @pytest.mark.parametrize("given", [(2, 2), (3, 1, 2), (2, 3, 1), (4,)])
    def test_what_does_not_fit_changes_nothing(self, be: Backend, given: tuple[int, ...]) -> None:
        x = be.ones((2, 3))
        state = be.rng_get_state()
        for value in (np.zeros(given), be.zeros((3, 2)), be.binarize(be.zeros((3, 2)))):
            with pytest.raises(ValueError, match="must fit the shape"):
                x[:] = value
        assert shown(x) == [[1, 1, 1], [1, 1, 1]]
        assert be.rng_get_state() == state

    @pytest.mark.parametrize("value", ["text", None, [1.0], object()])
    def test_what_is_no_value_is_refused(self, be: Backend, value: Any) -> None:
        with pytest.raises(TypeError, match="an op-tree, a buffer, an array or a number"):
            be.zeros((1, 1))[:] = value
        with pytest.raises(TypeError, match="must be a number"):
            be.zeros((1, 1)).fill(value)

    def test_complex_numbers_are_refused(self, library: Library) -> None:
        be = Backend(library=library.name)
        x, values = be.ones((1, 2)), asarray(np.full((1, 2), 2j), library.xp)
        stores: list[Callable[[], Any]] = [
            lambda: x.set(values), lambda: x.set(x + 1j), lambda: be.add(x, values, out=x),
            lambda: x.fill(values[0, 0]),
        ]  # fmt: skip
        for store in stores:
            with pytest.raises(TypeError, match="real numbers, got complex"):
                store()
        assert shown(x) == [[1, 1]]

    def test_nothing_can_be_stored_in_nothing(self, library: Library) -> None:
        be = Backend(library=library.name)
        x = be.zeros((0, 3))
        x[:] = x + 1
        x[0:0] = 4
        assert x.size == 0 and shown(x) == []
        assert shown(be.sum(x, axis=0).astensor()) == [[0, 0, 0]]


class TestShapes:
    def test_bad_shapes_indices_and_dtypes(self, be: Any) -> None:
        x = be.zeros((2, 3))
        bad: list[tuple[Callable[[], Any], type[Exception], str]] = [
            (lambda: be.zeros((-1, 2)), ValueError, "negative"),
            (lambda: be.zeros("ab"), TypeError, "shape must be an integer"),
            (lambda: be.zeros(2, dtype="text"), TypeError, "dtype"),
            (lambda: be.zeros(2, dtype="complex64"), TypeError, "real numbers"),
            (lambda: be.zeros_like(3.0), TypeError, "must have a shape"),
            (lambda: x.reshape(4, -1), ValueError, "must have 6 elements"),
            (lambda: x.reshape((1.5, 2)), TypeError, "shape must be an integer"),
            (lambda: x.share((7,)), ValueError, "at most the 6 elements"),
            (lambda: x.share(-1), ValueError, "negative"),
            (lambda: x.share((1.5, 2)), TypeError, "shape must be an integer"),
            (lambda: x[0, 3], IndexError, "out of bounds for axis 1"),
            (lambda: x[0, 0, 0], IndexError, "too long"),
            (lambda: x[[0, 1], [0, 1]], TypeError, "integers and slices"),
            *((lambda key=key: x[key], TypeError, "integers and slices") for key in (True, 0.5, None)),
            (lambda: x[[True, False]], TypeError, "indices must be integers"),
        ]  # fmt: skip
        for call, error, message in bad:
            with pytest.raises(error, match=message):
                call()
        assert x[..., 1].shape == (2, 1) and x[np.int64(1)].shape == (1, 3)

    def test_reads_as_a_sequence_of_rows(self, be: Backend) -> None:
        x = be.array([[1, 2], [3, 4]])
        assert len(x) == 2 and [shown(row) for row in x] == [[[1, 2]], [[3, 4]]]
        assert bool(x) and bool(be.zeros((1, 1)))
        assert str(x) == repr(x) == "<Buffer float32[2, 2] of numpy>"

    def test_a_list_names_copies_of_rows_or_columns(self, library: Library) -> None:
        be = Backend(library=library.name)
        x = be.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        with computing():
            rows = x[[2, 0]]
            assert shown(rows) == [[7, 8, 9], [1, 2, 3]] and shown(x[[2, 0], :2]) == [[7, 8], [1, 2]]
            assert shown(x[np.asarray([1]), -1]) == [[6]] and shown(x[..., [0, 0]]) == [[1, 1], [4, 4], [7, 7]]
            assert shown(x[be.array([[0], [2]], dtype="int32"), 0]) == [[1], [7]]
            assert x[[]].shape == (0, 3) and x.reshape(3, 3, 1)[[1], 0].shape == (1, 1)
            rows[:] = 0
            assert shown(x)[0] == [1, 2, 3]
            for key in ([0, 1], ([0, 1], 0)):
                with pytest.raises(TypeError, match="named by integers and slices"):
                    x[key] = 0
            x[:2, 1] = x[[1, 0], 1]
            assert shown(x)[:2] == [[1, 5, 3], [4, 2, 6]]


class TestIobuf:
    def test_needs_the_size_of_a_batch(self, be: Backend) -> None:
        with pytest.raises(ValueError, match="bsz"):
            be.iobuf(3)
        be.bsz = 2
        with pytest.raises(TypeError, match="shared must be a Buffer"):
            be.iobuf(3, shared=np.zeros(9))  # type: ignore[arg-type]

    def test_shares_memory(self, library: Library) -> None:
        be = Backend(library=library.name)
        be.bsz = 2
        pool = be.ones((be.shared_iobuf_size((4, 2), None), 1))
        first, second = be.iobuf(3, shared=pool), be.iobuf(2, shared=pool)
        first[:] = 5
        second[0] = 7
        assert shown(first) == [[7, 7], [5, 5], [5, 5]]
        assert [value for (value,) in shown(pool)] == [7, 7, 5, 5, 5, 5, 1, 1]


def test_backends_live_side_by_side() -> None:
    first, second = Backend(rng_seed=1, library="cpu"), Backend(rng_seed=1, library="array_api_strict")
    x, y = first.ones((2, 2)), second.ones((2, 2))
    y[:] = second.add(x, y)  # NumPy arrays are accepted by every library
    assert shown(y) == [[2, 2], [2, 2]] and library_name(y.array) == "array_api_strict"
    with pytest.raises(TypeError, match="array_api_strict"):
        x[:] = y
    with pytest.raises(TypeError, match="array_api_strict"):
        x[:] = first.add(x, y)
    assert shown(x) == [[1, 1], [1, 1]]


@pytest.mark.parametrize("name", ["numpy", "array_api_strict"])
def test_contiguity_is_that_of_numpys_views(name: str) -> None:
    x = Backend(library=name).array(np.arange(24).reshape(2, 3, 4))
    values = np.arange(24.0).reshape(2, 3, 4)
    views: list[Any] = [
        lambda a: a, lambda a: a[1], lambda a: a[:, 1], lambda a: a[0:1, 1:2], lambda a: a[:, :, 0:2],
        lambda a: a[1, 0:2], lambda a: a[:, 0:1], lambda a: a[::-1], lambda a: a[1:2, ::-1], lambda a: a[:, ::2],
        lambda a: a.reshape(6, 4)[2:5], lambda a: a.reshape(6, 4).T, lambda a: a.reshape(6, 4).T.reshape(2, 12),
        lambda a: a.reshape(-1, 1).T, lambda a: a[0:0], lambda a: a[:, :, 1:2].reshape(2, 3)[0:1],
    ]  # fmt: skip
    for place, view in enumerate(views):
        if place == 12:  # NumPy copies here; ours is a view with non-contiguous elements
            assert not view(x).is_contiguous
            continue
        assert view(x).is_contiguous == view(values).flags.c_contiguous, place


def test_lengths_in_another_order(be: Backend) -> None:
    x = be.array(np.arange(24).reshape(2, 3, 4))
    view = x.dimension_reorder([2, 0, 1])
    assert view.shape == (4, 2, 3) and view.get().ravel().tolist() == list(range(24))
    for wrong in ([0, 1], [0, 1, 1], [0, 1, 3]):
        with pytest.raises(ValueError, match="new_order must name each of 3 axes once"):
            x.dimension_reorder(wrong)


def test_addresses(be: Backend) -> None:
    x = be.zeros((4, 5))
    assert x.raw() == x.asnumpyarray().ctypes.data and x[1].raw() - x.raw() == 5 * 4
    with pytest.raises(TypeError, match="arrays of array_api_strict have no address"):
        Backend(library="array_api_strict").zeros(3).raw()
