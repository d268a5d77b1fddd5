"""Updates of variables: pairs of a variable and its new value, which a compiled function applies after its outputs.

All updates of a function are computed from the old values and set together.
"""

from __future__ import annotations

from typing import Any

from nbm_xp import tape
from nbm_xp.namespace import asarray, host_namespace

from .variables import as_variable

__all__ = ["moving_average_update", "update", "update_add", "update_sub"]


def update(x: tape.Variable, new_x: Any) -> tuple[tape.Variable, Any]:
    """An update that sets a variable, to be given to a function.

    Parameters
    ----------
    x : Variable
        What to set.
    new_x : Tensor, array or number
        Its new value, computed from the old ones.

    Returns
    -------
    tuple
        The variable and its new value.

    Raises
    ------
    TypeError
        If `x` is no variable.

    Examples
    --------
    >>> from nbm_xp.tape import function
    >>> from nbm_xp.functions.creation import variable
    >>> x = variable(1.0)
    >>> _ = function([], [], updates=[update(x, 5.0)])()
    >>> x.get_value()
    array(5., dtype=float32)
    """
    return as_variable(x, "update"), new_x


def update_add(x: tape.Variable, increment: Any) -> tuple[tape.Variable, Any]:
    """An update that adds to a variable; see `update`.

    Parameters
    ----------
    x : Variable
        What to set.
    increment : Tensor, array or number
        What to add.

    Returns
    -------
    tuple
        The variable and its new value.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> update_add(variable(1.0), 2.0)[1].eval()
    array(3., dtype=float32)
    """
    return as_variable(x, "update_add"), x + increment


def update_sub(x: tape.Variable, decrement: Any) -> tuple[tape.Variable, Any]:
    """An update that subtracts from a variable; see `update`.

    Parameters
    ----------
    x : Variable
        What to set.
    decrement : Tensor, array or number
        What to subtract.

    Returns
    -------
    tuple
        The variable and its new value.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> update_sub(variable(1.0), 2.0)[1].eval()
    array(-1., dtype=float32)
    """
    return as_variable(x, "update_sub"), x - decrement


def moving_average_update(
    x: tape.Variable, value: Any, momentum: float, *, precision: str = "float64"
) -> tuple[tape.Variable, Any]:
    """An update that moves a variable some way towards a value; see `update`.

    Parameters
    ----------
    x : Variable
        The average.
    value : Tensor, array or number
        What is averaged.
    momentum : float
        How much of the old average is kept.
    precision : str
        The dtype that ``1 - momentum`` is rounded to.

    Returns
    -------
    tuple
        The variable and its new value, ``x + (value - x) * (1 - momentum)``.

    Examples
    --------
    >>> from nbm_xp.functions.creation import variable
    >>> moving_average_update(variable(1.0), 2.0, momentum=0.75)[1].eval()
    array(1.25, dtype=float32)
    """
    share = float(asarray(1.0 - momentum, host_namespace(), precision))
    average = as_variable(x, "moving_average_update")
    return average, average - (average - value) * share  # it stands first: some libraries' arrays refuse it behind them
