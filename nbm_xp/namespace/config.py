"""Settings and their sources: a setter's call, the environment, the user's file, the built-in default.

The first source that defines a setting takes precedence. Environment and file are read once, when a setting is first
used; an invalid value raises an error that names its source.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from nbm_xp.files import local_path, write_json

from . import libraries

_FLOATS = ("float16", "float32", "float64")
_INTEGERS = ("int16", "int32", "int64")
_LAYOUTS = ("channels_last", "channels_first")


def _one_of(name: str, choices: tuple[str, ...]) -> Callable[[object], str]:
    def check(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
        return str(value)

    return check


def _not_negative(value: object) -> object:
    number = float(value) if hasattr(value, "__float__") and not isinstance(value, bool) else float("nan")
    if not 0 <= number < float("inf"):
        raise ValueError(f"epsilon must be a finite number that is not negative; got {value!r}")
    return value


# name: (check, built-in default, its parser for environment variables)
SETTINGS: dict[str, tuple[Callable[[object], Any], Any, Callable[[str], Any]]] = {
    "backend": (libraries.canonical_library, "numpy", str),
    "floatx": (_one_of("floatx", _FLOATS), "float32", str),
    "intx": (_one_of("intx", _INTEGERS), "int32", str),
    "epsilon": (_not_negative, 2.0**-23, float),
    "image_data_format": (_one_of("image_data_format", _LAYOUTS), "channels_last", str),
}

_values: dict[str, Any] = {}
_sources: dict[str, str] = {}
_lock = threading.Lock()


def default_file() -> Path | None:
    """The user's configuration file, whether or not it exists."""
    try:
        return Path.home() / ".nbm_xp" / "nbm_xp.json"
    except RuntimeError:  # no home directory can be found
        return None


def _read_file() -> tuple[Mapping[str, object], str]:
    path = default_file()
    if path is None or not path.is_file():
        return {}, ""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold a JSON object; it holds {type(content).__name__}")
    unknown = sorted(set(content) - set(SETTINGS))
    if unknown:
        raise ValueError(f"{path} holds unknown settings {unknown}; known are {sorted(SETTINGS)}")
    return content, str(path)


def _load(name: str) -> Any:
    """Load a setting that no setter has set, and store it with its source."""
    check, default, read = SETTINGS[name]
    variable = f"NBM_XP_{name.upper()}"
    text = os.environ.get(variable)
    content: Mapping[str, object] = {}
    if text is not None:
        source = f"environment variable {variable}"
    else:
        content, path = _read_file()
        source = path if name in content else "default"
    try:
        checked = check(content.get(name, default) if text is None else read(text))
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
    with _lock:
        if name not in _values:
            _values[name], _sources[name] = checked, source
        return _values[name]


def _value(name: str) -> Any:
    """The value of a setting."""
    try:
        return _values[name]
    except KeyError:
        return _load(name)


def _set(name: str, value: object) -> None:
    """Set a setting, after its value was validated."""
    checked = SETTINGS[name][0](value)
    with _lock:
        _values[name], _sources[name] = checked, f"set_{name}"


_context: ContextVar[str | None] = ContextVar("nbm_xp_backend", default=None)


def floatx() -> str:
    """Return the name of the default floating dtype.

    Examples
    --------
    >>> floatx()
    'float32'
    """
    return str(_value("floatx"))


def set_floatx(floatx: str) -> None:
    """Set the default floating dtype.

    Parameters
    ----------
    floatx : {'float16', 'float32', 'float64'}

    Raises
    ------
    ValueError
        If the value is none of these.

    Examples
    --------
    >>> set_floatx("float64")
    >>> floatx()
    'float64'
    >>> reset_configuration()
    """
    _set("floatx", floatx)


def intx() -> str:
    """Return the name of the default integer dtype.

    Examples
    --------
    >>> intx()
    'int32'
    """
    return str(_value("intx"))


