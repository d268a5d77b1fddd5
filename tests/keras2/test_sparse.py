"""Sparse matrices of SciPy and of the package sparse as inputs, as variables, in products and in gradients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from nbm_xp import keras2 as K
from nbm_xp import use_backend
from nbm_xp.namespace import to_numpy
from tests.helpers.libraries import EAGER, Library, computing, libraries

DENSE = np.asarray([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, -3.0, 4.0]], dtype="float32")
WEIGHTS = np.arange(6.0, dtype="float32").reshape(3, 2)


def of_sparse(dense: np.ndarray) -> Any:
    return pytest.importorskip("sparse").COO.from_numpy(dense)


def with_coordinates(dense: np.ndarray) -> Any:
    """The matrix as coordinates of the package sparse, with one element split into two entries."""
    rows, columns = np.nonzero(dense)
    values = dense[rows, columns]
    values[0] -= 5.0
    return SimpleNamespace(
        coords=np.stack([np.append(rows, rows[0]), np.append(columns, columns[0])]),
        data=np.append(values, np.float32(5.0)), shape=dense.shape,
    )  # fmt: skip


FORMS = {
    "csr": scipy.sparse.csr_matrix, "csc": scipy.sparse.csc_matrix, "coo": scipy.sparse.coo_array,
    "lil": scipy.sparse.lil_matrix, "sparse": of_sparse, "coordinates": with_coordinates,
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(None, None), (None, 3), (4, 3)])
def test_an_input(form: str, shape: tuple[int | None, ...]) -> None:
    x = K.placeholder(shape, sparse=True)
    f = K.function([x], [x, K.dot(x, K.variable(WEIGHTS)), K.shape(x)])
    dense, product, lengths = f([FORMS[form](DENSE)])
    np.testing.assert_array_equal(dense, DENSE)
    np.testing.assert_array_equal(product, DENSE @ WEIGHTS)
    np.testing.assert_array_equal(lengths, [4, 3])
    assert (K.is_sparse(x), K.ndim(x), K.dtype(x), K.int_shape(x)) == (True, 2, "float32", shape)
    assert (x._keras_shape, x._uses_learning_phase) == (shape, False)


@pytest.mark.parametrize(
    "library", libraries("numpy", "array_api_strict", "torch", "jax", "dask-halves"), indirect=True
)
def test_an_input_and_weights_of_every_library(library: Library) -> None:
    with use_backend(library.name):
        w = K.variable(library.array(WEIGHTS))
        x = K.placeholder((None, None), sparse=True)
        product = K.dot(x, w)
        f = K.function([x], [product, *K.gradients(K.sum(product * product), [w])])
        with computing():  # the results are NumPy arrays
            got, gradient = f([scipy.sparse.csr_matrix(DENSE)])
    np.testing.assert_array_equal(got, DENSE @ WEIGHTS)
    np.testing.assert_array_equal(gradient, 2 * DENSE.T @ DENSE @ WEIGHTS)


@pytest.mark.parametrize("library", EAGER, indirect=True)
def test_a_variable_is_evaluated_as_a_dense_matrix(library: Library) -> None:
    with use_backend(library.name):
        x = K.variable(scipy.sparse.csr_matrix(DENSE), name="x")
        assert K.is_sparse(x)
        np.testing.assert_array_equal(to_numpy(K.eval(x)), DENSE)
        np.testing.assert_array_equal(to_numpy(K.eval(K.dot(x, K.variable(WEIGHTS[:, 0])))), DENSE @ WEIGHTS[:, 0])


def test_joined_matrices_stay_sparse_if_all_are() -> None:
    x, y = K.variable(scipy.sparse.csr_matrix(DENSE)), K.placeholder((4, None), sparse=True)
    f = K.function([y], [K.concatenate([x, y]), K.concatenate([x, x], axis=0)])
    assert K.is_sparse(K.concatenate([x, y], axis=1))
    beside, below = f([scipy.sparse.coo_matrix(DENSE[:, :2])])
    np.testing.assert_array_equal(beside, np.concatenate([DENSE, DENSE[:, :2]], axis=1))
    np.testing.assert_array_equal(below, np.concatenate([DENSE, DENSE], axis=0))
    mixed = K.concatenate([x, K.variable(DENSE)])
    assert not K.is_sparse(mixed)
    np.testing.assert_array_equal(K.eval(mixed), np.concatenate([DENSE, DENSE], axis=1))


def test_the_gradient_in_a_placeholder_of_the_elements() -> None:
    """The gradient with respect to the stored elements; the others stay absent."""
    x = K.placeholder((None, 3), sparse=True)
    loss = K.sum(K.dot(x, K.variable(WEIGHTS)))
    f = K.function([x], K.gradients(loss, [x.values]))
    np.testing.assert_array_equal(f([scipy.sparse.coo_matrix(DENSE)])[0], WEIGHTS.sum(axis=1)[DENSE.nonzero()[1]])


def test_what_is_refused() -> None:
    x = K.placeholder((None, 3), sparse=True, name="rows")
    f = K.function([x], [x])
    with pytest.raises(TypeError, match="rows must be given a sparse matrix, got ndarray"):
        f([DENSE])
    with pytest.raises(ValueError, match="rows must have shape"):
        f([scipy.sparse.csr_matrix(DENSE[:, :2])])
    with pytest.raises(ValueError, match="two axes"):
        K.placeholder((2, 3, 4), sparse=True)
    with pytest.raises(ValueError, match="matrix or a vector"):
        K.dot(x, np.ones((2, 3, 4)))
    with pytest.raises(ValueError, match="axis"):
        K.concatenate([x, x], axis=2)
    with pytest.raises(TypeError, match="variable"):
        K.set_value(K.variable(scipy.sparse.csr_matrix(DENSE)), DENSE)


@pytest.mark.parametrize("rows", [2, 4])
def test_a_sparse_product_needs_equal_inner_lengths(rows):
    sparse = K.placeholder((None, 3), sparse=True)
    for left in (sparse, K.variable(scipy.sparse.csr_matrix(np.eye(3)))):
        with pytest.raises(ValueError, match=rf"y must have 3 elements along its first axis.*\({rows}, 2\)"):
            K.dot(left, K.variable(np.ones((rows, 2))))


def test_a_sparse_matrix_is_a_left_factor_as_it_is():
    left, right = scipy.sparse.random(3, 4, 0.5, random_state=0, format="csr"), np.ones((4, 2), dtype="float32")
    np.testing.assert_allclose(K.eval(K.dot(left, K.variable(right))), left.toarray() @ right, rtol=1e-6)
