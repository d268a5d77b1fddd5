"""Keras 2.0.6, unmodified, with `nbm_xp.keras2` in the place of its backend.

It needs ``pip install --no-deps keras==2.0.6`` and, beside this package, ``six``, ``pyyaml`` and ``scipy``. In a
program of one's own the two lines that matter are::

    from nbm_xp import keras2

    keras2.install_as("keras.backend")

and then ``import keras``. What stands here besides is not about the backend: Keras 2.0.6 is older than the Python and
the NumPy of today and uses two names that they no longer have.
"""

from __future__ import annotations

import collections
import collections.abc
import importlib.metadata
import importlib.util
from types import ModuleType

import numpy as np

from nbm_xp import keras2

__all__ = ["load_keras", "why_not"]

RELEASE = "2.0.6"


def why_not() -> str | None:
    """What keeps Keras from being imported here, or None."""
    if importlib.util.find_spec("keras") is None:
        return f"keras is not installed: pip install --no-deps keras=={RELEASE}"
    found = importlib.metadata.version("keras")
    if found != RELEASE:
        return f"keras {found} is installed, not {RELEASE}"
    missing = [name for name in ("six", "yaml", "scipy") if importlib.util.find_spec(name) is None]
    return f"keras needs {', '.join(missing)}" if missing else None


def load_keras() -> ModuleType:
    """Import Keras on this package."""
    reason = why_not()
    if reason is not None:
        raise ImportError(reason)
    if not hasattr(collections, "Iterable"):  # moved in Python 3.3, gone since 3.10; keras/callbacks.py imports it
        collections.Iterable = collections.abc.Iterable  # type: ignore[attr-defined]
    if not hasattr(np, "Inf"):  # gone since NumPy 2.0; the callbacks that look for a best value use it
        vars(np)["Inf"] = np.inf
    keras2.install_as("keras.backend")
    return importlib.import_module("keras")
