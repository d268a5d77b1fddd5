"""Import hooks by which only the modules of one package, or of one program, see old versions of modules.

Python looks up the function behind ``import`` in the builtins of the importing module, and a module may have its own
builtins. The modules of an old package are executed with an ``import`` that returns views; the modules that they
import, `sys.modules` and all other modules are not changed.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import os
import runpy
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from .views import moved, view

Amend: TypeAlias = Callable[[ModuleType, str], None]


def attend(package: str, amend: Amend | None = None) -> None:
    """Give a package and its modules views of old modules, from its import on.

    Parameters
    ----------
    package : str
        Full name of the package.
    amend : callable, optional
        ``amend(module, name)`` changes an executed module; `name` is relative to the package.
    """
    _ATTENDANT.packages[package] = amend or _ATTENDANT.packages.get(package)
    _station()


def attend_folder(folder: str) -> None:
    """Give the modules and packages in a folder views of old modules, from their import on."""
    _ATTENDANT.folders.append(folder)
    _station()


def builtins_then() -> dict[str, Any]:
    """Return the builtins of a module that sees old modules."""
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
    """Finder of the modules of old packages by the usual finders, with another loader."""

    def __init__(self) -> None:
        self.packages: dict[str, Amend | None] = {}
        self.folders: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if "." not in fullname and self._lies_in_folders(fullname):
            self.packages.setdefault(fullname)
        package = next((name for name in self.packages if f"{fullname}.".startswith(f"{name}.")), None)
        if package is None:
            return None
        others = sys.meta_path[sys.meta_path.index(self) + 1 :]
        found = [other.find_spec(fullname, path, target) for other in others if hasattr(other, "find_spec")]
        specs = [spec for spec in found if spec is not None]
        for spec in specs:
            if hasattr(spec.loader, "get_code"):  # except pytest's, which collects everything called test
                spec.loader = _Loader(spec.loader, fullname.removeprefix(package), self.packages[package])
                return spec
        return specs[0] if specs else None

    def _lies_in_folders(self, name: str) -> bool:
        if not self.folders or any(built_in.find_spec(name) for built_in in (BuiltinImporter, FrozenImporter)):
            return False
        return PathFinder.find_spec(name, self.folders) is not None


class _Loader(Loader):
    """Wrapper of a loader, whose modules see old modules."""

    def __init__(self, loader: Any, place: str, amend: Amend | None) -> None:
        self._loader = loader
        self._place = place
        self._amend = amend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        with warnings.catch_warnings():
            for kind in (SyntaxWarning, DeprecationWarning):  # invalid escapes in strings of old programs
                warnings.simplefilter("ignore", kind)
            code = self._loader.get_code(module.__name__)
        if code is None:  # compiled extension modules
            self._loader.exec_module(module)
            return
        vars(module)["__builtins__"] = builtins_then()
        exec(code, vars(module))
        if self._amend is not None:
            self._amend(module, self._place)


_ATTENDANT = _Attendant()


def _station() -> None:
    if _ATTENDANT not in sys.meta_path:
        sys.meta_path.insert(0, _ATTENDANT)


# Further modules that Keras imports, and their names on the package index.
NEEDED = {"six": "six", "yaml": "pyyaml"}


def release_of(package: str) -> str | None:
    """Return the ``__version__`` of a package: None if the package does not exist, "" if it defines none.

    Nothing is imported.
    """
    spec = importlib.util.find_spec(package)
    if spec is None:
        return None
    if not spec.origin or not spec.origin.endswith(".py"):
        return ""
    for statement in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        match statement:
            case ast.Assign(targets=[ast.Name("__version__")], value=ast.Constant(str(release))):
                return release
    return ""


def why_not(release: str) -> str | None:
    """Return the reason why a release of Keras, or another patch release of it, cannot be imported, or None."""
    series = release.rpartition(".")[0]
    found = release_of("keras")
    advice = f"pip install --no-deps keras=={release}"
    if found is None:
        return f"keras is not installed: {advice}"
    if not found.startswith(f"{series}."):
        return f"keras {found or 'of an unknown release'} is installed, not {series}: {advice}"
    missing = [name for module, name in NEEDED.items() if importlib.util.find_spec(module) is None]
    return f"keras {found} needs {' and '.join(missing)}: pip install {' '.join(missing)}" if missing else None


def main(surface: str, release: str, install: Callable[[], None], arguments: Sequence[str] | None = None) -> None:
    """Run a program on one of the backend APIs.

    Parameters
    ----------
    surface : str
        Name of the API's module, for messages.
    release : str
        Release of Keras that the API implements.
    install : callable
        Function that replaces Keras's backend by the API.
    arguments : list of str, optional
        A script and its arguments, or ``-m``, a module and its arguments. Defaults to the command line.

    Raises
    ------
    SystemExit
        If the script or the release of Keras does not exist, with the reason.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    usage = f"usage: python -m {surface} script.py [arguments]\n       python -m {surface} -m module [arguments]"
    if words[:1] in (["-h"], ["--help"]):
        sys.stdout.write(f"{usage}\n\nRun a program written for Keras {release}, unmodified, on {surface}.\n")
        return
    as_module = words[:1] == ["-m"]
    words = words[as_module:]
    if not words or words[0].startswith("-"):
        _refuse(surface, f"{'a module' if as_module else 'a script'} is missing\n{usage}")
    program = words[0]
    if not as_module and not os.path.exists(program):
        _refuse(surface, f"there is no script {program!r}")
    folder = os.getcwd() if as_module else program if os.path.isdir(program) else str(Path(program).resolve().parent)
    sys.path[0] = folder
    if as_module and importlib.util.find_spec(program.partition(".")[0]) is None:
        _refuse(surface, f"there is no module {program!r}")
    reason = why_not(release)
    if reason:
        _refuse(surface, reason)
    install()
    attend_folder(folder)
    sys.argv[:] = words
    then = {"__builtins__": builtins_then()}
    if as_module:
        runpy.run_module(program, then, "__main__", alter_sys=True)
    else:
        runpy.run_path(program, then, "__main__")


def _refuse(surface: str, reason: str) -> None:
    sys.stderr.write(f"{surface}: {reason}\n")
    raise SystemExit(2)
