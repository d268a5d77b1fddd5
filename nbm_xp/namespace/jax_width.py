"""JAX: whether it has its 64-bit types, and a context in which it does."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["is_wide", "wide"]


def wide() -> AbstractContextManager[Any]:
    """A context in which JAX has its 64-bit types."""
    jax: Any = importlib.import_module("jax")
    owner = jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")  # older versions
    context: AbstractContextManager[Any] = owner.enable_x64(True)
    return context


def is_wide() -> bool:
    """Whether JAX has its 64-bit types now."""
    return bool(importlib.import_module("jax").config.jax_enable_x64)
