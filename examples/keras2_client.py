"""Keras 2.0.6, unmodified, with `nbm_xp.keras2` in the place of its backend.

It needs ``pip install --no-deps keras==2.0.6`` and, beside this package, ``six``, ``pyyaml`` and ``scipy``. In a
program of one's own two lines do it::

    from nbm_xp import keras2

    keras2.install_as("keras.backend")

and then ``import keras``. A program that is to stay as it is runs by ``python -m nbm_xp.keras2 program.py``.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from nbm_xp import keras2
from nbm_xp.compatibility.importing import why_not

__all__ = ["load_keras"]


def load_keras() -> ModuleType:
    """Import Keras on this package."""
    reason = why_not("2.0.6")
    if reason is not None:
        raise ImportError(reason)
    keras2.install_as("keras.backend")
    return importlib.import_module("keras")