def set_intx(intx: str) -> None:
    """Set the default integer dtype.

    Parameters
    ----------
    intx : {'int16', 'int32', 'int64'}

    Raises
    ------
    ValueError
        If the value is none of these.

    Examples
    --------
    >>> set_intx("int64")
    >>> intx()
    'int64'
    >>> reset_configuration()
    """
    _set("intx", intx)


def epsilon() -> float:
    """Return the fuzz factor, which keeps logarithms and divisions away from zero.

    Examples
    --------
    >>> epsilon()
    1.1920928955078125e-07
    """
    value: float = _value("epsilon")
    return value


def set_epsilon(e: float) -> None:
    """Set the fuzz factor.

    Parameters
    ----------
    e : float
        Non-negative number. It is stored unchanged, and returned by `epsilon`.

    Raises
    ------
    ValueError
        If `e` is not a number, negative or not finite.

    Examples
    --------
    >>> set_epsilon(1e-5)
    >>> epsilon()
    1e-05
    >>> reset_configuration()
    """
    _set("epsilon", e)


def image_data_format() -> str:
    """Return the default order of image axes: ``'channels_last'`` or ``'channels_first'``.

    Examples
    --------
    >>> image_data_format()
    'channels_last'
    """
    return str(_value("image_data_format"))


def set_image_data_format(data_format: str) -> None:
    """Set the default order of image axes.

    Parameters
    ----------
    data_format : {'channels_last', 'channels_first'}

    Raises
    ------
    ValueError
        If the value is none of these.

    Examples
    --------
    >>> set_image_data_format("channels_first")
    >>> image_data_format()
    'channels_first'
    >>> reset_configuration()
    """
    _set("image_data_format", data_format)


def backend() -> str:
    """Return the name of the default library, which is used by functions without array arguments.

    Examples
    --------
    >>> with use_backend("cpu"):
    ...     backend()
    'numpy'
    """
    return _context.get() or str(_value("backend"))


def set_backend(name: Any) -> None:
    """Set the default library of the process.

    Parameters
    ----------
    name : str or namespace
        Name of a library, see `get_namespace`, or its namespace.

    Raises
    ------
    ValueError
        If no library has this name.
    ImportError
        If the library is not installed.

    Examples
    --------
    >>> set_backend("numpy")
    >>> backend()
    'numpy'
    >>> reset_configuration()
    """
    _set("backend", libraries.require_library(name))


@contextmanager
def use_backend(name: Any) -> Iterator[Any]:
    """Make a library the default inside a ``with`` block, for this thread or task only.

    Parameters
    ----------
    name : str or namespace
        Name of a library, see `get_namespace`, or its namespace.

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
    """Return every setting with its value and source.

    Examples
    --------
    >>> sorted(configuration())
    ['backend', 'epsilon', 'floatx', 'image_data_format', 'intx']
    """
    result = {name: (_value(name), _sources[name]) for name in SETTINGS}
    inner = _context.get()
    if inner is not None:
        result["backend"] = (inner, "use_backend")
    return result


def reset_configuration() -> None:
    """Reset all settings; environment and file are read again when a setting is next used.

    Examples
    --------
    >>> reset_configuration()
    """
    with _lock:
        _values.clear()
        _sources.clear()


def save_configuration(path: str | os.PathLike[str] | None = None) -> Path:
    """Write the current settings to a JSON file.

    Parameters
    ----------
    path : path, optional
        Path of the file. Defaults to the file that is read by default, ``~/.nbm_xp/nbm_xp.json``.

    Returns
    -------
    pathlib.Path
        Path of the file written.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_configuration(pathlib.Path(folder) / "settings.json")
    ...     json.loads(file.read_text())["image_data_format"]
    'channels_last'
    """
    target = default_file() if path is None else local_path(path)
    if target is None:
        raise OSError("no home directory was found: give a path")
    content = {name: value for name, (value, _) in configuration().items()}
    content["epsilon"] = float(content["epsilon"])
    target.parent.mkdir(parents=True, exist_ok=True)
    write_json(target, content)
    return target
