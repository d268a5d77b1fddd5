"""Dtypes of draws, lengths that do not fit, variables as Keras makes and sets them, gradients of what is no Tensor."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from nbm_xp import keras2 as K


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("draw", [K.random_normal, K.truncated_normal])
def test_normal_numbers_have_the_dtype_that_is_asked_for(draw, dtype):
    for mean in (0.0, K.variable(1.0, dtype="float64")):
        drawn = draw((3,), mean, dtype=dtype, seed=1)
        assert K.dtype(drawn) == dtype
        assert K.eval(drawn).dtype == dtype


def test_narrow_truncated_normal_numbers_have_their_distribution():
    drawn = K.eval(K.truncated_normal((4000,), dtype="float16", seed=1)).astype("float64")
    assert np.abs(drawn).max() <= 2.0
    assert abs(drawn.std() - 0.8796) < 0.03


def test_a_normal_draw_stays_a_draw():
    drawn = K.random_normal((4,), dtype="float16", seed=1)
    step = K.function([], [drawn])
    assert not np.array_equal(step([])[0], step([])[0])


@pytest.mark.parametrize("rows", [2, 4])
def test_a_sparse_product_needs_equal_inner_lengths(rows):
    sparse = K.placeholder((None, 3), sparse=True)
    for left in (sparse, K.variable(scipy.sparse.csr_matrix(np.eye(3)))):
        with pytest.raises(ValueError, match=rf"y must have 3 elements along its first axis.*\({rows}, 2\)"):
            K.dot(left, K.variable(np.ones((rows, 2))))


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize("moments", [2, 9])
def test_a_mask_has_as_many_moments_as_the_inputs(moments, unroll):
    x = np.ones((2, 4, 3), "float32")
    with pytest.raises(ValueError, match=f"mask must have 4 moments, as inputs has, got {moments}"):
        K.rnn(lambda now, states: (now, [now]), x, [x[:, 0]], mask=np.ones((2, moments)), unroll=unroll)


def test_gradients_of_what_is_not_recorded_say_so():
    w = K.variable([1.0, 2.0])
    with pytest.raises(TypeError, match="loss must be recorded, a Tensor, got ndarray"):
        K.gradients(np.ones(2), [w])
    with pytest.raises(TypeError, match="variables must be recorded, a Tensor, got ndarray"):
        K.gradients(K.sum(w), [np.ones(2)])


def test_a_value_of_another_shape_is_refused_and_nothing_is_set():
    x, y = K.zeros((3,)), K.ones((2,), name="weights")
    with pytest.raises(ValueError, match=r"value must have shape \(2,\), as weights has, got \(4,\)"):
        K.batch_set_value([(x, np.ones(3)), (y, np.ones(4))])
    np.testing.assert_array_equal(K.get_value(x), np.zeros(3))
    with pytest.raises(TypeError, match="takes a variable"):
        K.set_value(np.ones(3), np.ones(3))


@pytest.mark.parametrize(
    "made", [lambda: K.zeros((2, 2), name="q"), lambda: K.ones((2, 2), name="q"), lambda: K.eye(2, name="q")]
)
def test_filled_variables_are_keras_tensors_with_names_in_scopes(made):
    with K.name_scope("s"):
        variable = made()
    assert K.is_keras_tensor(variable)
    assert (variable.name, variable._keras_shape) == ("s/q", (2, 2))


def test_a_sparse_matrix_is_a_left_factor_as_it_is():
    left, right = scipy.sparse.random(3, 4, 0.5, random_state=0, format="csr"), np.ones((4, 2), dtype="float32")
    np.testing.assert_allclose(K.eval(K.dot(left, K.variable(right))), left.toarray() @ right, rtol=1e-6)


def test_the_shape_of_a_lazy_array_is_known():
    da = pytest.importorskip("dask.array")
    x = da.ones((4, 3), chunks=2)
    assert K.shape(x).tolist() == [4, 3]
    assert K.reshape(x, [K.shape(x)[1], -1]).shape == (3, 4)


def test_a_length_that_a_shape_leaves_out_is_not_repeated_along():
    x = K.placeholder(shape=(None, 2, 3))
    with pytest.raises(ValueError, match=r"x must have a known length along axis 0, got shape \(None, 2, 3\)"):
        K.repeat_elements(x, 5, axis=0)
    assert K.int_shape(K.repeat_elements(x, 5, axis=1)) == (None, 10, 3)
    assert K.repeat_elements(K.placeholder(ndim=2), 5, axis=0).ndim == 2


def test_a_loss_multiplied_by_weights_gives_its_name_to_the_product():
    """So training code weights what a loss gives for each sample; one loss may give a single number."""
    losses, weights = K.placeholder(ndim=2), K.placeholder(ndim=1)
    score = K.mean(losses)
    score *= weights
    score /= K.mean(K.cast(K.not_equal(weights, 0), "float32"))
    (total,) = K.function([losses, weights], [K.mean(score)])([np.asarray([[1.0, 3.0]]), np.asarray([1.0, 0.0, 2.0])])
    assert total == pytest.approx(3.0)


def test_the_backend_has_a_name_for_programs_that_read_it():
    assert K._BACKEND != "tensorflow"  # nobody shall look for a session here
    if K._BACKEND == "theano":
        assert K.variable(1.0, dtype="float64").dtype == "float64"


@pytest.mark.parametrize("x", np.linspace(-20.0, 3.0, 24))
def test_the_scaled_exponential_unit_is_right_to_two_ulps(x):
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    found = K.eval(scale * K.elu(K.variable([x]), alpha))
    exact = scale * (np.float32(x) if x > 0 else alpha * np.expm1(np.float64(np.float32(x))))
    assert abs(found[0] - exact) <= 2 * np.spacing(np.float32(abs(exact)))  # NumPy's expm1 depends on the machine
