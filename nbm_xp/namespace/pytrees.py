"""Classes whose instances are pytrees of JAX: arguments and results of what it compiles, maps and differentiates.

JAX is not imported for it: classes wait until it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .libraries import built

__all__ = ["register_pytree", "register_waiting"]

_WAITING: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {}


def register_pytree(cls: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any]) -> None:
    """Register a class as a pytree, with JAX's own conventions for both functions.

    Parameters
    ----------
    cls : type
    flatten : callable
        ``flatten(instance)`` gives its arrays, and what is static and hashable.
    unflatten : callable
        ``unflatten(static, arrays)`` gives an instance; it may not look at the arrays.
    """
    _WAITING[cls] = flatten, unflatten
    register_waiting()


def register_waiting() -> None:
    """Tell JAX of the classes that it does not know yet, if it is imported."""
    if _WAITING and hasattr(sys.modules.get("jax"), "tree_util"):
        register = built("jax.tree_util:register_pytree_node")
        for cls in list(_WAITING):
            register(cls, *_WAITING.pop(cls))
