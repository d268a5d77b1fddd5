"""The documented API of natural_bm's backend: ``from nbm_xp import natural_bm as B``.

The module replaces natural_bm's ``backend``, ``theano_backend`` and ``numpy_backend``: its models run on it unchanged
after a call of `install_as`. Functions compute immediately on arrays, in the arrays' library, and record operations on
Tensors (`variable`, `placeholder`). Most functions are those of `nbm_xp.functions`; this module defines those whose
behaviour differs in natural_bm.
"""

from __future__ import annotations

import sys
from typing import Any
from typing import cast as cast_type

from nbm_xp.functions.extremes import all, any, argmax, argmin, clip
from nbm_xp.functions.extremes import max as shared_max
from nbm_xp.functions.extremes import min as shared_min
from nbm_xp.functions.graphs import function
from nbm_xp.functions.joining import concatenate, one_hot, repeat, repeat_elements, stack, tile
from nbm_xp.functions.neural import logsumexp, sigmoid
from nbm_xp.functions.shaping import cast, cast_to_floatx, flatten, permute_dimensions, reshape, squeeze, transpose
from nbm_xp.namespace.errors import name_errors

from . import tape
from .compatibility import attend
from .compatibility.views import global_integer
from .functions import graphs, neural, randomness, shaping, variables
from .functions._arguments import Array, Axis, Shape
from .functions.comparison import allclose, equal, greater, greater_equal, less, less_equal, maximum, minimum, not_equal
from .functions.control import ifelse, scan, stop_gradient, until
from .functions.creation import arange, eye, ones, ones_like, placeholder, variable, zeros, zeros_like
from .functions.elementwise import abs, cos, exp, log, pow, round, sign, sin, sqrt, square
from .functions.linear_algebra import diag, dot, fill_diagonal, solve, svd
from .functions.reductions import cumprod, cumsum, mean, prod, std, sum, var
from .functions.variables import (
    batch_get_value,
    batch_set_value,
    dtype,
    get_value,
    get_variable_shape,
    ndim,
    set_value,
    shape,
)
from .namespace import backend, epsilon, floatx, intx, set_epsilon, set_floatx, set_intx
from .package import public_names
from .rng import RandomStreams

__all__ = [
    "RandomStreams", "abs", "all", "allclose", "any", "arange", "argmax", "argmin", "backend", "batch_get_value",
    "batch_set_value", "cast", "cast_to_floatx", "clip", "concatenate", "cos", "cumprod", "cumsum", "diag", "dot",
    "dtype", "epsilon", "equal", "eval", "exp", "eye", "fill_diagonal", "flatten", "floatx", "function",
    "get_value", "get_variable_shape", "gradients", "greater", "greater_equal", "ifelse", "install_as", "intx",
    "less", "less_equal", "log", "logdiffexp", "logsumexp", "make_rng", "max", "maximum", "mean", "min", "minimum",
    "ndim", "not_equal", "one_hot", "ones", "ones_like", "permute_dimensions", "placeholder", "pow", "prod",
    "random_binomial", "random_normal", "random_uniform", "repeat", "repeat_elements", "reshape", "reverse",
    "round", "scan", "set_epsilon", "set_floatx", "set_intx", "set_value", "shape", "sigmoid", "sign", "sin",
    "solve", "sqrt", "square", "squeeze", "stack", "std", "stop_gradient", "sum", "svd", "tile", "transpose",
    "until", "var", "variable", "zeros", "zeros_like",
]  # fmt: skip


