"""Objects of a store at an address of fsspec (``s3://bucket/run``), with the methods of paths that files and runs use.

A store has no folders, no renaming and no appending: an object is written whole, and is the old or the new one when it
is read. A request that fails is repeated, which is safe as all of them may be carried out twice. Credentials are found
by the package of the store, in its own configuration.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib
import itertools
import os
import pathlib
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

TRIES = 6  # of a request that fails, in addition to those of the package of the store
CONDITION = "the store, or this release of its package, cannot create an object on condition that there is none"
PAUSE = 0.1  # seconds, at most, before the second
PIECE = 2**26  # bytes that are read or written at once
AT_ONCE = 16  # requests

_FINAL = (
    FileNotFoundError,
    FileExistsError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    NotImplementedError,
)
_creating = threading.Lock()


class StoreError(OSError):
    """Raised if a store did not carry out a request; the cause is the error of its package."""


@dataclass(frozen=True, order=True)
class ObjectPath:
    """The address of an object, or of all objects below it; picklable, and path-like for messages.

    Parameters
    ----------
    address : str
        Address, with its protocol.

    Examples
    --------
    >>> place = ObjectPath("memory://examples/run") / "note"
    >>> place.write_bytes(b"whole")
    >>> place.name, place.is_file(), place.parent.is_dir(), place.read_bytes()
    ('note', True, True, b'whole')
    >>> place.unlink()
    >>> place.exists()
    False
    """

    address: str

    def __fspath__(self) -> str:
        return self.address

    __str__ = __fspath__

    def __truediv__(self, name: str) -> ObjectPath:
        return ObjectPath(f"{self.address}/{name}")

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.address.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The ending of the name."""
        return pathlib.PurePosixPath(self.name).suffix

    @property
    def parent(self) -> ObjectPath:
        """The address without its last part."""
        return ObjectPath(self.address.rpartition("/")[0])

    def resolve(self) -> ObjectPath:
        """Return the address itself."""
        return self

    def mkdir(self, **options: Any) -> None:
        """Do nothing: a store has no folders."""

    # Reading

    @property
    def _store(self) -> Any:
        return _opened("/".join(self.address.split("/", 3)[:3]), os.getpid())

    def _try(self, request: Callable[[Any, str], Any]) -> Any:
        """Call a function of the store and the object's key, again if it fails."""
        store = self._store
        for failed in range(TRIES):
            try:
                return request(store, store._strip_protocol(self.address))
            except _FINAL:
                raise
            except Exception as error:
                if failed == TRIES - 1:
                    why = f"the store failed {TRIES} times, at last by {type(error).__name__}"
                    raise StoreError(errno.EIO, why, self.address) from error
            time.sleep(random.uniform(PAUSE / 2, PAUSE) * 2**failed)
        raise AssertionError

    def _info(self) -> dict[str, Any]:
        with contextlib.suppress(FileNotFoundError):
            found: dict[str, Any] = self._try(lambda store, key: store.info(key))
            return found
        return {}

    def exists(self) -> bool:
        """Return whether there is an object at the address, or below it."""
        return bool(self._info())

    def is_file(self) -> bool:
        """Return whether there is an object at the address."""
        return self._info().get("type") == "file"

    def is_dir(self) -> bool:
        """Return whether there are objects below the address."""
        return self._info().get("type") == "directory"

    @property
    def size(self) -> int:
        """Number of bytes of the object."""
        return int(self._try(lambda store, key: store.info(key))["size"])

    @property
    def version(self) -> str:
        """A text that changes with the object."""
        return str(self._try(lambda store, key: store.ukey(key)))

    def entries(self) -> dict[str, bool]:
        """Return the next parts of all addresses below this one, and whether each is an object, in order."""
        try:
            found = self._try(lambda store, key: store.ls(key, detail=True))
        except FileNotFoundError:
            return {}
        own = self._store._strip_protocol(self.address).strip("/")
        below = sorted((entry["name"].strip("/"), entry["type"] == "file") for entry in found)
        return {name.rpartition("/")[2]: is_file for name, is_file in below if name != own}

    def sizes(self) -> dict[str, int]:
        """Return the number of bytes of each object below the address, by its last parts."""
        found = self._try(
            lambda store, key: {name.removeprefix(key): at["size"] for name, at in store.find(key, detail=True).items()}
        )
        return {name.strip("/"): int(size) for name, size in found.items()}

    def iterdir(self) -> Iterator[ObjectPath]:
        """Yield the addresses one part below this one."""
        return (self / name for name in self.entries())

    def read_bytes(self, start: int | None = None, end: int | None = None) -> bytes:
        """Return the bytes of the object, or those from `start` to `end`."""
        if start is end is None:
            return b"".join(self.pieces())
        return bytes(self._try(lambda store, key: store.cat_file(key, start=start, end=end)))

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the object, which is not empty, at most `PIECE` at a time."""
        start = size = 0
        while start <= size:
            yield (piece := self.read_bytes(start, start + PIECE))
            start += PIECE
            size = self.size - 1 if len(piece) == PIECE else 0

    # Writing

    def write_bytes(self, content: bytes) -> None:
        """Write the object."""
        self._try(lambda store, key: store.pipe_file(key, content, mode="overwrite"))

    def upload(self, file: pathlib.Path) -> None:
        """Write the object from a file."""
        if file.stat().st_size <= PIECE:
            self.write_bytes(file.read_bytes())
        else:
            self._try(lambda store, key: store.put_file(os.fspath(file), key, mode="overwrite"))

    def create(self, content: bytes) -> None:
        """Write the object on condition that there is none.

        Raises
        ------
        FileExistsError
            If there is one with other content.
        StoreError
            If the store cannot do this in one step.
        """
        put = _creator(self._store)
        if put is None:
            raise StoreError(errno.ENOTSUP, CONDITION, self.address)
        with _creating:  # the store in memory looks and writes in two steps
            try:
                self._try(lambda store, key: put(key, content))
            except FileExistsError:  # perhaps by the same request, which was carried out twice
                if self.read_bytes() != content:
                    raise FileExistsError(errno.EEXIST, "there is another object", self.address) from None
            except StoreError as error:
                if isinstance(error.__cause__, TypeError):  # an old release of its package, without a `mode`
                    raise StoreError(errno.ENOTSUP, CONDITION, self.address) from error
                raise

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the object."""
        try:
            self._try(lambda store, key: store.rm_file(key))
        except FileNotFoundError:
            if not missing_ok:
                raise

    def delete_all(self) -> None:
        """Delete all objects below the address."""
        with contextlib.suppress(FileNotFoundError):
            self._try(lambda store, key: store.rm(key, recursive=True))


