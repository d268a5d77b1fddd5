"""Chunks of Zarr arrays that were all written and carry checksums: a missing or damaged chunk is an error.

Zarr itself takes a chunk that is not there, or a folder in its place, for zeros. Here a chunk goes to Zarr's codecs
only when it is there, its checksum is right, and it claims no more bytes than a chunk has.
"""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

import zarr
from zarr.storage import LocalStore, WrapperStore

from nbm_xp.files import crc32c

from .zarr_headers import HEADER, Header, check_chunks

__all__ = ["open_whole", "whole_store"]

_CHECKSUM = 4  # bytes at the end of a chunk


class _WholeStore(WrapperStore[LocalStore]):
    """A folder of arrays, to be read; `headers` are theirs by name."""

    headers: Mapping[str, Header]

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """What a file holds; a chunk is checked."""
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
        # Blosc's own header says, from its fourth byte on, how many bytes it will give.
        blosc = "blosc" in header.codecs
        claimed = int.from_bytes(content[4:8].tobytes(), "little") if blosc else len(content) - _CHECKSUM
        if claimed != header.bytes_in_a_tile:
            wanted = header.bytes_in_a_tile
            raise ValueError(f"{place} is damaged: its chunk {chunk} claims {claimed:,} bytes, not {wanted:,}")
        return found


def whole_store(folder: pathlib.Path, headers: Mapping[str, Header]) -> Any:
    """A store of Zarr's that reads a folder of arrays so; an error where a chunk of one is not there."""
    for name, header in headers.items():
        check_chunks(folder / name, header)
    store = _WholeStore(LocalStore(folder, read_only=True))
    store.headers = dict(headers)
    return store


def open_whole(folder: pathlib.Path, headers: Mapping[str, Header]) -> dict[str, Any]:
    """Zarr's arrays of these names."""
    store = whole_store(folder, headers)
    return {name: zarr.open_array(store, path=name, mode="r", zarr_format=3) for name in headers}
