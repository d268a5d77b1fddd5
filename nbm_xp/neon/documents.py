"""The docstrings of methods that differ in their summary, their function and an example, written from one form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["documented"]

OUT = """
    out : Buffer, optional
        Where the result goes, cast to its dtype. Without it, the result is recorded."""

RETURNS = """OpTree or Buffer
        The tree, or `out`."""

_FORM = """{summary}

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> {example}
    """


def documented(
    method: Callable[..., Any], name: str, summary: str, *, parameters: str, example: str, returns: str = RETURNS
) -> Callable[..., Any]:
    """Give a method its name and its docstring.

    Parameters
    ----------
    method : callable
        The method, made by a function in the module of its class.
    name : str
        Dotted: the class and the method.
    summary, parameters, returns : str
        What the sections hold, lines after the first indented as in a method.
    example : str
        The call and, in the lines after it, what Python prints.
    """
    method.__name__ = name.rpartition(".")[2]
    method.__qualname__ = name
    method.__doc__ = _FORM.format(summary=summary, parameters=parameters, returns=returns, example=example)
    return method
