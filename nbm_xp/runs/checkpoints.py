"""Checkpoints of blocks: after each segment, once its results are on disk, a file stores the input of the next one.

Its name contains the number of completed segments, so that a checkpoint written late, by a worker believed lost, is
never read.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from nbm_xp.files import Place
from nbm_xp.machines import Array
from nbm_xp.storage.arrays import load_tensors, save_tensors

Arrays: TypeAlias = tuple[Array, ...]  # input of a segment, in host memory


class Checkpoint(NamedTuple):
    """State of a block: the number of completed segments, and the input of the next one."""

    done: int
    arrays: Arrays


def _path(folder: Place, block: int, done: int) -> Place:
    return folder / f"block-{block:06d}.{done:09d}.safetensors"


def write_checkpoint(folder: Place, run: str, block: int, checkpoint: Checkpoint, keeps: int = 1) -> None:
    """Write a checkpoint of a block to disk, and delete all but the last `keeps` checkpoints of the block."""
    arrays = {str(place): array for place, array in enumerate(checkpoint.arrays)}
    place = _path(folder, block, checkpoint.done)
    save_tensors(place, arrays, {"owner": _owner(folder, run, block), "done": str(checkpoint.done)})
    _path(folder, block, checkpoint.done - keeps).unlink(missing_ok=True)


def _owner(folder: Place, run: str, block: int) -> str:
    return f"{run} {folder.name} {block}"


def last_checkpoints(folder: Place) -> dict[int, int]:
    """Return the number of completed segments at the last checkpoint of each block that has one."""
    names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    found = (re.fullmatch(r"block-(\d{6,})\.(\d{9,})\.safetensors", name) for name in names)
    return {int(match[1]): int(match[2]) for match in found if match}


def read_checkpoint(folder: Place, run: str, block: int, done: int) -> Checkpoint | None:
    """Read the checkpoint of a block after `done` segments; return None if it does not exist.

    Raises
    ------
    ValueError
        If the file is damaged, or of another run or block.
    """
    path = _path(folder, block, done)
    try:
        arrays, about = load_tensors(path, sealed=True)
    except FileNotFoundError:
        return None
    if about.get("owner") != _owner(folder, run, block) or about.get("done") != str(done):
        raise ValueError(f"{path} is a checkpoint of another run or block")
    return Checkpoint(done, tuple(arrays[str(place)] for place in range(len(arrays))))


def last_checkpoint(folder: Place, run: str, block: int) -> Checkpoint | None:
    """Read the last checkpoint of a block; return None if there is none."""
    return read_checkpoint(folder, run, block, last_checkpoints(folder).get(block, 0))
