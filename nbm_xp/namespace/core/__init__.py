"""The compiled core: loops in C over NumPy's memory, for the processor's vector instructions.

Contract: the core is optional. If the package was installed without a compiler, there are no functions here, and the
portable forms give the same bits. Each function is compiled for every level of vector instructions, and the machine's
best level is selected when the package is loaded; all levels give the same bits. The operations on one element are in
``elements/*.h``, which the CUDA kernels in ``devices/*.cuh`` include, too.

A core is used only if it was built from the sources beside this file. It is in the same folder, or where an editable
installation put it; in a clone without an editable installation, it is the core of the installed package.

The environment variable ``NBM_XP_LEVEL`` selects another level: one of `levels`, or ``none`` for the portable forms.
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
    """The compiled module; or None, and the reason why it cannot be used (empty if there is no module)."""
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

# The environment variable that picks a level.
VARIABLE: Final = "NBM_XP_LEVEL"

NONE: Final = "none"

# The levels that this machine has, from the least on.
levels: Final[tuple[str, ...]] = () if compiled is None else compiled.levels

# The functions of the level in use, by name: they take contiguous arrays and integers, and hold no lock.
functions: Final[dict[str, Callable[..., Any]]] = {}

# Gives memory, as a buffer of `ROOM` bytes, that is kept for the next when nothing lies in it any more.
room: Final[Callable[[], Any] | None] = getattr(compiled, "room", None)

# How many bytes a room has.
ROOM: Final[int] = getattr(compiled, "ROOM", 0)

_in_use = [NONE]
_warned: list[str] = []


def level() -> str:
    """Return the level in use; ``none`` without a core.

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
    """Context manager that selects another of the `levels` in all threads; for tests.

    The portable forms cannot be selected in this way: kernels are registered when the package is loaded.

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
    """Return the text of a source file of the core, such as ``elements/recurrence.h``.

    Examples
    --------
    >>> "M1" in text("elements/recurrence.h")
    True
    """
    return (_FOLDER / name).read_text(encoding="utf-8")


def whole_text(name: str) -> str:
    """Return the text of a source file of the core with its included files inserted, each once.

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
    """Whether there is a loadable core that was built from the sources beside this file.

    Examples
    --------
    >>> is_there() or level() == "none"
    True
    """
    return compiled is not None


def is_outdated() -> bool:
    """Whether the core found is not used because it was built from other sources.

    Examples
    --------
    >>> is_outdated() and is_there()
    False
    """
    return _reason == _OUTDATED


def missing() -> str:
    """Return in one line why there is no core and the command to build it; empty if there is a core.

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
    """Warn, once in a process, that portable forms replace the core; no warning if ``none`` was selected.

    Examples
    --------
    >>> warn_if_missing() is None
    True
    """
    if not (is_there() or _warned or os.environ.get(VARIABLE)):
        _warned.append(message := f"nbm_xp has no compiled core and is many times slower: {missing()}")
        warnings.warn_explicit(message, RuntimeWarning, __name__, 1)  # on one line: no line of code is shown
