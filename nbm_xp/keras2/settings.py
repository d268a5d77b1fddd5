"""Settings as Keras 2.0 names them; their values are those of the package's configuration."""

from __future__ import annotations

from typing import Any

from nbm_xp import namespace, tape
from nbm_xp.functions import conversion
from nbm_xp.namespace import (
    asarray,
    configuration,
    floatx,
    host_namespace,
    image_data_format,
    is_array,
    set_image_data_format,
)

__all__ = [
    "cast_to_floatx",
    "epsilon",
    "image_dim_ordering",
    "manual_variable_initialization",
    "set_image_dim_ordering",
]

_EPSILON = 1e-7
_ORDERINGS = {"tf": "channels_last", "th": "channels_first"}


def epsilon() -> float:
    """The fuzz factor: what was set, else 1e-7.

    Returns
    -------
    float

    Examples
    --------
    >>> epsilon()
    1e-07
    """
    return _EPSILON if configuration()["epsilon"][1] == "default" else namespace.epsilon()


def cast_to_floatx(x: Any) -> Any:
    """Convert to the default floating dtype, ``floatx``.

    Parameters
    ----------
    x : array, number or nested list
        What to convert.

    Returns
    -------
    array
        In the library of `x`; a NumPy array where `x` is no array.

    Examples
    --------
    >>> cast_to_floatx([1, 2.5])
    array([1. , 2.5], dtype=float32)
    """
    if tape.is_tensor(x) or is_array(x):
        return conversion.cast_to_floatx(x)
    return asarray(x, host_namespace(), dtype=floatx())


def image_dim_ordering() -> str:
    """The image layout by its older name.

    Returns
    -------
    str
        ``'tf'`` where the channels are last, ``'th'`` where they are first.

    Examples
    --------
    >>> image_dim_ordering()
    'tf'
    """
    return next(name for name, layout in _ORDERINGS.items() if layout == image_data_format())


def set_image_dim_ordering(dim_ordering: str) -> None:
    """Set the image layout by its older name.

    Parameters
    ----------
    dim_ordering : {"tf", "th"}
        ``'tf'`` for channels last, ``'th'`` for channels first.

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> set_image_dim_ordering("tf")
    """
    if dim_ordering not in _ORDERINGS:
        raise ValueError(f"dim_ordering must be 'tf' or 'th', got {dim_ordering!r}")
    set_image_data_format(_ORDERINGS[dim_ordering])


def manual_variable_initialization(value: bool) -> None:
    """Without effect: variables have their value from the moment they are made.

    Parameters
    ----------
    value : bool
        In Keras, whether the user is to initialise variables.

    Examples
    --------
    >>> manual_variable_initialization(True)
    """