def max(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the maximum of the elements; nan if any is nan.

    Parameters
    ----------
    x : array
        Input with at least one element.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all.
    keepdims : bool
        Whether to keep reduced axes with length 1.

    Returns
    -------
    array
        Maximum, of the dtype of `x`. Each of several equal maxima receives the whole gradient, as in Theano.

    Examples
    --------
    >>> x = variable([3, 1, 3])
    >>> gradients(max(x), x).eval()
    array([1., 0., 1.], dtype=float32)
    """
    return shared_max(x, axis, keepdims, ties="whole")


def min(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the minimum of the elements; nan if any is nan.

    Parameters
    ----------
    x : array
        Input with at least one element.
    axis : int or sequence of int, optional
        Axes to reduce. Defaults to all.
    keepdims : bool
        Whether to keep reduced axes with length 1.

    Returns
    -------
    array
        Minimum, of the dtype of `x`. Each of several equal minima receives the whole gradient, as in Theano.

    Examples
    --------
    >>> x = variable([3, 1, 1])
    >>> gradients(min(x), x).eval()
    array([0., 1., 1.], dtype=float32)
    """
    return shared_min(x, axis, keepdims, ties="whole")


def logdiffexp(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute ``log(exp(x[..., 1:]) - exp(x[..., :-1]))``, the difference of neighbours along the last axis.

    Parameters
    ----------
    x : array
        Logarithms; integers are converted to floating point.
    axis, keepdims
        Ignored, as in natural_bm: the axis is always the last one.

    Returns
    -------
    array
        Shorter by 1 along the last axis; -inf for equal neighbours, nan if the first of them is larger.

    Examples
    --------
    >>> import numpy as np
    >>> logdiffexp(np.asarray([1000.0, 1001.0]), axis=0)
    array([1000.54132485])
    """
    return neural.logdiffexp(x, axis=-1)


def reverse(x: Array, axes: Any) -> Array:
    """Reverse the order of the elements along axes.

    Parameters
    ----------
    x : array
    axes : int or sequence of int
        Axes to reverse, counted from 0. Axes that `x` does not have are ignored, as in natural_bm.

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> reverse(np.asarray([[1, 2], [3, 4]]), (1, 7))
    array([[2, 1],
           [4, 3]])
    """
    return shaping.reverse(x, axes, ignore_unknown=True)


def gradients(loss: Any, variables: Any) -> Any:
    """Compute the gradient of a scalar Tensor with respect to Tensors that it depends on.

    Parameters
    ----------
    loss : Tensor
        Scalar Tensor.
    variables : Tensor, or list of Tensors
        Variables, placeholders, or Tensors computed from them.

    Returns
    -------
    Tensor, or list of Tensor
        Gradient, or list of gradients for a list of variables. As in Theano, the gradient of a float32 variable is
        float64 if the loss is computed in float64.

    Raises
    ------
    TypeError
        If `loss` is not a scalar Tensor.
    ValueError
        If `loss` does not depend on a variable.

    Examples
    --------
    >>> x = variable([1, 2])
    >>> gradients(sum(square(x)), x).eval()
    array([2., 4.], dtype=float32)
    """
    return graphs.gradients(loss, variables, keep_dtype=False)


def eval(x: Any) -> Any:
    """Evaluate a Tensor.

    Parameters
    ----------
    x : Tensor, array or number, or tuple or list of them
        Value to evaluate. A tuple of lengths is treated as the shape of a Tensor.

    Returns
    -------
    array
        Value, in the library of the computation. A shape is returned as a NumPy vector of int64; the elements of other
        tuples and lists are evaluated one by one. Arrays and numbers are returned unchanged.

    Raises
    ------
    ValueError, TypeError
        If the value depends on a placeholder, or on the length of one.

    Examples
    --------
    >>> x = variable([[1, 2, 3]])
    >>> eval(x * 2), eval(x.shape)
    (array([[2., 4., 6.]], dtype=float32), array([1, 3]))
    """
    return variables.eval(x, shape_vectors=True)


def make_rng(seed: Any = None) -> RandomStreams:
    """Return a generator of random streams.

    Parameters
    ----------
    seed : int or list of six ints, optional
        Seed, as in `RandomStreams`. By default it is drawn from NumPy's global generator, and thus determined by
        ``numpy.random.seed``, as in natural_bm.

    Returns
    -------
    RandomStreams

    Examples
    --------
    >>> import numpy as np
    >>> np.random.seed(1)
    >>> make_rng().rstate.tolist() == make_rng(4686060).rstate.tolist()
    True
    """
    return randomness.make_rng(seed, draw=global_integer)


def random_uniform(
    shape: Shape, minval: Array = 0.0, maxval: Array = 1.0, dtype: Any = None, rng: RandomStreams | None = None
) -> tape.Tensor:
    """Draw samples from a uniform distribution; each evaluation draws new samples.

    Parameters
    ----------
    shape : sequence of int
        Shape of the result. If it contains lengths of placeholders, variables or Tensors computed from them, the draw
        uses 15360 streams, as in Theano.
    minval, maxval : number or array
        Bounds of the interval.
    dtype : str, optional
        Dtype of the result. Defaults to ``floatx``. Integers are floating-point samples rounded down.
    rng : RandomStreams, optional
        Generator. Defaults to a new one from `make_rng`.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> random_uniform((3,), 4, 5, rng=make_rng(1)).shape
    (3,)
    """
    rng = make_rng() if rng is None else rng
    return cast_type("tape.Tensor", randomness.random_uniform(shape, minval, maxval, dtype, rng))


def random_normal(
    shape: Shape, mean: Array = 0.0, stddev: Array = 1.0, dtype: Any = None, rng: RandomStreams | None = None
) -> tape.Tensor:
    """Draw samples from a normal distribution; each evaluation draws new samples.

    Parameters
    ----------
    shape, dtype, rng
        See `random_uniform`.
    mean, stddev : number or array
        Mean and standard deviation.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> random_normal((2, 3), mean=1.0, rng=make_rng(1)).shape
    (2, 3)
    """
    rng = make_rng() if rng is None else rng
    return cast_type("tape.Tensor", randomness.random_normal(shape, mean, stddev, dtype, rng))


def random_binomial(shape: Shape, p: Array = 0.0, dtype: Any = None, rng: RandomStreams | None = None) -> tape.Tensor:
    """Draw zeros and ones from a Bernoulli distribution; each evaluation draws new samples.

    Parameters
    ----------
    shape, dtype, rng
        See `random_uniform`.
    p : number or array
        Probability of a one.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> random_binomial((8,), p=0.5, rng=make_rng(42)).eval().tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0]
    """
    rng = make_rng() if rng is None else rng
    return cast_type("tape.Tensor", randomness.random_binomial(shape, p, dtype, rng))


def install_as(name: str = "natural_bm.backend") -> None:
    """Register this module as natural_bm's backend for subsequent imports.

    The names `name`, and its submodules ``theano_backend``, ``numpy_backend`` and ``common``, all refer to this module.

    Parameters
    ----------
    name : str
        Full name of the backend's package.

    Raises
    ------
    ImportError
        If one of the four was imported already; nothing is changed then.

    Notes
    -----
    The other modules of the client's package, and no others, see Python and NumPy as in its time
    (`nbm_xp.compatibility`).

    Examples
    --------
    >>> install_as("a_backend_of_machines")
    >>> from a_backend_of_machines import epsilon, theano_backend
    >>> theano_backend.epsilon is epsilon
    True
    """
    module = sys.modules[__name__]
    places = [name, *(f"{name}.{part}" for part in ("theano_backend", "numpy_backend", "common"))]
    for place in places:
        if sys.modules.get(place, module) is not module:
            raise ImportError(f"{place} was imported already: call install_as({name!r}) before what imports it")
    sys.modules.update(dict.fromkeys(places, module))
    package = name.rpartition(".")[0]
    if package:
        attend(package)


name_errors(globals())
public_names(globals())
theano_backend = numpy_backend = common = sys.modules[__name__]  # natural_bm imports these by name
