"""Only the modules of one package, or of one program, see modules as they were.

Python looks the function behind ``import`` up in the builtins of the module that imports, and a module may have
builtins of its own. So those of an old package are executed with an ``import`` that gives them views; the modules that
they import, `sys.modules` and everyone else stay as they are.
"""

from __future__ import annotations

import builtins
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from .amendments import amend
from .views import moved, view

__all__ = ["attend", "attend_folder", "builtins_then"]


def attend(package: str) -> None:
    """Have a package, and what is in it, see modules as they were from its import on.

    Parameters
    ----------
    package : str
        Its full name.
    """
    _ATTENDANT.packages.add(package)
    _station()


def attend_folder(folder: str) -> None:
    """Have the modules and packages that lie in a folder see modules as they were from their import on."""
    _ATTENDANT.folders.append(folder)
    _station()


def builtins_then() -> dict[str, Any]:
    """The builtins of a module that sees modules as they were."""
    return {**vars(builtins), "__import__": _import}


def _import(
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    try:
        return view(builtins.__import__(name, globals, locals, fromlist or (), level))
    except ModuleNotFoundError as error:
        found = None if level or error.name != name else moved(name)
        if found is None:
            raise
        return found if fromlist else view(sys.modules[name.partition(".")[0]])


class _Attendant(MetaPathFinder):
    """Finds the modules of old packages as they are found anyway, and has them executed otherwise."""

    def __init__(self) -> None:
        self.packages: set[str] = set()
        self.folders: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if "." not in fullname and self._lies_in_folders(fullname):
            self.packages.add(fullname)
        package = next((name for name in self.packages if f"{fullname}.".startswith(f"{name}.")), None)
        if package is None:
            return None
        others = sys.meta_path[sys.meta_path.index(self) + 1 :]
        found = [other.find_spec(fullname, path, target) for other in others if hasattr(other, "find_spec")]
        specs = [spec for spec in found if spec is not None]
        for spec in specs:
            if hasattr(spec.loader, "get_code"):  # not so pytest's, which takes what is called test for a test
                spec.loader = _Loader(spec.loader, fullname.removeprefix(package))
                return spec
        return specs[0] if specs else None

    def _lies_in_folders(self, name: str) -> bool:
        if not self.folders or any(built_in.find_spec(name) for built_in in (BuiltinImporter, FrozenImporter)):
            return False
        return PathFinder.find_spec(name, self.folders) is not None


class _Loader(Loader):
    """Another loader, whose modules see modules as they were."""

    def __init__(self, loader: Any, place: str) -> None:
        self._loader = loader
        self._place = place

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        with warnings.catch_warnings():
            for kind in (SyntaxWarning, DeprecationWarning):  # of escapes in strings, which nobody will mend any more
                warnings.simplefilter("ignore", kind)
            code = self._loader.get_code(module.__name__)
        if code is None:  # compiled, and not from Python
            self._loader.exec_module(module)
            return
        vars(module)["__builtins__"] = builtins_then()
        exec(code, vars(module))
        amend(module, self._place)


_ATTENDANT = _Attendant()


def _station() -> None:
    if _ATTENDANT not in sys.meta_path:
        sys.meta_path.insert(0, _ATTENDANT)
