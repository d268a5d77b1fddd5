"""Keras 2.0's variables and random numbers.

Variables have the attributes that Keras's layers read, and a fixed shape. Random numbers depend only on a seed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbm_xp import tape
from nbm_xp.compatibility.views import global_integer
from nbm_xp.functions import creation, randomness, variables
from nbm_xp.functions._arguments import Array, Shape
from nbm_xp.functions.shaping import cast
from nbm_xp.namespace import dtype_name, floatx
from nbm_xp.rng import RandomStreams
from nbm_xp.rng.uniforms import DTYPES

from .client import marked, scoped
from .graphs import variable

__all__ = [
    "batch_set_value", "dropout", "eye", "ones", "random_binomial", "random_normal", "random_normal_variable",
    "random_uniform", "random_uniform_variable", "set_value", "truncated_normal", "zeros",
]  # fmt: skip


def _own(made: Any) -> Any:
    return marked(made, variables.get_variable_shape(made)) if tape.is_tensor(made) else made


def zeros(shape: Shape, dtype: Any = None, name: str | None = None) -> Any:
    """Create a variable of zeros.

    Parameters
    ----------
    shape : tuple of int
        Shape of the variable. If a length is an unknown length of a Tensor, the result is a Tensor instead.
    dtype : str, optional
        Dtype of the variable. Defaults to ``floatx``.
    name : str, optional
        Name of the variable.

    Returns
    -------
    Variable

    Examples
    --------
    >>> zeros((2,)).get_value()
    array([0., 0.], dtype=float32)
    """
    return _own(creation.zeros(shape, dtype, scoped(name)))


def ones(shape: Shape, dtype: Any = None, name: str | None = None) -> Any:
    """Create a variable of ones.

    Parameters
    ----------
    shape : tuple of int
        Shape of the variable. If a length is an unknown length of a Tensor, the result is a Tensor instead.
    dtype : str, optional
        Dtype of the variable. Defaults to ``floatx``.
    name : str, optional
        Name of the variable.

    Returns
    -------
    Variable

    Examples
    --------
    >>> ones((2,)).get_value()
    array([1., 1.], dtype=float32)
    """
    return _own(creation.ones(shape, dtype, scoped(name)))


def eye(size: int, dtype: Any = None, name: str | None = None) -> Any:
    """Create a variable whose value is the identity matrix.

    Parameters
    ----------
    size : int
        Number of rows and columns.
    dtype : str, optional
        Dtype of the variable. Defaults to ``floatx``.
    name : str, optional
        Name of the variable.

    Returns
    -------
    Variable

    Examples
    --------
    >>> eye(2).get_value()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return _own(creation.eye(size, dtype, scoped(name)))


def set_value(x: tape.Variable, value: Any) -> None:
    """Set the value of a variable; the shape must stay the same.

    Parameters
    ----------
    x : Variable
        The variable.
    value : array, number, nested list, or anything that NumPy makes an array of
        New value, cast to the variable's dtype. Datasets of h5py and frames of pandas are converted by NumPy.

    Raises
    ------
    TypeError
        If `x` is not a variable.
    ValueError
        If `value` has another shape.

    Examples
    --------
    >>> x = zeros((2,))
    >>> set_value(x, [1.0, 2.0])
    >>> x.get_value()
    array([1., 2.], dtype=float32)
    """
    batch_set_value([(x, value)])


def batch_set_value(tuples: Iterable[tuple[tape.Variable, Any]]) -> None:
    """Set the values of several variables: all, or none if an argument is invalid.

    Parameters
    ----------
    tuples : list of (Variable, value)
        Pairs of a variable and its new value, as for `set_value`.

    Raises
    ------
    TypeError
        If a pair's first element is not a variable.
    ValueError
        If a value has another shape.

    Examples
    --------
    >>> x, y = zeros(()), zeros(())
    >>> batch_set_value([(x, 3), (y, 4)])
    >>> float(x), float(y)
    (3.0, 4.0)
    """
    variables.batch_set_value(tuples, same_shapes=True)


