"""The compiled core: loops over NumPy's memory, in C, for what the processor has.

Contract: it is never the only way. Where the package was installed without a compiler there are
no functions here, and the portable forms serve, with the same bits. Each function is there once for every level of
vector instructions, and the best that the machine has is taken when the package is loaded; each level gives the same
bits. What happens to one element stands in ``elements/*.h``, which the CUDA kernels in ``devices/*.cuh`` read too.

A core is taken only if it was built from the sources that lie beside this file. It lies there too, or where an editable
installation put it; in a clone that was installed otherwise, it is the one of the installed package.

The environment variable ``NBM_XP_LEVEL`` picks another level: one of `levels`, or ``none`` for the portable forms.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pathlib
import posixpath
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

__all__ = [
    "ROOM", "VARIABLE", "functions", "is_outdated", "is_there", "level", "levels", "missing", "room", "text",
    "using_level", "warn_if_missing", "whole_text",
]  # fmt: skip

_FOLDER: Final = pathlib.Path(__file__).parent
_OUTDATED: Final = "the installed core was built from other sources; to build it anew"


def _loaded() -> tuple[Any, str]:
    """The compiled module, or None and why it cannot be used; no reason where there is no module at all."""
    for folder in sys.path:  # a package that was installed from a clone has the core, the clone itself has none
        __path__.append(os.path.join(os.path.abspath(folder), *__name__.split(".")))
    try:
        module: Any = importlib.import_module(f"{__name__}.compiled")
    except ModuleNotFoundError:
        return None, ""
    except ImportError as error:
        return None, f"the installed core cannot be loaded here ({error}); to build it anew"
    sources = sorted(path for path in _FOLDER.rglob("*") if path.suffix in (".c", ".h"))
    digests = "".join(hashlib.sha256(path.read_bytes()).hexdigest() for path in sources)
    if module.source != hashlib.sha256(digests.encode()).hexdigest():
        return None, _OUTDATED
    return module, ""


_found, _reason = _loaded()
compiled: Final = _found

VARIABLE: Final = "NBM_XP_LEVEL"
"""The environment variable that picks a level."""

NONE: Final = "none"

levels: Final[tuple[str, ...]] = () if compiled is None else compiled.levels
"""The levels that this machine has, from the least on."""

functions: Final[dict[str, Callable[..., Any]]] = {}
"""The functions of the level in use, by name: they take contiguous arrays and integers, and hold no lock."""

room: Final[Callable[[], Any] | None] = getattr(compiled, "room", None)
"""Gives memory, as a buffer of `ROOM` bytes, that is kept for the next when nothing lies in it any more."""

ROOM: Final[int] = getattr(compiled, "ROOM", 0)
"""How many bytes a room has."""

_in_use = [NONE]
_warned: list[str] = []


def level() -> str:
    """The level in use; ``none`` where there is no core.

    Examples
    --------
    >>> level() in (*levels, "none")
    True
    """
    return _in_use[0]


def _take(name: str) -> None:
    if name not in (NONE, *levels):
        raise ValueError(f"{VARIABLE} must be one of {', '.join((*levels, NONE))} on this machine, got {name!r}")
    functions.update({} if name == NONE else compiled.functions(name))
    _in_use[0] = name


_take(os.environ.get(VARIABLE) or (levels[-1] if levels else NONE))


@contextmanager
def using_level(name: str) -> Iterator[None]:
    """Take another of the `levels` for a while, in all threads; for tests.

    The portable forms cannot be taken so: which kernels there are is settled when the package is loaded.

    Examples
    --------
    >>> with using_level(level()):
    ...     level() in (*levels, "none")
    True
    """
    before = level()
    if name != before and NONE in (name, before):
        allowed = ", ".join(levels) or NONE
        raise ValueError(f"name must be one of {allowed}, got {name!r}: {VARIABLE} alone picks {NONE}, and leaves it")
    _take(name)
    try:
        yield
    finally:
        _take(before)


def text(name: str) -> str:
    """A file of the core's text, such as ``elements/recurrence.h``.

    Examples
    --------
    >>> "M1" in text("elements/recurrence.h")
    True
    """
    return (_FOLDER / name).read_text(encoding="utf-8")


def whole_text(name: str) -> str:
    """A file of the core's text with the files that it includes in their places, each once.

    Examples
    --------
    >>> text = whole_text("elements/samplers.h")
    >>> text.count("define NBM_LANGUAGE_H"), '#include "' in text
    (1, False)
    """
    seen = {name}

    def expanded(name: str) -> str:
        def put(include: re.Match[str]) -> str:
            part = posixpath.normpath(posixpath.join(posixpath.dirname(name), include[1]))
            if part in seen:
                return ""
            seen.add(part)
            return expanded(part)

        return re.sub(r'^#include "(.*)"\n', put, text(name), flags=re.MULTILINE)

    return expanded(name)


def is_there() -> bool:
    """Whether there is a core that was built from the sources beside this file, and it can be loaded.

    Examples
    --------
    >>> is_there() or level() == "none"
    True
    """
    return compiled is not None


def is_outdated() -> bool:
    """Whether the core that was found is not used because it was built from other sources.

    Examples
    --------
    >>> is_outdated() and is_there()
    False
    """
    return _reason == _OUTDATED


def missing() -> str:
    """Why there is no core, and the command that helps, in one line; empty where there is one.

    Examples
    --------
    >>> bool(missing()) == is_there()
    False
    """
    if is_there():
        return ""
    import importlib.metadata  # takes longer than the rest of this module

    clone, where = _FOLDER.parents[2], ". in a clone"
    if in_clone := (clone / "CMakeLists.txt").is_file():
        where = f"-e {shlex.quote(str(clone))}"
    if in_clone and not any(importlib.metadata.distributions(name="nbm_xp")):
        return f"this clone is not installed; to install it: pip install {where}"
    reason = _reason or "it could not be compiled at installation; with a C compiler and Python's headers there"
    return f"{reason}: pip install --force-reinstall --no-deps {where}"


def warn_if_missing() -> None:
    """Warn, once in a process, that portable forms compute what the core would; not where ``none`` was picked.

    Examples
    --------
    >>> warn_if_missing() is None
    True
    """
    if not (is_there() or _warned or os.environ.get(VARIABLE)):
        _warned.append(message := f"nbm_xp has no compiled core and is many times slower: {missing()}")
        warnings.warn_explicit(message, RuntimeWarning, __name__, 1)  # on one line: no line of code is shown
