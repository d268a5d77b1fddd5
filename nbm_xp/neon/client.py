"""`compute_on`: run neon's own layers, costs, optimisers and models on a Backend."""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .autodiff import Autodiff
from .backend import Backend
from .buffers import Buffer
from .optrees import OpTree


def compute_on(backend: Backend, batch_size: int) -> Backend:
    """Let neon compute on a backend, as ``neon.backends.gen_backend`` does for neon's own.

    Parameters
    ----------
    backend : Backend
        The backend to use.
    batch_size : int
        Number of examples in a batch.

    Returns
    -------
    Backend
        `backend`, with ``bsz`` set.

    Raises
    ------
    ImportError
        If neon is not installed or cannot be imported.
    ValueError
        If `batch_size` is less than 1.

    Notes
    -----
    neon's objects read their backend from ``neon.NervanaObject.be``. Objects created before the call keep their
    buffers, so call this function first.

    Buffers become instances of neon's ``Tensor``, which its layers test for; neon's ``Autodiff`` differentiates the
    trees of a `Backend` on the tape, and its ``OpTreeNode`` builds and executes them. neon's own backends still work in
    the same process.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be 1 or more, got {batch_size}")
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, SyntaxWarning):  # raised by neon's source, written in 2017
            warnings.simplefilter("ignore", kind)
        neon = importlib.import_module("neon")
        tensors, differentiation = _part("neon.backends.backend"), _part("neon.backends.autodiff")
    if tensors is not None and not issubclass(Buffer, tensors.Tensor):
        Buffer.__bases__ = (*Buffer.__bases__, tensors.Tensor)  # last, so that Buffer's own methods come first
        tensors.Backend.register(Backend)
        theirs = tensors.OpTreeNode
        theirs.build = staticmethod(_shared(theirs.build, OpTree.build, _is_tree))
    if differentiation is not None:
        _differentiate_on_the_tape(differentiation.Autodiff)
    neon.NervanaObject.be = backend
    backend.bsz = batch_size
    return backend


def _part(name: str) -> ModuleType | None:
    """Import one of neon's modules; return None if this release of neon lacks it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        return None


def _differentiate_on_the_tape(theirs: Any) -> None:
    """Replace neon's `Autodiff`, in every module that imported it, by a function that chooses by the backend."""
    if hasattr(theirs, "theirs"):
        return
    autodiff = _shared(theirs, Autodiff, lambda x: isinstance(x, Backend))
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if isinstance(names, dict) and names.get("Autodiff") is theirs:
            names["Autodiff"] = autodiff


def _is_tree(x: Any) -> bool:
    """Return whether `x` is an op-tree that is not a buffer."""
    return isinstance(x, OpTree) and not x.is_buffer


def _shared(theirs: Callable[..., Any], ours: Callable[..., Any], is_ours: Callable[[Any], bool]) -> Callable[..., Any]:
    """Return a function that calls `ours` if an argument is ours, and `theirs` otherwise."""

    @functools.wraps(theirs)
    def function(*args: Any, **options: Any) -> Any:
        return (ours if any(map(is_ours, (*args, *options.values()))) else theirs)(*args, **options)

    function.theirs = theirs  # type: ignore[attr-defined]
    return function