def together(request: Callable[[Any], Any], items: Iterable[Any], place: Any) -> list[Any]:
    """Return a function of each item, of `AT_ONCE` at a time if the place is in a store, whose requests take long.

    Examples
    --------
    >>> together(abs, [-1, 2], ObjectPath("memory://examples"))
    [1, 2]
    """
    if not isinstance(place, ObjectPath):
        return [request(item) for item in items]
    found, rest = list[Any](), iter(items)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        while some := list(itertools.islice(rest, AT_ONCE)):  # the others are not yet made
            found += threads.map(request, some)
    return found


def _creator(store: Any) -> Callable[[str, bytes], object] | None:
    """Return what creates an object of a store on condition that there is none, or None if nothing does in one step."""
    kind = type(store)
    if hasattr(store, "_construct_store"):  # obstore's, whose `pipe_file` ignores its mode

        def create(key: str, content: bytes) -> None:
            obstore, (bucket, path) = importlib.import_module("obstore"), store._split_path(key)
            try:
                obstore.put(store._construct_store(bucket), path, content, mode="create", use_multipart=False)
            except obstore.exceptions.AlreadyExistsError as error:
                raise FileExistsError(errno.EEXIST, "there is another object", key) from error

        return create
    method = getattr(kind, "_pipe_file" if kind.async_impl else "pipe_file")
    if method.__module__ in ("fsspec.spec", "fsspec.asyn"):  # not there, or in two steps
        return None
    return functools.partial(store.pipe_file, mode="create")


@functools.cache
def _opened(root: str, process: int) -> Any:
    """Return the file system of an address, one for all threads of a process; listings are never cached."""
    store = importlib.import_module("fsspec.core").url_to_fs(root, skip_instance_cache=True)[0]
    store.dircache.use_listings_cache = False  # an option of the stores of some packages only
    return store
