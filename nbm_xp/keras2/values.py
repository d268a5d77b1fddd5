"""Variables as Keras 2.0 makes and sets them, and its random numbers.

Variables have the attributes that Keras's layers read, and a fixed shape. Random numbers depend on a seed alone.
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
    """A variable of zeros.

    Parameters
    ----------
    shape : tuple of int
        Its shape. With an unknown length of a Tensor in it, the result is a Tensor instead.
    dtype : str, optional
        Its dtype, ``floatx`` by default.
    name : str, optional
        Its name.

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
    """A variable of ones.

    Parameters
    ----------
    shape : tuple of int
        Its shape. With an unknown length of a Tensor in it, the result is a Tensor instead.
    dtype : str, optional
        Its dtype, ``floatx`` by default.
    name : str, optional
        Its name.

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
    """A variable with an identity matrix.

    Parameters
    ----------
    size : int
        The number of rows and columns.
    dtype : str, optional
        Its dtype, ``floatx`` by default.
    name : str, optional
        Its name.

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
    """Give a variable another value of the same shape.

    Parameters
    ----------
    x : Variable
        The variable.
    value : array, number, nested list, or anything that NumPy makes an array of
        Cast to the variable's dtype. Datasets of h5py and frames of pandas are taken as NumPy takes them.

    Raises
    ------
    TypeError
        If `x` is no variable.
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
    """Give several variables other values of the same shapes: all, or none where one does not fit.

    Parameters
    ----------
    tuples : list of (Variable, value)
        Each variable with its new value, as `set_value` takes it.

    Raises
    ------
    TypeError
        If one is no variable.
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
    """Numbers drawn from a normal distribution.

    Parameters
    ----------
    shape : tuple of int
        How many.
    mean, stddev : float
        The distribution's mean and standard deviation.
    dtype : str, optional
        Their dtype, ``floatx`` by default.
    seed : int, optional
        The same seed gives the same numbers; by default one that NumPy's global state draws, so that
        ``np.random.seed`` decides.

    Returns
    -------
    Tensor
        Drawn anew whenever it is computed.

    Examples
    --------
    >>> random_normal((2, 3), seed=1).eval().shape
    (2, 3)
    """
    # of a narrower dtype than floatx, Theano's streams give floatx
    return cast(randomness.random_normal(shape, mean, stddev, dtype, _rng(seed)), dtype or floatx())


def random_uniform(shape: Shape, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers drawn evenly from an interval.

    Parameters
    ----------
    shape : tuple of int
        How many.
    minval, maxval : float
        The interval; of integers, `minval` is included and `maxval` is not.
    dtype : str, optional
        Their dtype, ``floatx`` by default.
    seed : int, optional
        The same seed gives the same numbers; by default one that NumPy's global state draws, so that
        ``np.random.seed`` decides.

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
    """Ones with a probability, else zeros.

    Parameters
    ----------
    shape : tuple of int
        How many.
    p : float
        The probability of a one.
    dtype : str, optional
        Their dtype, ``floatx`` by default.
    seed : int, optional
        The same seed gives the same numbers; by default one that NumPy's global state draws, so that
        ``np.random.seed`` decides.

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
    """Numbers drawn from a normal distribution, without those beyond two standard deviations.

    Parameters
    ----------
    shape : tuple of int
        How many.
    mean, stddev : float
        Mean and standard deviation of the normal distribution.
    dtype : str, optional
        Their dtype, ``floatx`` by default.
    seed : int, optional
        The same seed gives the same numbers; by default one that NumPy's global state draws, so that
        ``np.random.seed`` decides.

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
    """A variable whose first value is drawn evenly from an interval.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    low, high : float
        The interval.
    dtype : str, optional
        Its dtype, ``floatx`` by default.
    name : str, optional
        Its name.
    seed : int, optional
        The same seed gives the same numbers; by default as in `random_uniform`.

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
    """A variable whose first value is drawn from a normal distribution.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    mean, scale : float
        The distribution's mean and standard deviation.
    dtype : str, optional
        Its dtype, ``floatx`` by default.
    name : str, optional
        Its name.
    seed : int, optional
        The same seed gives the same numbers; by default as in `random_uniform`.

    Returns
    -------
    Variable

    Raises
    ------
    ValueError
        If `dtype` is not one of floating point, by the name that Keras gives it.

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
    """Zeros in random places, with what is left scaled up so that the expectation stays.

    Parameters
    ----------
    x : array or Tensor
        The values.
    level : float
        The share of zeros, from 0 to less than 1.
    noise_shape : tuple of int or None, optional
        The shape in which zeros are drawn, which broadcasts to that of `x`; None for a length as in `x`.
    seed : int, optional
        The same seed gives the same zeros; by default one that NumPy's global state draws, so that
        ``np.random.seed`` decides.

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
    """Theano's generator of a number that NumPy's global state draws, as Keras on Theano has it; seeds are hashed."""
    return randomness.make_rng(draw=global_integer) if seed is None else randomness.rng_from(seed)


def _lasting(seed: int | None) -> int:
    return global_integer(0, 10**9) if seed is None else seed
