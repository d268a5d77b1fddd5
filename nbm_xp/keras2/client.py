"""What Keras 2.0 itself calls beyond the documented names, and `install_as`, which puts this module in its place."""

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
"""Programs read it to learn about Tensors: as Theano's, they have a dtype that equals its name.

What convolutions and shapes mean goes by `backend`, which gives the array library's name.
"""

_SCOPE: ContextVar[str] = ContextVar("name scope", default="")


def install_as(name: str = "keras.backend") -> None:
    """Let this module be imported under another name: Keras, imported afterwards, runs on it.

    Parameters
    ----------
    name : str
        The full name of the module to stand in for.

    Raises
    ------
    ImportError
        If another module of this name was imported already, which its importers would keep.

    Notes
    -----
    Keras looks its Tensors up in lists, where theirs are compared by identity: `nbm_xp.tape.look_up_by_identity` is
    called, for the whole process.

    Keras 2.0 takes some branches by the name that `backend` gives. It gives that of the array library, so Keras
    imports no TensorFlow; where Keras infers shapes or turns kernels by that name, it reads TensorFlow's.

    Only the other modules of the package see Python and NumPy as they were (`nbm_xp.compatibility`).

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
    """Put a surface in the place of a backend of Keras, whose other modules see Python and NumPy as they were."""
    if sys.modules.setdefault(name, module) is not module:
        raise ImportError(f"{name} was imported already: call install_as({name!r}) before what imports it")
    tape.look_up_by_identity()
    package = name.rpartition(".")[0]
    if package:
        attend(package, amend)


@contextmanager
def name_scope(name: str) -> Iterator[None]:
    """Put a prefix, and a slash, before the names of variables that are made within.

    Parameters
    ----------
    name : str
        The prefix. Scopes in scopes add up.

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
    """A name with the prefixes of the scopes that it is given in."""
    return name and _SCOPE.get() + name


def pattern_broadcast(x: Array, broadcastable: Sequence[bool]) -> Array:
    """The array itself: axes of length 1 always broadcast.

    Parameters
    ----------
    x : array or Tensor
        What is to broadcast.
    broadcastable : sequence of bool
        For each axis, whether it may.

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
    """Convolution of each channel by itself: the first half of `separable_conv2d`.

    Parameters
    ----------
    x : array or Tensor
        The images.
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
        The volumes.
    kernel : array or Tensor
        Of shape (rows, columns, layers, filters, channels): those of the result come first.
    output_shape : tuple of int, or vector of int
        The shape of the result.
    strides, padding, data_format
        Those of the convolution that leads from the result to `x`.

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
    """A Tensor with the attributes that Keras's layers read."""
    tensor._keras_shape = shape
    tensor._uses_learning_phase = False
    return tensor
