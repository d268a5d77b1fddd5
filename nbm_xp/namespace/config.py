"""The configuration: default library, default dtypes, fuzz factor, image layout.

A setting comes from the first of these that speaks: the context of `use_backend` (the library only), a call of its
setter, the environment (``NBM_XP_FLOATX`` and so on), the file ``~/.nbm_xp/nbm_xp.json``, the built-in default. The
file is written only by `save_configuration`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from nbm_xp.files import local_path, write_json

from . import libraries, settings

__all__ = [
    "backend",
    "configuration",
    "epsilon",
    "floatx",
    "image_data_format",
    "intx",
    "reset_configuration",
    "save_configuration",
    "set_backend",
    "set_epsilon",
    "set_floatx",
    "set_image_data_format",
    "set_intx",
    "use_backend",
]

_context: ContextVar[str | None] = ContextVar("nbm_xp_backend", default=None)


def floatx() -> str:
    """The default floating dtype, by name.

    Examples
    --------
    >>> floatx()
    'float32'
    """
    value: str = settings.get("floatx")
    return value


def set_floatx(floatx: str) -> None:
    """Set the default floating dtype.

    Parameters
    ----------
    floatx : {'float16', 'float32', 'float64'}

    Raises
    ------
    ValueError
        If it is none of these.

    Examples
    --------
    >>> before = floatx()
    >>> set_floatx("float64")
    >>> floatx()
    'float64'
    >>> set_floatx(before)
    """
    settings.put("floatx", floatx)


def intx() -> str:
    """The default integer dtype, by name.

    Examples
    --------
    >>> intx()
    'int32'
    """
    value: str = settings.get("intx")
    return value


def set_intx(intx: str) -> None:
    """Set the default integer dtype.

    Parameters
    ----------
    intx : {'int16', 'int32', 'int64'}

    Raises
    ------
    ValueError
        If it is none of these.

    Examples
    --------
    >>> before = intx()
    >>> set_intx("int64")
    >>> intx()
    'int64'
    >>> set_intx(before)
    """
    settings.put("intx", intx)


def epsilon() -> float:
    """The fuzz factor that keeps logarithms and divisions from zero.

    Examples
    --------
    >>> epsilon()
    1.1920928955078125e-07
    """
    value: float = settings.get("epsilon")
    return value


def set_epsilon(e: float) -> None:
    """Set the fuzz factor.

    Parameters
    ----------
    e : float
        A number that is not negative. It is kept as it is: `epsilon` gives it back.

    Raises
    ------
    ValueError
        If it is no number, negative or not finite.

    Examples
    --------
    >>> before = epsilon()
    >>> set_epsilon(1e-5)
    >>> epsilon()
    1e-05
    >>> set_epsilon(before)
    """
    settings.put("epsilon", e)


def image_data_format() -> str:
    """Where images have their channels: ``'channels_last'`` or ``'channels_first'``.

    Examples
    --------
    >>> image_data_format()
    'channels_last'
    """
    value: str = settings.get("image_data_format")
    return value


def set_image_data_format(data_format: str) -> None:
    """Set where images have their channels.

    Parameters
    ----------
    data_format : {'channels_last', 'channels_first'}

    Raises
    ------
    ValueError
        If it is none of these.

    Examples
    --------
    >>> before = image_data_format()
    >>> set_image_data_format("channels_first")
    >>> image_data_format()
    'channels_first'
    >>> set_image_data_format(before)
    """
    settings.put("image_data_format", data_format)


def backend() -> str:
    """The name of the default library, which serves functions without array arguments.

    Examples
    --------
    >>> with use_backend("cpu"):
    ...     backend()
    'numpy'
    """
    value: str = _context.get() or settings.get("backend")
    return value


def set_backend(name: Any) -> None:
    """Set the default library of the process.

    Parameters
    ----------
    name : str or namespace
        A library as `get_namespace` names it, or its namespace.

    Raises
    ------
    ValueError
        If no library goes by this name.
    ImportError
        If it is not installed.

    Examples
    --------
    >>> before = backend()
    >>> set_backend("numpy")
    >>> backend()
    'numpy'
    >>> set_backend(before)
    """
    settings.put("backend", libraries.require_library(name))


@contextmanager
def use_backend(name: Any) -> Iterator[Any]:
    """Make a library the default inside a ``with`` block, for this thread or task only.

    Parameters
    ----------
    name : str or namespace
        A library as `get_namespace` names it, or its namespace.

    Yields
    ------
    namespace
        The library's namespace.

    Examples
    --------
    >>> with use_backend("numpy") as xp:
    ...     xp.zeros(2)
    array([0., 0.])
    """
    known = libraries.require_library(name)
    token = _context.set(known)
    try:
        yield libraries.get_namespace(known)
    finally:
        _context.reset(token)


def configuration() -> dict[str, tuple[Any, str]]:
    """Every setting with its value and the source it came from.

    Examples
    --------
    >>> sorted(configuration())
    ['backend', 'epsilon', 'floatx', 'image_data_format', 'intx']
    """
    result = settings.with_sources()
    inner = _context.get()
    if inner is not None:
        result["backend"] = (inner, "use_backend")
    return result


def reset_configuration() -> None:
    """Forget what setters have set; environment and file are read again when a setting is next asked for.

    Examples
    --------
    >>> reset_configuration()
    """
    settings.forget()


def save_configuration(path: str | os.PathLike[str] | None = None) -> Path:
    """Write the present settings to a JSON file.

    Parameters
    ----------
    path : path, optional
        Where to write; without it, to the file that is read by default, ``~/.nbm_xp/nbm_xp.json``.

    Returns
    -------
    pathlib.Path
        The file written.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_configuration(pathlib.Path(folder) / "settings.json")
    ...     json.loads(file.read_text())["image_data_format"]
    'channels_last'
    """
    target = settings.default_file() if path is None else local_path(path)
    if target is None:
        raise OSError("no home directory was found: give a path")
    content = {name: value for name, (value, _) in configuration().items()}
    content["epsilon"] = float(content["epsilon"])
    target.parent.mkdir(parents=True, exist_ok=True)
    write_json(target, content)
    return target
