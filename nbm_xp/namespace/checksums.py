"""What tells whether content is what was written: digests of files and records, a checksum of chunks.

They are against accidents, and against files that were mistaken for one another: whoever writes a file anew on purpose
can write its digest anew as well.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["DIGEST", "crc32c", "digest_of_file", "digest_of_record", "parsed", "read_record", "sealed", "unsealed"]

DIGEST = "digest"
"""The name under which a record holds its own digest."""

_MOST_TEXT = 2**28


def crc32c(content: Any) -> int:
    """The checksum CRC-32C of bytes, as Zarr's codec of that name has it, by the package that Zarr takes for it."""
    return int(_crc32c()(content))


@functools.cache
def _crc32c() -> Callable[[Any], int]:
    try:
        return importlib.import_module("google_crc32c").value  # type: ignore[no-any-return]
    except ModuleNotFoundError:
        return importlib.import_module("crc32c").crc32c  # type: ignore[no-any-return]


def digest_of_file(path: str | os.PathLike[str]) -> str:
    """What tells a file's content from all others.

    Raises
    ------
    ValueError
        If it is not there, or is no file.
    """
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except FileNotFoundError:
        raise ValueError(f"{os.fspath(path)} is not there") from None
    except IsADirectoryError:
        raise ValueError(f"{os.fspath(path)} is a folder, where a file was written") from None


def digest_of_record(record: Mapping[str, Any]) -> str:
    """What tells a record, values that JSON has by name, from all others.

    Examples
    --------
    >>> digest_of_record({"a": 1, "b": 2}) == digest_of_record({"b": 2, "a": 1})
    True
    """
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def sealed(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record that holds its own digest.

    Examples
    --------
    >>> unsealed(sealed({"seed": 3}), "run.json")
    {'seed': 3}
    >>> unsealed(sealed({"seed": 3}) | {"seed": 4}, "run.json")
    Traceback (most recent call last):
    ...
    ValueError: run.json is damaged: it is not what was written
    """
    return dict(record) | {DIGEST: digest_of_record(record)}


def unsealed(record: Any, name: str | os.PathLike[str]) -> dict[str, Any]:
    """A sealed record without its digest.

    Parameters
    ----------
    record : object
        As read from a file.
    name : path-like
        The file's, for messages.

    Raises
    ------
    ValueError
        If it is not what was written.
    """
    if not isinstance(record, Mapping) or DIGEST not in record:
        raise ValueError(f"{os.fspath(name)} is damaged: it lacks its digest")
    content = {key: value for key, value in record.items() if key != DIGEST}
    if record[DIGEST] != digest_of_record(content):
        raise ValueError(f"{os.fspath(name)} is damaged: it is not what was written")
    return content


def parsed(text: str | bytes, name: str | os.PathLike[str]) -> Any:
    """What JSON says.

    Raises
    ------
    ValueError
        If it is not JSON, or nested deeper than anything that is written here.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(f"{os.fspath(name)} is not JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{os.fspath(name)} is not JSON: {error}") from error


def read_record(path: str | os.PathLike[str]) -> Any:
    """What a file of JSON holds.

    Raises
    ------
    FileNotFoundError
        If it is not there.
    ValueError
        If it is not JSON, or larger than any that is written here.
    """
    place = pathlib.Path(path)
    try:
        with open(place, "rb") as file:
            text = file.read(_MOST_TEXT + 1)
    except IsADirectoryError:
        raise ValueError(f"{place} is a folder, where a file was written") from None
    if len(text) > _MOST_TEXT:
        raise ValueError(f"{place} is not JSON that can be read: it is longer than {_MOST_TEXT:,} bytes")
    return parsed(text, place)
