"""Modules as they were: views of today's, with the names and meanings of then in their places.

A view answers from the module itself whatever is not listed here, at the time it is asked. The table is all that old
programs are given; the pages of the surfaces list it for people.
"""

from __future__ import annotations

import collections.abc
import importlib
import inspect
import math
import sys
import time
from collections import namedtuple
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from . import files_then, numpy_then

__all__ = ["THEN", "View", "moved", "view"]


class View(ModuleType):
    """A module with other names before its own."""

    def __init__(self, module: ModuleType, names: dict[str, Any]) -> None:
        super().__init__(module.__name__, module.__doc__)
        own = vars(self)
        for name in ("__loader__", "__package__", "__spec__"):
            del own[name]  # the module's are right
        own.update(names, _now=module)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._now, name, _NOTHING)
        if found is _NOTHING:
            found = moved(f"{self.__name__}.{name}")
            if found is None:
                return getattr(self._now, name)  # for what it says
        return view(found) if isinstance(found, ModuleType) else found

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._now, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(self._now)} - {"_now"})


_NOTHING = object()


def view(module: ModuleType) -> ModuleType:
    """What old programs see of a module: itself, or a view where it, or a module within, has changed."""
    name = module.__name__
    if isinstance(module, View) or name not in _VIEWED or sys.modules.get(name) is not module:
        return module
    return _view(module)


@cache
def _view(module: ModuleType) -> View:
    names = THEN.get(module.__name__)
    return View(module, {} if names is None else names(module))


def moved(name: str) -> ModuleType | None:
    """The module that took the place of one that is gone."""
    return importlib.import_module(MOVED[name]) if name in MOVED else None


def _collections(_: ModuleType) -> dict[str, Any]:
    return {name: getattr(collections.abc, name) for name in collections.abc.__all__}


ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    """The names and defaults of a function's arguments, as Python 3.10 last gave them.

    Raises
    ------
    ValueError
        If it has keyword-only arguments, of which this says nothing.
    """
    full = inspect.getfullargspec(func)
    if full.kwonlyargs:
        raise ValueError(f"getargspec knows no keyword-only arguments, which {func!r} has")
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def _inspect(module: ModuleType) -> dict[str, Any]:
    return {} if hasattr(module, "getargspec") else {"getargspec": getargspec, "ArgSpec": ArgSpec}


def _random(module: ModuleType) -> dict[str, Any]:
    def randint(a: Any, b: Any) -> int:
        """An integer from `a` to `b`, which may be floats with whole values, until Python 3.12."""
        whole: int = module.randint(_whole(a), _whole(b))
        return whole

    return {"randint": randint}


def _whole(number: Any) -> Any:
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _re(module: ModuleType) -> dict[str, Any]:
    def split(pattern: Any, string: Any, maxsplit: int = 0, flags: int = 0) -> list[Any]:
        """The parts of a string between matches; until Python 3.7 those of nothing did not count."""
        parts, begin, count = [], 0, 0
        for match in module.finditer(pattern, string, flags):
            if match.end() > match.start() and (not maxsplit or count < maxsplit):
                parts += [string[begin : match.start()], *match.groups()]
                begin, count = match.end(), count + 1
        return [*parts, string[begin:]]

    return {"split": split}


def _yaml(module: ModuleType) -> dict[str, Any]:
    def load(stream: Any, Loader: Any = module.FullLoader) -> Any:
        """Read a document; without a Loader, with one that knows Python's tuples and runs nothing."""
        return module.load(stream, Loader)

    class Dumper(module.Dumper):  # type: ignore[misc, name-defined]
        """Writes numbers of NumPy as numbers, which every loader reads."""

    def dump(data: Any, stream: Any = None, Dumper: Any = Dumper, **options: Any) -> Any:
        return module.dump(data, stream, Dumper, **options)

    for kind in (np.generic, np.ndarray):
        Dumper.add_multi_representer(kind, lambda dumper, value: dumper.represent_data(value.tolist()))
    return {"dump": dump, "load": load}


def _ndimage(module: ModuleType) -> dict[str, Any]:
    rooms = ("filters", "fourier", "interpolation", "measurements", "morphology")
    return dict.fromkeys(rooms, module)  # whose functions they all share today


THEN: dict[str, Callable[[ModuleType], dict[str, Any]]] = {
    "collections": _collections,
    "fractions": lambda module: {} if hasattr(module, "gcd") else {"gcd": math.gcd},
    "h5py": files_then.names,
    "inspect": _inspect,
    "numpy": numpy_then.names,
    "random": _random,
    "re": _re,
    "scipy.ndimage": _ndimage,
    "time": lambda module: {} if hasattr(module, "clock") else {"clock": time.process_time},
    "yaml": _yaml,
}
"""What is in the place of a module's own names, made of the module when it is first imported."""

MOVED = {
    "sklearn.cross_validation": "sklearn.model_selection",
    "sklearn.grid_search": "sklearn.model_selection",
}
"""Modules that are gone, and where what they held is today."""

_VIEWED = {
    ".".join(steps[:length]) for name in (*THEN, *MOVED) for steps in [name.split(".")] for length in range(1, 3)
}
