"""What a case is here: a call of somebody else's function, written for the standard, on given NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Foreign", "foreign"]


@dataclass(frozen=True)
class Foreign:
    """One call.

    Parameters
    ----------
    name
        The function and what tells the case from its others.
    call
        ``call(*arrays)``, which finds the namespace of the arrays by itself, as strangers do.
    arrays
        NumPy arrays, the arguments.
    smooth
        Whether it is differentiated too.
    known
        Why it fails, by the libraries beneath.
    refused
        Whether it computes in NumPy, so that it can be handed Tensors but not differentiated.
    raises
        What the error says that Tensors get, as a pattern; empty where they are taken.
    rtol
        How close values are.
    """

    name: str
    call: Callable[..., Any]
    arrays: tuple[Any, ...]
    smooth: bool = True
    known: Mapping[str, str] = field(default_factory=dict)
    refused: bool = False
    raises: str = ""
    rtol: float = 1e-10

    def __str__(self) -> str:
        return self.name


def foreign(name: str, call: Callable[..., Any], *arrays: Any, **fields: Any) -> Foreign:
    """A case."""
    return Foreign(name, call, arrays, **fields)
