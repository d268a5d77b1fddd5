"""What matters to several devices, or to a compiler, and does nothing here but check what it is given."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from .engine import Engine

__all__ = ["Block", "begin", "cleanup_backend", "distribute_data", "end", "revert_tensor"]


class Block(IntEnum):
    """What is repeated between `Backend.begin` and `Backend.end`.

    Examples
    --------
    >>> Block.minibatch
    <Block.minibatch: 1>
    """

    epoch = 0
    minibatch = 1
    fprop = 2
    bprop = 3
    update = 4


def cleanup_backend(self: Engine) -> None:
    """Do nothing: a backend holds nothing that does not go with its last reference.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> Backend(library="cpu").cleanup_backend()
    """


def begin(self: Engine, block: int, identifier: int) -> None:
    """Say that a block of repeated computation begins; of no effect on what is computed.

    Parameters
    ----------
    block : Block
        What is repeated.
    identifier : int
        Which repetition it is.

    Raises
    ------
    ValueError
        If `block` is no `Block`.

    Examples
    --------
    >>> from nbm_xp.neon import Backend, Block
    >>> be = Backend(library="cpu")
    >>> be.begin(Block.epoch, 1)
    >>> be.end(Block.epoch, 1)
    """
    _check_block(block)


def end(self: Engine, block: int, identifier: int) -> None:
    """Say that a block of repeated computation ends; of no effect on what is computed.

    Parameters
    ----------
    block, identifier
        See `begin`.

    Raises
    ------
    ValueError
        If `block` is no `Block`.
    """
    _check_block(block)


def distribute_data(self: Engine, tensor: Any, layer_parallelism: str | None) -> None:
    """Do nothing: there is one device.

    Parameters
    ----------
    tensor : Buffer
        What would be distributed.
    layer_parallelism : str or None
        How.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> be.distribute_data(be.zeros((2, 2)), "Data")
    """


def revert_tensor(self: Engine, tensor: Any) -> None:
    """Do nothing: `distribute_data` has changed nothing.

    Parameters
    ----------
    tensor : Buffer
        What would be reverted.

    Examples
    --------
    >>> from nbm_xp.neon import Backend
    >>> be = Backend(library="cpu")
    >>> be.revert_tensor(be.zeros((2, 2)))
    """


def _check_block(block: Any) -> None:
    if block not in tuple(Block):
        raise ValueError(f"block must be one of {', '.join(map(str, Block))}, got {block!r}")
