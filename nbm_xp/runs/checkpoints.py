"""Where each block of a run is: a small file, replaced in one step after the block's results are on disk.

It says which run and block it is of, and ends with a digest of all before it.
"""

from __future__ import annotations

import hashlib
import io
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nbm_xp.namespace.files import read_arrays
from nbm_xp.namespace.whole import write_whole

_DIGEST = 16  # bytes

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


def write_checkpoint(folder: pathlib.Path, run: str, block: int, held: Held) -> None:
    """Say that a block of a run has come so far: when this returns, that is on disk."""
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {f"array_{i}": array for i, array in enumerate(held.arrays)}
    whose = np.asarray(_whose(folder, run, block))
    np.savez(buffer, allow_pickle=False, done=np.asarray(held.done), whose=whose, **arrays)
    with buffer.getbuffer() as content:
        digest = _digest(content)
    buffer.seek(0, io.SEEK_END)
    buffer.write(digest)
    with buffer.getbuffer() as content:  # given back when a disk is full, too: a buffer that is held cannot be closed
        write_whole(_path(folder, block), content)


def _whose(folder: pathlib.Path, run: str, block: int) -> str:
    """Whose checkpoint it is: the run, the part of its work, the block."""
    return f"{run} {folder.name} {block}"


def _digest(content: Any) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


def read_checkpoint(
    folder: pathlib.Path, run: str, block: int, shapes: Sequence[tuple[int, ...]] | None = None
) -> Held | None:
    """How far a block has come, and what it goes on with; None where it has not begun.

    Raises
    ------
    ValueError
        If the file is damaged, or of another run, another block, or not of one with these shapes.
    """
    path = _path(folder, block)
    try:
        content = memoryview(path.read_bytes())
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise ValueError(f"{path} is a folder, where a file was written") from None
    if len(content) < _DIGEST or _digest(content[:-_DIGEST]) != content[-_DIGEST:]:
        raise ValueError(f"{path} is damaged: it is not what was written")
    try:
        loaded = read_arrays(io.BytesIO(content[:-_DIGEST]))
        whose = loaded.pop("whose")
        arrays = tuple(loaded[f"array_{i}"] for i in range(len(loaded) - 1))
        done = int(loaded["done"])
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path} is no checkpoint: {error}") from error
    if whose != _whose(folder, run, block):
        raise ValueError(f"{path} is a checkpoint of another run or block")
    if shapes is not None and [array.shape for array in arrays] != list(shapes):
        raise ValueError(f"{path} must hold arrays of shapes {list(shapes)}, got {[array.shape for array in arrays]}")
    return Held(done, arrays)


def segments_done(folder: pathlib.Path, run: str, block: int) -> int:
    """How many segments of a block are done."""
    held = read_checkpoint(folder, run, block)
    return 0 if held is None else held.done
