"""What puts a Backend in the place of neon's own, under neon's layers, costs, optimisers and models."""

from __future__ import annotations

import importlib

from .backend import Backend

__all__ = ["compute_on"]


def compute_on(backend: Backend, batch_size: int) -> Backend:
    """Let neon compute on a backend from now on: what ``neon.backends.gen_backend`` does for its own.

    Parameters
    ----------
    backend : Backend
        What is to compute.
    batch_size : int
        The number of examples in a batch.

    Returns
    -------
    Backend
        The same, with ``bsz`` set.

    Raises
    ------
    ImportError
        If neon is not installed.
    ValueError
        If `batch_size` is less than 1.

    Notes
    -----
    neon's objects take their backend from ``neon.NervanaObject.be``. Those that were made before keep the buffers that
    they have, so call this first.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be 1 or more, got {batch_size}")
    neon = importlib.import_module("neon")
    neon.NervanaObject.be = backend
    backend.bsz = batch_size
    return backend
