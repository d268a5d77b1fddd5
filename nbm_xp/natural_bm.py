"""The documented names of natural_bm's backend: ``from nbm_xp import natural_bm as B``.

The module stands in for natural_bm's ``backend``, ``theano_backend`` and ``numpy_backend``: its models run on it
unchanged, once `install_as` was called. Given arrays, a function computes at once, in the arrays' library; given
Tensors (`variable`, `placeholder`), it records. The functions are those of `nbm_xp.functions`; here stands only what
the original means differently.
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
from .functions.comparison import (
    allclose,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    maximum,
    minimum,
    not_equal,
)
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
    """Largest of the elements; nan if one is nan.

    Parameters
    ----------
    x : array
        What to compare; there must be an element.
    axis : int or sequence of int, optional
        The axes to reduce, by default all.
    keepdims : bool
        Whether reduced axes stay, with length 1.

    Returns
    -------
    array
        Of the same dtype. Each of several equal extremes gets the whole gradient, as in Theano.

    Examples
    --------
    >>> x = variable([3, 1, 3])
    >>> gradients(max(x), x).eval()
    array([1., 0., 1.], dtype=float32)
    """
    return shared_max(x, axis, keepdims, ties="whole")


def min(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Smallest of the elements; nan if one is nan.

    Parameters
    ----------
    x : array
        What to compare; there must be an element.
    axis : int or sequence of int, optional
        The axes to reduce, by default all.
    keepdims : bool
        Whether reduced axes stay, with length 1.

    Returns
    -------
    array
        Of the same dtype. Each of several equal extremes gets the whole gradient, as in Theano.

    Examples
    --------
    >>> x = variable([3, 1, 1])
    >>> gradients(min(x), x).eval()
    array([0., 1., 1.], dtype=float32)
    """
    return shared_min(x, axis, keepdims, ties="whole")


def logdiffexp(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Logarithm of the difference of the exponentials of neighbours along the last axis.

    Parameters
    ----------
    x : array
        Logarithms; integers become floating point.
    axis, keepdims
        Without effect, as in natural_bm: it is always the last axis.

    Returns
    -------
    array
        One shorter along the last axis: -inf between equal neighbours, nan where the earlier is larger.

    Examples
    --------
    >>> import numpy as np
    >>> logdiffexp(np.asarray([1000.0, 1001.0]), axis=0)
    array([1000.54132485])
    """
    return neural.logdiffexp(x, axis=-1)


def reverse(x: Array, axes: Any) -> Array:
    """The elements in reverse order along axes.

    Parameters
    ----------
    x : array
        The elements.
    axes : int or sequence of int
        The axes to turn round, counted from 0; what `x` does not have is ignored, as in natural_bm.

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
    """Differentiate a recorded number with respect to Tensors it was computed from.

    Parameters
    ----------
    loss : Tensor
        Without axes.
    variables : Tensor, or list of Tensors
        Variables, placeholders, or anything recorded on the way.

    Returns
    -------
    Tensor, or list of Tensor
        One gradient for one variable, a list for a list. As in Theano, the gradient of a float32 variable is float64
        where the loss was computed in float64.

    Raises
    ------
    TypeError
        If `loss` is no Tensor without axes.
    ValueError
        If it does not depend on a variable.

    Examples
    --------
    >>> x = variable([1, 2])
    >>> gradients(sum(square(x)), x).eval()
    array([2., 4.], dtype=float32)
    """
    return graphs.gradients(loss, variables, keep_dtype=False)


def eval(x: Any) -> Any:
    """The value of what was recorded.

    Parameters
    ----------
    x : Tensor, array or number, or tuple or list of them
        What to compute. A tuple of lengths is taken for the shape of a Tensor.

    Returns
    -------
    array
        In the library that it was computed in. A shape comes out as a vector of int64, a NumPy array; of any other
        tuple or list, each element is computed. What is not recorded stays as it is.

    Raises
    ------
    ValueError, TypeError
        If a placeholder is needed, or a length of one.

    Examples
    --------
    >>> x = variable([[1, 2, 3]])
    >>> eval(x * 2), eval(x.shape)
    (array([[2., 4., 6.]], dtype=float32), array([1, 3]))
    """
    return variables.eval(x, shape_vectors=True)


def make_rng(seed: Any = None) -> RandomStreams:
    """A generator of random streams, of which draws take the numbers.

    Parameters
    ----------
    seed : int or list of six ints, optional
        Where it starts, as in `RandomStreams`. None stands for a number from NumPy's global state, so that
        ``numpy.random.seed`` decides, as in natural_bm.

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
    """Numbers drawn evenly from an interval, anew whenever they are computed.

    Parameters
    ----------
    shape : sequence of int
        How many. Lengths of placeholders, of variables and of what comes of them are unknown to a draw, which then
        takes 15360 streams, as on Theano.
    minval, maxval : number or array
        The ends of the interval.
    dtype : str, optional
        What they are to be, if not ``floatx``. Integers are the floating numbers rounded down.
    rng : RandomStreams, optional
        What they are taken from, if not from `make_rng` anew.

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
    """Normally distributed numbers; see `random_uniform` for what is not named here.

    Parameters
    ----------
    shape, dtype, rng
        As there.
    mean, stddev : number or array
        Of the distribution.

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
    """Zeros and ones; see `random_uniform` for what is not named here.

    Parameters
    ----------
    shape, dtype, rng
        As there.
    p : number or array
        How probable a one is.

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
    """Let this module be natural_bm's backend, its two by name and what they have in common, for imports afterwards.

    Parameters
    ----------
    name : str
        The full name of the backend.

    Raises
    ------
    ImportError
        If one of the four was imported already; then nothing is changed.

    Notes
    -----
    Only the other modules of the package see Python and NumPy as they were (`nbm_xp.compatibility`).

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
theano_backend = numpy_backend = common = sys.modules[__name__]  # natural_bm imports these by name, beside its choice
