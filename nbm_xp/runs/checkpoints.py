"""Where each block of a run is: a small file, written after the block's results are; then the one before it goes.

It says which run and block it is of, and ends with a digest of all before it. Its name has the number of segments that
are done: a worker that was taken for lost and lives on writes, late, what is not looked at any more.
"""

from __future__ import annotations

import hashlib
import io
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nbm_xp.files import write_whole
from nbm_xp.storage.arrays import read_arrays

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


def _path(folder: pathlib.Path, block: int, done: int) -> pathlib.Path:
    return folder / f"block-{block:06d}.{done:09d}.npz"


def write_checkpoint(folder: pathlib.Path, run: str, block: int, held: Held, keeps: int = 1) -> None:
    """Say that a block of a run has come so far: when this returns, that is on disk.

    Parameters
    ----------
    keeps : int, optional
        How many of a block's checkpoints stay, this one included.
    """
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {f"array_{i}": array for i, array in enumerate(held.arrays)}
    whose = np.asarray(_whose(folder, run, block))
    np.savez(buffer, allow_pickle=False, done=np.asarray(held.done), whose=whose, **arrays)
    with buffer.getbuffer() as content:
        digest = _digest(content)
    buffer.seek(0, io.SEEK_END)
    buffer.write(digest)
    with buffer.getbuffer() as content:  # given back when a disk is full, too: a buffer that is held cannot be closed
        write_whole(_path(folder, block, held.done), content)
    _path(folder, block, held.done - keeps).unlink(missing_ok=True)


def _whose(folder: pathlib.Path, run: str, block: int) -> str:
    """Whose checkpoint it is: the run, the part of its work, the block."""
    return f"{run} {folder.name} {block}"


def _digest(content: Any) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


def read_checkpoint(
    folder: pathlib.Path,
    run: str,
    block: int,
    shapes: Sequence[tuple[int, ...]] | None = None,
    done: int | None = None,
) -> Held | None:
    """How far a block has come, and what it goes on with; None where it has not begun.

    Parameters
    ----------
    shapes : sequence of tuples, optional
        Of the arrays.
    done : int, optional
        The checkpoint after so many segments, None where it is not there; by default the last one.

    Raises
    ------
    ValueError
        If the file is damaged, or of another run, another block, or not of one with these shapes.
    """
    if done is None:
        path = max(folder.glob(f"block-{block:06d}.*.npz"), default=_path(folder, block, 0))
    else:
        path = _path(folder, block, done)
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
        found = int(loaded["done"])
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path} is no checkpoint: {error}") from error
    if whose != _whose(folder, run, block) or path != _path(folder, block, found):
        raise ValueError(f"{path} is a checkpoint of another run or block")
    if shapes is not None and [array.shape for array in arrays] != list(shapes):
        raise ValueError(f"{path} must hold arrays of shapes {list(shapes)}, got {[array.shape for array in arrays]}")
    return Held(found, arrays)


def segments_done(folder: pathlib.Path, run: str, block: int) -> int:
    """How many segments of a block are done."""
    held = read_checkpoint(folder, run, block)
    return 0 if held is None else held.done
