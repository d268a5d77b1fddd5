"""A saved model of whatever kind."""

from __future__ import annotations

import os

from . import storage
from .dbm import DBM
from .rbm import RBM

__all__ = ["load"]

_KINDS: dict[str, type[RBM] | type[DBM]] = {"RBM": RBM, "DBM": DBM}


def load(path: str | os.PathLike[str], library: str | None = None) -> RBM | DBM:
    """Read a model that `save` wrote, of the kind that it was; nothing in the file is run.

    Parameters
    ----------
    path : path-like
    library : str, optional
        Where its arrays are to live; host memory by default.

    Returns
    -------
    RBM or DBM

    Raises
    ------
    ValueError
        If the file holds no model, or is damaged.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> RBM.from_parameters(np.zeros((2, 3)), np.zeros(2), np.zeros(3)).save(file)
    >>> load(file)
    RBM(n_components=2)
    """
    kind = storage.kind_of(path)
    if kind not in _KINDS:
        raise ValueError(f"{os.fspath(path)} holds a model of the kind {kind!r}, which this release does not know")
    return _KINDS[kind].load(path, library)
