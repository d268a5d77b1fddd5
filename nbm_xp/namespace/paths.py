"""Where files are: on this machine, by a path. An address of something elsewhere is refused before anything is made."""

from __future__ import annotations

import os
import pathlib
import re

__all__ = ["local_path"]

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(/|:)")  # a drive of Windows has one letter


def local_path(path: str | os.PathLike[str], name: str = "path") -> pathlib.Path:
    """A path of this machine's files.

    Parameters
    ----------
    path : path-like
    name : str, optional
        The argument's name, for messages.

    Raises
    ------
    TypeError
        If it is no path.
    ValueError
        If it is the address of something elsewhere (``https://…``, ``s3://…``), or can be no file's name. A folder
        that is called so all the same has the path ``./https:``.

    Examples
    --------
    >>> local_path("runs/first").parts
    ('runs', 'first')
    >>> local_path("s3://bucket/model.zarr")
    Traceback (most recent call last):
    ...
    ValueError: path must be a path of this machine's files, not an address, got 's3://bucket/model.zarr'
    """
    given: object = path  # which may be a number, a file's descriptor to Python
    text = os.fspath(given) if isinstance(given, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a path, got {path!r}")
    if _ADDRESS.match(text):
        raise ValueError(f"{name} must be a path of this machine's files, not an address, got {text!r}")
    if not text or "\0" in text:
        raise ValueError(f"{name} must be a path, got {text!r}")
    return pathlib.Path(path)
