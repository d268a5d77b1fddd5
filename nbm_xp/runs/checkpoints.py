"""Where each block of a run is: a small file, replaced in one step after the block's results are on disk."""

from __future__ import annotations

import io
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nbm_xp.namespace.files import load_arrays

from .whole import write_whole

__all__ = ["Held", "read_checkpoint", "segments_done", "write_checkpoint"]


class Held(NamedTuple):
    """What one segment of a block hands to the next.

    Attributes
    ----------
    done : int
        How many segments are done.
    arrays : tuple of arrays in host memory
        What the next one goes on with.
    """

    done: int
    arrays: tuple[Any, ...]


def _path(folder: pathlib.Path, block: int) -> pathlib.Path:
    return folder / f"block-{block:06d}.npz"


def write_checkpoint(folder: pathlib.Path, block: int, held: Held) -> None:
    """Say that a block has come so far: when this returns, that is on disk."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {f"array_{i}": array for i, array in enumerate(held.arrays)}
    np.savez(buffer, done=np.asarray(held.done), **arrays)
    write_whole(_path(folder, block), buffer.getbuffer())


def read_checkpoint(folder: pathlib.Path, block: int, shapes: Sequence[tuple[int, ...]] | None = None) -> Held | None:
    """How far a block has come, and what it goes on with; None where it has not begun.

    Raises
    ------
    ValueError
        If the file is damaged, or of another block than that with these shapes.
    """
    path = _path(folder, block)
    try:
        loaded = load_arrays(path)
    except FileNotFoundError:
        return None
    try:
        arrays = tuple(loaded[f"array_{i}"] for i in range(len(loaded) - 1))
        done = int(loaded["done"])
    except KeyError as error:
        raise ValueError(f"{path} is no checkpoint: it lacks {error}") from error
    if shapes is not None and [array.shape for array in arrays] != list(shapes):
        raise ValueError(f"{path} must hold arrays of shapes {list(shapes)}, got {[array.shape for array in arrays]}")
    return Held(done, arrays)


def segments_done(folder: pathlib.Path, block: int) -> int:
    """How many segments of a block are done."""
    held = read_checkpoint(folder, block)
    return 0 if held is None else held.done
