"""The compiled core: loops over NumPy's memory, in C, for what the processor has.

Contract: it is never the only way. Where the package was installed without a compiler there are
no functions here, and the portable forms serve, with the same bits. Each function is there once for every level of
vector instructions, and the best that the machine has is taken when the package is loaded; each level gives the same
bits. What happens to one element stands in ``elements/*.h``, which the CUDA kernels in ``devices/*.cuh`` read too.

The environment variable ``NBM_XP_LEVEL`` picks another level: one of `levels`, or ``none`` for the portable forms.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pathlib
import posixpath
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

__all__ = [
    "MEND", "ROOM", "VARIABLE", "functions", "is_current", "is_there", "level", "levels", "room", "text",
    "using_level", "whole_text",
]  # fmt: skip

MEND: Final = "pip install --force-reinstall --no-deps . in the clone, with a C compiler and Python's headers there"
"""How a core comes to be where there is none, or an old one."""


def _loaded() -> Any:
    """The compiled module, if it is there and for this machine."""
    try:
        return importlib.import_module(f"{__name__}.compiled")
    except ModuleNotFoundError:  # installed without a compiler
        return None
    except ImportError as error:
        warnings.warn(
            f"nbm_xp's compiled core cannot be loaded, and everything works without it, more slowly: {error}. Install "
            "the package anew on this machine",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


compiled: Final = _loaded()

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

_FOLDER: Final = pathlib.Path(__file__).parent
_in_use = [NONE]


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
    """Whether the package was installed with a core, and it can be loaded.

    Examples
    --------
    >>> is_there() or level() == "none"
    True
    """
    return compiled is not None


def is_current() -> bool:
    """Whether there is a core, and it was built of the text that lies beside this file.

    Examples
    --------
    >>> is_current() == is_there()
    True
    """
    if compiled is None:
        return False
    sources = sorted(path for path in _FOLDER.rglob("*") if path.suffix in (".c", ".h"))
    digests = "".join(hashlib.sha256(path.read_bytes()).hexdigest() for path in sources)
    return bool(hashlib.sha256(digests.encode()).hexdigest() == compiled.source)
