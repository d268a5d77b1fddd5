"""Settings as Keras 2.0 names them; their values are those of the package's configuration."""

from __future__ import annotations

from nbm_xp import namespace
from nbm_xp.namespace import configuration, image_data_format, set_image_data_format

__all__ = ["epsilon", "image_dim_ordering", "manual_variable_initialization", "set_image_dim_ordering"]

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
