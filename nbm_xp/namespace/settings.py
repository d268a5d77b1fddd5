"""The settings and their sources: a setter's call, the environment, the user's file, the built-in default.

The first source that speaks wins. Environment and file are read once, when a setting is first asked for; a bad value is
an error that names where it came from.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import libraries

__all__ = ["SETTINGS", "default_file", "forget", "get", "put", "with_sources"]

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


# name: (check, built-in default, what reads it from the environment's text)
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
    """Find the value of a setting that no setter has set, and keep it with its source."""
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


def get(name: str) -> Any:
    """The value of a setting."""
    try:
        return _values[name]
    except KeyError:
        return _load(name)


def put(name: str, value: object) -> None:
    """Set a setting, once the value has been found good."""
    checked = SETTINGS[name][0](value)
    with _lock:
        _values[name], _sources[name] = checked, f"set_{name}"


def with_sources() -> dict[str, tuple[Any, str]]:
    """Every setting's value and where it came from."""
    return {name: (get(name), _sources[name]) for name in SETTINGS}


def forget() -> None:
    """Drop what setters have set and what was read."""
    with _lock:
        _values.clear()
        _sources.clear()
