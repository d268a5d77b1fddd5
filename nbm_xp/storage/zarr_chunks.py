"""Reading of complete Zarr arrays with checksums: a missing or damaged chunk raises an error.

Zarr itself reads a missing chunk, or a folder in its place, as zeros. Here a chunk is passed to Zarr's codecs only if
it exists, its checksum is correct, and its header claims exactly the size of a chunk.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import zarr
from zarr.abc.store import SuffixByteRequest
from zarr.storage import LocalStore, MemoryStore, WrapperStore

from nbm_xp.files import Place
from nbm_xp.objects import ObjectPath
from nbm_xp.records import crc32c

from .zarr_headers import HEADER, Header, check_chunks

_CHECKSUM = 4  # bytes at the end of a chunk


class _ObjectStore(WrapperStore[MemoryStore]):
    """A read-only store of the objects at an address, whose requests are repeated if they fail."""

    root: ObjectPath

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """Read an object, or part of it."""
        start = getattr(byte_range, "start", getattr(byte_range, "offset", None))
        if isinstance(byte_range, SuffixByteRequest):
            start = -byte_range.suffix
        try:
            content = await asyncio.to_thread((self.root / key).read_bytes, start, getattr(byte_range, "end", None))
        except FileNotFoundError:
            return None
        return prototype.buffer.from_bytes(content)


def store_of(place: Place) -> Any:
    """Return a read-only Zarr store of a folder."""
    if not isinstance(place, ObjectPath):
        return LocalStore(place, read_only=True)
    store = _ObjectStore(MemoryStore(read_only=True))
    store.root = place
    return store


class _WholeStore(WrapperStore[Any]):
    """A read-only store of a folder of arrays, with their `headers` by name."""

    headers: Mapping[str, Header]

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names of the arrays."""
        for name in () if prefix else self.headers:
            yield name

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """Read a file; chunks are verified."""
        found = await self._store.get(key, prototype, byte_range)
        name, _, chunk = key.partition("/")
        if key.rpartition("/")[2] == HEADER:
            return found
        place = self._store.root / name
        if found is None:
            raise ValueError(f"{place} is damaged: it lacks the chunk {chunk}")
        content = found.as_numpy_array()
        said = int.from_bytes(content[-_CHECKSUM:].tobytes(), "little")
        if len(content) <= _CHECKSUM or said != crc32c(content[:-_CHECKSUM]):
            raise ValueError(f"{place} is damaged: its chunk {chunk} is not what was written")
        header = self.headers[name]
        # Bytes 4 to 7 of Blosc's header are the uncompressed size.
        blosc = "blosc" in header.codecs
        claimed = int.from_bytes(content[4:8].tobytes(), "little") if blosc else len(content) - _CHECKSUM
        if claimed != header.bytes_in_a_tile:
            wanted = header.bytes_in_a_tile
            raise ValueError(f"{place} is damaged: its chunk {chunk} claims {claimed:,} bytes, not {wanted:,}")
        return found


def whole_store(folder: Place, headers: Mapping[str, Header]) -> Any:
    """Return a Zarr store that reads a folder of arrays with these checks; raise `ValueError` if a chunk is missing."""
    for name, header in headers.items():
        check_chunks(folder / name, header)
    store = _WholeStore(store_of(folder))
    store.headers = dict(headers)
    return store


def open_whole(folder: Place, headers: Mapping[str, Header]) -> dict[str, Any]:
    """Open the arrays of a folder by name, as Zarr arrays."""
    store = whole_store(folder, headers)
    return {name: zarr.open_array(store, path=name, mode="r", zarr_format=3) for name in headers}
