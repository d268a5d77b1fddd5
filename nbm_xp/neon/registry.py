"""The backends by name: one for each array library, under the library's name, and neon's `cpu` and `gpu`."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar

from nbm_xp.namespace import installed_libraries
from nbm_xp.namespace.libraries import ALIASES, LIBRARIES
from nbm_xp.namespace.refusals import name_methods

if TYPE_CHECKING:
    from .backend import Backend

__all__ = ["Block", "Registry"]


class Block(IntEnum):
    """What is repeated between `Registry.begin` and `Registry.end`.

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


class Registry:
    """A Backend's methods that name, make and end backends, and that matter to several devices or a compiler."""

    backends: ClassVar[dict[str, type[Backend]]] = {}
    """The class of the backend of each name."""

    @staticmethod
    def allocate_backend(name: Any, **kargs: Any) -> Backend:
        """Make a backend by name.

        Parameters
        ----------
        name : str
            An array library's: ``'cpu'``, ``'gpu'``, or as `nbm_xp.set_backend` knows it.
        **kargs
            Handed to `Backend`.

        Returns
        -------
        Backend

        Raises
        ------
        ImportError
            If the library is not installed; the message says what to install.
        ValueError
            If no backend has this name.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend.allocate_backend("cpu", rng_seed=3).library == Backend(library="cpu").library
        True
        """
        if not isinstance(name, str) or name not in Registry.backends:
            raise ValueError(f"name must be one of {', '.join(map(repr, Registry.backends))}; got {name!r}")
        return Registry.backends[name](library=name, **kargs)

    @staticmethod
    def backend_choices() -> list[str]:
        """The names of the backends whose array libraries are installed here, sorted.

        Returns
        -------
        list of str

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> "cpu" in Backend.backend_choices()
        True
        """
        installed = set(installed_libraries())
        return sorted(name for name in Registry.backends if ALIASES.get(name, name) in installed)

    def cleanup_backend(self) -> None:
        """Do nothing: a backend holds nothing that does not go with its last reference.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend(library="cpu").cleanup_backend()
        """

    def begin(self, block: int, identifier: int) -> None:
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

    def end(self, block: int, identifier: int) -> None:
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

    def distribute_data(self, tensor: Any, layer_parallelism: str | None) -> None:
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

    def revert_tensor(self, tensor: Any) -> None:
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


def register(cls: type[Backend]) -> type[Backend]:
    """Make a class the backend of every library, whose methods name what is at fault in a call."""
    name_methods(cls, checked=True)
    Registry.backends.update(dict.fromkeys((*ALIASES, *LIBRARIES), cls))
    return cls
