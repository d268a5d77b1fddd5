"""Keras 1.0's backend API: ``from nbm_xp import keras1 as K``.

The module replaces ``keras.backend`` of Keras 1.0 on Theano. Given arrays, a function computes immediately, with the
arrays' library; given Tensors (`variable`, `placeholder`), it records. `function` and `eval` return NumPy arrays, as
documented. Functions with the same behaviour in both releases are the same objects as in `keras2`; the modules
`graphs`, `elements`, `layers` and `images` contain the others, and `client` contains what Keras 1.0 calls beyond the
documented names.
"""

from __future__ import annotations

from nbm_xp.functions.activations import hard_sigmoid, tanh
from nbm_xp.functions.comparison import equal, not_equal
from nbm_xp.functions.elementwise import abs, cos, exp, log, pow, sign, sin, sqrt, square
from nbm_xp.functions.extremes import argmax, argmin, clip
from nbm_xp.functions.joining import concatenate, gather, repeat, repeat_elements, tile
from nbm_xp.functions.linear_algebra import batch_dot, dot
from nbm_xp.functions.neural import sigmoid, softplus
from nbm_xp.functions.reductions import mean, prod, std, sum
from nbm_xp.functions.shaping import batch_flatten, cast, flatten, permute_dimensions, reshape, squeeze, transpose
from nbm_xp.functions.variables import batch_get_value, batch_set_value, count_params, get_value, set_value
from nbm_xp.keras2 import cast_to_floatx, dtype, epsilon, eval, get_uid, int_shape, ndim, reset_uids, softmax, softsign
from nbm_xp.namespace import backend, floatx, set_epsilon, set_floatx
from nbm_xp.namespace.errors import name_errors
from nbm_xp.natural_bm import gradients, max, min
from nbm_xp.package import public_names

from .client import *
from .elements import *
from .graphs import *
from .images import conv2d, pool2d, resize_images, spatial_2d_padding, temporal_padding
from .layers import *

__all__ = [
    "abs", "any", "argmax", "argmin", "batch_dot", "batch_flatten", "batch_get_value", "batch_set_value",
    "binary_crossentropy", "cast", "cast_to_floatx", "categorical_crossentropy", "clip", "concatenate", "conv2d", "cos",
    "count_params", "dot", "dropout", "dtype", "equal", "eval", "exp", "expand_dims", "eye", "floatx", "function",
    "gather", "get_value", "gradients", "hard_sigmoid", "in_test_phase", "in_train_phase", "int_shape", "l2_normalize",
    "learning_phase", "log", "max", "maximum", "mean", "min", "minimum", "ndim", "not_equal", "ones", "ones_like",
    "permute_dimensions", "placeholder", "pool2d", "pow", "prod", "relu", "repeat", "repeat_elements", "reshape",
    "resize_images", "rnn", "round", "set_value", "shape", "sigmoid", "sign", "sin", "softmax", "softplus",
    "sparse_categorical_crossentropy", "spatial_2d_padding", "sqrt", "square", "squeeze", "std", "sum", "switch",
    "tanh", "temporal_padding", "transpose", "variable", "zeros", "zeros_like",
    "_BACKEND", "backend", "conv3d", "epsilon", "flatten", "get_uid", "install_as", "pack", "pool3d", "random_binomial",
    "random_normal", "random_uniform", "reset_uids", "resize_volumes", "set_epsilon", "set_floatx", "softsign",
    "spatial_3d_padding", "tile",
]  # fmt: skip

name_errors(globals())

public_names(globals())
