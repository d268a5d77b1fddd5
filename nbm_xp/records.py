"""Records with digests, and checksums, which protect against accidental damage, not against deliberate changes."""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

from .files import place_of
from .objects import ObjectPath

# Name of the entry of a record that holds its digest.
DIGEST = "digest"

_MOST_TEXT = 2**28


def crc32c(content: Any) -> int:
    """Compute the CRC-32C checksum of bytes, with the package that Zarr's codec ``crc32c`` uses."""
    return int(_crc32c()(content))


@functools.cache
def _crc32c() -> Callable[[Any], int]:
    try:
        return importlib.import_module("google_crc32c").value  # type: ignore[no-any-return]
    except ModuleNotFoundError:
        return importlib.import_module("crc32c").crc32c  # type: ignore[no-any-return]


def digest_of_file(path: str | os.PathLike[str]) -> str:
    """Compute a digest of a file's content.

    Raises
    ------
    ValueError
        If the file does not exist, or is a folder.
    """
    found = hashlib.blake2b(digest_size=16)
    try:
        if isinstance(path, ObjectPath):
            for piece in path.pieces():
                found.update(piece)
            return found.hexdigest()
        with open(path, "rb") as file:
            return hashlib.file_digest(file, lambda: found).hexdigest()
    except FileNotFoundError:
        raise ValueError(f"{os.fspath(path)} is not there") from None
    except IsADirectoryError:
        raise ValueError(f"{os.fspath(path)} is a folder, where a file was written") from None


def digest_of_record(record: Mapping[str, Any]) -> str:
    """Compute a digest of a record: a mapping from names to JSON values.

    Examples
    --------
    >>> digest_of_record({"a": 1, "b": 2}) == digest_of_record({"b": 2, "a": 1})
    True
    """
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def finite_json(value: Any) -> Any:
    """Convert a value to strict JSON: non-finite numbers become null."""
    if isinstance(value, Mapping):
        return {str(name): finite_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as strict JSON, with its digest as an additional entry.

    Examples
    --------
    >>> unsealed(sealed({"seed": 3}), "run.json")
    {'seed': 3}
    >>> unsealed(sealed({"seed": 3}) | {"seed": 4}, "run.json")
    Traceback (most recent call last):
    ...
    ValueError: run.json is damaged: it is not what was written
    """
    content: dict[str, Any] = finite_json(record)
    return content | {DIGEST: digest_of_record(content)}


def unsealed(record: Any, name: str | os.PathLike[str]) -> dict[str, Any]:
    """Verify the digest of a sealed record, and return the record without it.

    Parameters
    ----------
    record : object
        Record as read from a file.
    name : path-like
        Name of the file, for error messages.

    Raises
    ------
    ValueError
        If the record has changed, or has no digest.
    """
    if not isinstance(record, Mapping) or DIGEST not in record:
        raise ValueError(f"{os.fspath(name)} is damaged: it lacks its digest")
    content = {key: value for key, value in record.items() if key != DIGEST}
    if record[DIGEST] != digest_of_record(content):
        raise ValueError(f"{os.fspath(name)} is damaged: it is not what was written")
    return content


def parsed(text: str | bytes, name: str | os.PathLike[str]) -> Any:
    """Parse JSON.

    Raises
    ------
    ValueError
        If the text is not JSON, or is nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(f"{os.fspath(name)} is not JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{os.fspath(name)} is not JSON: {error}") from error


def read_record(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file.

    Raises
    ------
    FileNotFoundError
        If it does not exist.
    ValueError
        If it is not JSON, or larger than 256 MiB.
    """
    place = place_of(path)
    try:
        if isinstance(place, ObjectPath):
            text = place.read_bytes(0, _MOST_TEXT + 1)
        else:
            with open(place, "rb") as file:
                text = file.read(_MOST_TEXT + 1)
    except IsADirectoryError:
        raise ValueError(f"{place} is a folder, where a file was written") from None
    if len(text) > _MOST_TEXT:
        raise ValueError(f"{place} is not JSON that can be read: it is longer than {_MOST_TEXT:,} bytes")
    return parsed(text, place)
