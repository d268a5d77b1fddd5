"""What puts a Backend in the place of neon's own, under neon's layers, costs, optimisers and models."""

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

__all__ = ["compute_on"]


def compute_on(backend: Backend, batch_size: int) -> Backend:
    """Let neon compute on a backend from now on: what ``neon.backends.gen_backend`` does for its own.

    Parameters
    ----------
    backend : Backend
        The backend that computes.
    batch_size : int
        The number of examples in a batch.

    Returns
    -------
    Backend
        The same, with ``bsz`` set.

    Raises
    ------
    ImportError
        If neon is not installed, or cannot be imported.
    ValueError
        If `batch_size` is less than 1.

    Notes
    -----
    neon's objects take their backend from ``neon.NervanaObject.be``. Those that were made before keep the buffers that
    they have, so call this first.

    Buffers become instances of neon's ``Tensor``, which its layers test for; neon's ``Autodiff`` differentiates a
    Backend's trees on the tape, and its ``OpTreeNode`` builds and executes them. neon's own backends go on working
    beside it.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be 1 or more, got {batch_size}")
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, SyntaxWarning):  # of what neon's own files spell as one did in 2017
            warnings.simplefilter("ignore", kind)
        neon = importlib.import_module("neon")
        tensors, differentiation = _part("neon.backends.backend"), _part("neon.backends.autodiff")
    if tensors is not None and not issubclass(Buffer, tensors.Tensor):
        Buffer.__bases__ = (*Buffer.__bases__, tensors.Tensor)  # the last, so that all that is ours goes before
        tensors.Backend.register(Backend)
        theirs = tensors.OpTreeNode
        theirs.build = staticmethod(_shared(theirs.build, OpTree.build, _is_tree))
    if differentiation is not None:
        _differentiate_on_the_tape(differentiation.Autodiff)
    neon.NervanaObject.be = backend
    backend.bsz = batch_size
    return backend


def _part(name: str) -> ModuleType | None:
    """One of neon's modules, or None where a neon of another make lacks it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        return None


def _differentiate_on_the_tape(theirs: Any) -> None:
    """Put a function in the place of neon's `Autodiff`, wherever it was imported to, that chooses by the backend."""
    if hasattr(theirs, "theirs"):
        return
    autodiff = _shared(theirs, Autodiff, lambda x: isinstance(x, Backend))
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if isinstance(names, dict) and names.get("Autodiff") is theirs:
            names["Autodiff"] = autodiff


def _is_tree(x: Any) -> bool:
    """Whether something is a tree that neon's own nodes do not know, as they know buffers."""
    return isinstance(x, OpTree) and not x.is_buffer


def _shared(theirs: Callable[..., Any], ours: Callable[..., Any], is_ours: Callable[[Any], bool]) -> Callable[..., Any]:
    """A function of neon's, and in its place ours where an argument is ours."""

    @functools.wraps(theirs)
    def function(*args: Any, **options: Any) -> Any:
        return (ours if any(map(is_ours, (*args, *options.values()))) else theirs)(*args, **options)

    function.theirs = theirs  # type: ignore[attr-defined]
    return function
