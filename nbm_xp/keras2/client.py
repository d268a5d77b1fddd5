"""Undocumented functions that Keras 2.0 itself calls, and `install_as`, which makes this module its backend."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from nbm_xp import tape
from nbm_xp.compatibility import attend
from nbm_xp.compatibility.amendments import amend
from nbm_xp.functions import convolution, convolution_local
from nbm_xp.functions._arguments import Array

from .convolutions import known_padding

__all__ = [
    "_BACKEND", "conv3d_transpose", "depthwise_conv2d", "install_as", "marked", "name_scope", "pattern_broadcast",
    "scoped", "stand_in",
]  # fmt: skip

_BACKEND = "theano"
"""Programs read this name to learn about Tensors: as Theano's, their dtypes equal their names.

Conventions of convolutions and shapes depend on `backend` instead, which returns the array library's name.
"""

_SCOPE: ContextVar[str] = ContextVar("name scope", default="")


def install_as(name: str = "keras.backend") -> None:
    """Install this module under another module's name; Keras, imported afterwards, uses it as its backend.

    Parameters
    ----------
    name : str
        Full name of the module to replace.

    Raises
    ------
    ImportError
        If another module of this name is already imported.

    Notes
    -----
    Keras searches lists for Tensors, which its own backends compare by identity: `nbm_xp.tape.look_up_by_identity` is
    called, for the whole process.

    Keras 2.0 branches on the name that `backend` returns. Here this is the array library's name, so Keras imports no
    TensorFlow; where Keras infers shapes or flips kernels by that name, it reads TensorFlow's.

    Keras's other modules run with Python's and NumPy's interfaces of that time (`nbm_xp.compatibility`).

    Examples
    --------
    >>> install_as("a_backend")
    >>> import a_backend
    >>> a_backend.epsilon()
    1e-07
    >>> from nbm_xp.tape import look_up_by_identity
    >>> look_up_by_identity(False)  # back to what it was
    """
    stand_in(sys.modules[__package__], name)


def stand_in(module: ModuleType, name: str) -> None:
    """Install a backend module under a name, and let the rest of that package see Python and NumPy as of its time."""
    if sys.modules.setdefault(name, module) is not module:
        raise ImportError(f"{name} was imported already: call install_as({name!r}) before what imports it")
    tape.look_up_by_identity()
    package = name.rpartition(".")[0]
    if package:
        attend(package, amend)


@contextmanager
def name_scope(name: str) -> Iterator[None]:
    """Prefix the names of variables created within the context with a scope and a slash.

    Parameters
    ----------
    name : str
        Name of the scope. Nested scopes are joined.

    Examples
    --------
    >>> from nbm_xp import keras2 as K
    >>> with name_scope("dense"):
    ...     K.variable(1.0, name="bias").name
    'dense/bias'
    """
    token = _SCOPE.set(f"{_SCOPE.get()}{name}/")
    try:
        yield
    finally:
        _SCOPE.reset(token)


def scoped(name: str | None) -> str | None:
    """Return a name with the prefixes of the current scopes."""
    return name and _SCOPE.get() + name


def pattern_broadcast(x: Array, broadcastable: Sequence[bool]) -> Array:
    """Return the array itself: axes of length 1 always broadcast.

    Parameters
    ----------
    x : array or Tensor
        The array.
    broadcastable : sequence of bool
        Whether each axis may be broadcast. Ignored.

    Returns
    -------
    array or Tensor

    Examples
    --------
    >>> import numpy as np
    >>> pattern_broadcast(np.ones((1, 2)), [True, False]).shape
    (1, 2)
    """
    return x


def depthwise_conv2d(
    x: Array,
    depthwise_kernel: Array,
    strides: tuple[int, int] = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: tuple[int, int] = (1, 1),
) -> Array:
    """Convolve each channel separately: the first half of `separable_conv2d`.

    Parameters
    ----------
    x : array or Tensor
        Images.
    depthwise_kernel : array or Tensor
        Of shape (rows, columns, channels, multiplier).
    strides, padding, data_format, dilation_rate
        As in `conv2d`.

    Returns
    -------
    array or Tensor

    Examples
    --------
    >>> import numpy as np
    >>> depthwise_conv2d(np.ones((1, 4, 4, 3)), np.ones((2, 2, 3, 2))).shape
    (1, 3, 3, 6)
    """
    return convolution_local.depthwise_conv2d(
        x, depthwise_kernel, strides, known_padding(padding), data_format, dilation_rate
    )


def conv3d_transpose(
    x: Array,
    kernel: Array,
    output_shape: Any,
    strides: tuple[int, int, int] = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
) -> Array:
    """Transposed convolution of volumes: the gradient of `conv3d`.

    Parameters
    ----------
    x : array or Tensor
        Volumes.
    kernel : array or Tensor
        Of shape (depth, rows, columns, filters, channels): the channels of the result come first.
    output_shape : tuple of int, or vector of int
        Shape of the result.
    strides, padding, data_format
        Options of the convolution from the result to `x`.

    Returns
    -------
    array or Tensor

    Examples
    --------
    >>> import numpy as np
    >>> conv3d_transpose(np.ones((1, 2, 2, 2, 3)), np.ones((3, 3, 3, 4, 3)), (1, 4, 4, 4, 4)).shape
    (1, 4, 4, 4, 4)
    """
    return convolution.conv_to_shape(x, kernel, output_shape, strides, known_padding(padding), data_format, axes=3)


def marked(tensor: Any, shape: tuple[int | None, ...]) -> Any:
    """Set the attributes that Keras's layers read on a Tensor; return the Tensor."""
    tensor._keras_shape = shape
    tensor._uses_learning_phase = False
    return tensor