def random_normal(shape: Shape, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Draw from a normal distribution.

    Parameters
    ----------
    shape : tuple of int
        Shape of the result.
    mean, stddev : float
        Mean and standard deviation of the distribution.
    dtype : str, optional
        Dtype of the result. Defaults to ``floatx``.
    seed : int, optional
        The same seed gives the same numbers. By default drawn from NumPy's global state, so that ``np.random.seed``
        determines it.

    Returns
    -------
    Tensor
        Drawn anew whenever it is computed.

    Examples
    --------
    >>> random_normal((2, 3), seed=1).eval().shape
    (2, 3)
    """
    # Theano's streams return floatx for narrower dtypes
    return cast(randomness.random_normal(shape, mean, stddev, dtype, _rng(seed)), dtype or floatx())


def random_uniform(shape: Shape, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Draw from a uniform distribution.

    Parameters
    ----------
    shape : tuple of int
        Shape of the result.
    minval, maxval : float
        Bounds of the interval; for integers, `minval` is inclusive and `maxval` exclusive.
    dtype : str, optional
        Dtype of the result. Defaults to ``floatx``.
    seed : int, optional
        The same seed gives the same numbers. By default drawn from NumPy's global state, so that ``np.random.seed``
        determines it.

    Returns
    -------
    Tensor
        Drawn anew whenever it is computed.

    Examples
    --------
    >>> random_uniform((2,), 0, 10, dtype="int32", seed=3).eval().dtype
    dtype('int32')
    """
    return randomness.random_uniform(shape, minval, maxval, dtype, _rng(seed))


def random_binomial(shape: Shape, p: float = 0.0, dtype: Any = None, seed: Any = None) -> Any:
    """Draw ones with a given probability, and zeros otherwise.

    Parameters
    ----------
    shape : tuple of int
        Shape of the result.
    p : float
        Probability of a one.
    dtype : str, optional
        Dtype of the result. Defaults to ``floatx``.
    seed : int, optional
        The same seed gives the same numbers. By default drawn from NumPy's global state, so that ``np.random.seed``
        determines it.

    Returns
    -------
    Tensor
        Drawn anew whenever it is computed.

    Examples
    --------
    >>> random_binomial((2,), p=1.0).eval()
    array([1., 1.], dtype=float32)
    """
    return randomness.random_binomial(shape, p, dtype, _rng(seed))


def truncated_normal(shape: Shape, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Draw from a normal distribution truncated at two standard deviations from its mean.

    Parameters
    ----------
    shape : tuple of int
        Shape of the result.
    mean, stddev : float
        Mean and standard deviation before truncation.
    dtype : str, optional
        Dtype of the result. Defaults to ``floatx``.
    seed : int, optional
        The same seed gives the same numbers. By default drawn from NumPy's global state, so that ``np.random.seed``
        determines it.

    Returns
    -------
    Tensor
        Drawn anew whenever it is computed.

    Examples
    --------
    >>> bool((abs(truncated_normal((100,), seed=1).eval()) <= 2.0).all())
    True
    """
    return cast(randomness.truncated_normal(shape, mean, stddev, dtype, _rng(seed)), dtype or floatx())


def random_uniform_variable(
    shape: Shape, low: float, high: float, dtype: Any = None, name: str | None = None, seed: Any = None
) -> tape.Variable:
    """Create a variable whose initial value is drawn from a uniform distribution.

    Parameters
    ----------
    shape : tuple of int
        Shape of the variable.
    low, high : float
        Bounds of the interval.
    dtype : str, optional
        Dtype of the variable. Defaults to ``floatx``.
    name : str, optional
        Name of the variable.
    seed : int, optional
        The same seed gives the same numbers. By default as in `random_uniform`.

    Returns
    -------
    Variable

    Examples
    --------
    >>> random_uniform_variable((2, 3), 0, 1).shape
    (2, 3)
    """
    made: tape.Variable = variable(random_uniform(shape, low, high, dtype, _lasting(seed)), dtype, name)
    return made


def random_normal_variable(
    shape: Shape, mean: float, scale: float, dtype: Any = None, name: str | None = None, seed: Any = None
) -> tape.Variable:
    """Create a variable whose initial value is drawn from a normal distribution.

    Parameters
    ----------
    shape : tuple of int
        Shape of the variable.
    mean, scale : float
        Mean and standard deviation of the distribution.
    dtype : str, optional
        Dtype of the variable. Defaults to ``floatx``.
    name : str, optional
        Name of the variable.
    seed : int, optional
        The same seed gives the same numbers. By default as in `random_uniform`.

    Returns
    -------
    Variable

    Raises
    ------
    ValueError
        If `dtype` is not the name of a floating-point dtype.

    Examples
    --------
    >>> random_normal_variable((2, 3), 0, 1).shape
    (2, 3)
    """
    if dtype is not None and (dtype if isinstance(dtype, str) else dtype_name(dtype)) not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}; got {dtype!r}")
    made: tape.Variable = variable(random_normal(shape, mean, scale, dtype, _lasting(seed)), dtype, name)
    return made


def dropout(x: Array, level: float, noise_shape: Any = None, seed: Any = None) -> Any:
    """Set random elements to zero and scale the others up to keep the expectation.

    Parameters
    ----------
    x : array or Tensor
        The values.
    level : float
        Probability of a zero, in [0, 1).
    noise_shape : tuple of int or None, optional
        Shape of the draws, which broadcasts to the shape of `x`; None for a length of `x`.
    seed : int, optional
        The same seed gives the same zeros. By default drawn from NumPy's global state, so that ``np.random.seed``
        determines it.

    Returns
    -------
    Tensor
        Drawn anew whenever it is computed.

    Examples
    --------
    >>> import numpy as np
    >>> dropout(np.ones((2, 3)), 0.5).shape
    (2, 3)
    """
    return randomness.dropout(x, level, noise_shape, lambda: _rng(seed))


def _rng(seed: int | None) -> RandomStreams:
    """Create Theano's generator; None takes a number from NumPy's global state, as in Keras. Seeds are hashed."""
    return randomness.make_rng(draw=global_integer) if seed is None else randomness.rng_from(seed)


def _lasting(seed: int | None) -> int:
    return global_integer(0, 10**9) if seed is None else seed
