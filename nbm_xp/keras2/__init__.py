"""Keras 2.0's backend API: ``from nbm_xp import keras2 as K``.

The module replaces ``keras.backend`` of Keras 2.0 on TensorFlow. Given arrays, a function computes immediately, with
the arrays' library; given Tensors (`variable`, `placeholder`, `constant`), it records. `function` and `eval` return
NumPy arrays, as documented. The functions are those of `nbm_xp.functions`; the modules `settings`, `graphs`, `values`,
`layers`, `convolutions` and `client` contain those that differ.
"""

from __future__ import annotations

from nbm_xp.functions.activations import elu, hard_sigmoid, relu, softsign, tanh
from nbm_xp.functions.comparison import equal, greater, greater_equal, less, less_equal, not_equal
from nbm_xp.functions.control import print_tensor, stop_gradient
from nbm_xp.functions.convolution_local import local_conv1d, local_conv2d
from nbm_xp.functions.creation import arange, constant, ones_like, zeros_like
from nbm_xp.functions.ctc import ctc_batch_cost, ctc_label_dense_to_sparse
from nbm_xp.functions.ctc_decoding import ctc_decode
from nbm_xp.functions.elementwise import abs, cos, exp, log, pow, round, sign, sin, sqrt, square
from nbm_xp.functions.extremes import all, any, argmax, argmin, clip, max, min
from nbm_xp.functions.graphs import update, update_add, update_sub
from nbm_xp.functions.joining import gather, repeat, stack, tile
from nbm_xp.functions.linear_algebra import batch_dot
from nbm_xp.functions.neural import (
    binary_crossentropy,
    categorical_crossentropy,
    in_top_k,
    logsumexp,
    sigmoid,
    softplus,
    sparse_categorical_crossentropy,
)
from nbm_xp.functions.normalization import batch_normalization, l2_normalize, normalize_batch_in_training
from nbm_xp.functions.padding import spatial_2d_padding, spatial_3d_padding, temporal_padding
from nbm_xp.functions.phases import (
    clear_session,
    get_uid,
    in_test_phase,
    in_train_phase,
    learning_phase,
    reset_uids,
    set_learning_phase,
    switch,
)
from nbm_xp.functions.recurrence import foldl, foldr, map_fn, rnn
from nbm_xp.functions.reductions import cumprod, cumsum, mean, prod, std, sum, var
from nbm_xp.functions.shaping import (
    batch_flatten,
    cast,
    expand_dims,
    flatten,
    permute_dimensions,
    reshape,
    reverse,
    squeeze,
    transpose,
)
from nbm_xp.functions.variables import count_params, get_value, get_variable_shape
from nbm_xp.namespace import backend, floatx, image_data_format, set_epsilon, set_floatx, set_image_data_format
from nbm_xp.namespace.errors import name_errors
from nbm_xp.package import public_names

from .client import _BACKEND, conv3d_transpose, depthwise_conv2d, install_as, name_scope, pattern_broadcast
from .convolutions import *
from .graphs import *
from .layers import *
from .settings import *
from .values import *

__all__ = [
    "abs", "all", "any", "arange", "argmax", "argmin", "backend", "batch_dot", "batch_flatten", "batch_get_value",
    "batch_normalization", "batch_set_value", "bias_add", "binary_crossentropy", "cast", "cast_to_floatx",
    "categorical_crossentropy", "clear_session", "clip", "concatenate", "constant", "conv1d", "conv2d",
    "conv2d_transpose", "conv3d", "cos", "count_params", "ctc_batch_cost", "ctc_decode", "ctc_label_dense_to_sparse",
    "cumprod", "cumsum", "dot", "dropout", "dtype", "elu", "epsilon", "equal", "eval", "exp", "expand_dims", "eye",
    "flatten", "floatx", "foldl", "foldr", "function", "gather", "get_uid", "get_value", "get_variable_shape",
    "gradients", "greater", "greater_equal", "hard_sigmoid", "identity", "image_data_format", "image_dim_ordering",
    "in_test_phase", "in_top_k", "in_train_phase", "int_shape", "is_keras_tensor", "is_sparse", "l2_normalize",
    "learning_phase", "less", "less_equal", "local_conv1d", "local_conv2d", "log", "logsumexp",
    "manual_variable_initialization", "map_fn", "max", "maximum", "mean", "min", "minimum", "moving_average_update",
    "ndim", "normalize_batch_in_training", "not_equal", "one_hot", "ones", "ones_like", "permute_dimensions",
    "placeholder", "pool2d", "pool3d", "pow", "print_tensor", "prod", "random_binomial", "random_normal",
    "random_normal_variable", "random_uniform", "random_uniform_variable", "relu", "repeat", "repeat_elements",
    "reset_uids", "reshape", "resize_images", "resize_volumes", "reverse", "rnn", "round", "separable_conv2d",
    "set_epsilon", "set_floatx", "set_image_data_format", "set_image_dim_ordering", "set_learning_phase", "set_value",
    "shape", "sigmoid", "sign", "sin", "softmax", "softplus", "softsign", "sparse_categorical_crossentropy",
    "spatial_2d_padding", "spatial_3d_padding", "sqrt", "square", "squeeze", "stack", "std", "stop_gradient", "sum",
    "switch", "tanh", "temporal_padding", "tile", "to_dense", "transpose", "truncated_normal", "update", "update_add",
    "update_sub", "var", "variable", "zeros", "zeros_like",
    "_BACKEND", "conv3d_transpose", "depthwise_conv2d", "install_as", "name_scope", "pattern_broadcast",
]  # fmt: skip

name_errors(globals())

public_names(globals())
