"""NumPy's array for a Tensor: what compiled code writes to it arrives, what was recorded before and after stays."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest

from nbm_xp.namespace import use_backend
from nbm_xp.tape import Tensor, Variable, evaluate, grad, gradients
from nbm_xp.tape import namespace as xp
from tests.helpers.libraries import Library, libraries

A = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("library", libraries("numpy", "array_api_strict", "torch", "jax", without=("numpy-readonly",)),
                         indirect=True)  # fmt: skip
def test_a_write_arrives_in_the_tensors_own_library(library: Library) -> None:
    with use_backend(library.name):
        x = xp.asarray(library.array(A)) * 1.0
        before = x + 1.0
        array = np.asarray(x)
        array[0] = -1.0
        assert np.asarray(x) is array  # as of any array
        after = x * 2.0
        np.testing.assert_array_equal(library.numpy(evaluate(x)), [[-1.0] * 3, A[1]])
        np.testing.assert_array_equal(library.numpy(evaluate(before)), A + 1.0)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0
        np.asarray(x)[1] = 7.0
        np.testing.assert_array_equal(library.numpy(evaluate(after)), [[-2.0] * 3, 2 * A[1]])
        assert type(evaluate(x)) is type(library.array(A)) and type(x) is Tensor


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float64", "complex128"])
def test_a_write_to_a_view_arrives_in_what_it_shows(dtype: str) -> None:
    for part in (lambda x: x, lambda x: x.T, lambda x: x[:, ::2], lambda x: x[0, 1:2], lambda x: x[:0]):
        x, wanted = xp.ones((2, 3), dtype=dtype), np.ones((2, 3), dtype=dtype)
        shown = part(x)
        np.asarray(shown)[...] = 0
        part(wanted)[...] = 0
        np.testing.assert_array_equal(evaluate(shown), part(wanted))
        np.testing.assert_array_equal(evaluate(x), wanted)
    number = x[0, 0]
    np.asarray(number)[...] = 0
    assert evaluate(number) == evaluate(x)[0, 0] == 0


def test_arrays_for_views_of_one_tensor_do_not_undo_one_another() -> None:
    """Also where they overlap, and in threads."""
    x = xp.zeros((4, 2), dtype="float64")
    views = [x[0], x[1], x[2], x[3], x[0]]
    writing = [Thread(target=lambda v, n: np.asarray(v).put(n > 3, n + 1.0), args=(v, n)) for n, v in enumerate(views)]
    for one in writing:
        one.start()
    for one in writing:
        one.join()
    np.testing.assert_array_equal(evaluate(x), [[1.0, 5.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]])


def test_reading_changes_nothing() -> None:
    """The node stays, so that gradients and variables are found: NaN is read as written, and -0.0 written over 0.0."""
    v = Variable(np.asarray([1.0, np.nan]))
    x = xp.asarray(np.asarray([0.0, np.nan]))
    y, loss = v * 2.0, xp.sum(x**2)
    node = y.node
    np.asarray(x), np.asarray(y)
    assert y.node is node
    assert evaluate(gradients(loss, x))[0] == 0.0
    v.set_value(np.zeros(2))
    assert evaluate(y).tolist() == [0.0, 0.0]
    np.asarray(y)[0] = -0.0
    assert np.signbit(evaluate(y)).tolist() == [True, False]
    v.set_value(np.ones(2))
    assert evaluate(y).tolist() == [0.0, 2.0]  # what was not written is computed


def test_an_array_that_no_write_could_leave_is_for_reading() -> None:
    v = Variable(A)
    for x in (v, v[0], xp.broadcast_to(xp.asarray(A[0]), (2, 3)), xp.reshape((v * 1.0).T, (-1,))):
        assert not np.asarray(x).flags.writeable
        assert np.array(x).flags.writeable and np.asarray(x, dtype="float32").flags.writeable
    with pytest.raises(TypeError, match="is being differentiated"):
        grad(lambda x: xp.sum(np.asarray(x)))(A)
    with pytest.raises(ValueError, match="copy=False"):
        np.asarray(xp.asarray(A), copy=False)


def test_a_copy_is_its_owners() -> None:
    x = xp.asarray(A)
    for _ in range(2):  # of the Tensor, and of the array that stands for it
        np.array(x)[0] = 9.0
        np.asarray(x, dtype="float32")[0] = 9.0
        array = np.asarray(x)
        assert array.flags.writeable
    np.testing.assert_array_equal(evaluate(x), A)


def test_compiled_code_writes_its_output() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    image, weights = xp.asarray(np.arange(16.0).reshape(4, 4)), xp.ones((3, 3), dtype="float64")
    whole = xp.zeros((2, 4, 4), dtype="float64")
    for i in range(2):
        ndimage.correlate(image, (i + 1) * weights, output=whole[i])
    wanted = evaluate(ndimage.correlate(image, weights))
    np.testing.assert_array_equal(evaluate(whole), [wanted, 2 * wanted])
    with pytest.raises(ValueError, match="read-only"):
        ndimage.correlate(image, weights, output=Variable(np.zeros((4, 4))))
