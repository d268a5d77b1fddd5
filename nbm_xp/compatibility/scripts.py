"""``python -m nbm_xp.keras2 script.py``: an old program, unmodified, on a surface.

The program, the modules beside it and its Keras see modules as they were. ``sys.argv``, ``sys.path`` and ``__main__``
are what they are for ``python script.py`` and ``python -m module``.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .importing import attend_folder, builtins_then

__all__ = ["main", "release_of", "why_not"]

NEEDED = {"six": "six", "yaml": "pyyaml"}
"""What Keras imports besides, and what it is called on the package index."""


def release_of(package: str) -> str | None:
    """The release of a package, as it says itself: None where there is no package, and "" where it is silent.

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
    """What keeps a release of Keras from being imported here, or None; its patches are as good."""
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
    """Run a program on a surface.

    Parameters
    ----------
    surface : str
        The surface's module, for what is printed.
    release : str
        The release of Keras that it stands for.
    install : callable
        Puts the surface in the place of Keras's backend.
    arguments : list of str, optional
        A script and its arguments, or ``-m``, a module and its arguments; by default those of the command line.

    Raises
    ------
    SystemExit
        With the reason, if there is no such script, or no such Keras.
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
