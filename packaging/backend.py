"""The build backend: scikit-build-core, and a compiler from the package index where the machine has none.

Where neither is to be had, the package is installed without its compiled core (pyproject.toml: overrides).
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
from typing import Any

from scikit_build_core import build as _build


def __getattr__(name: str) -> Any:
    """All hooks that this file does not have are scikit-build-core's."""
    return getattr(_build, name)


def _has_compiler() -> bool:
    """Whether the compiler that CC names, or any that CMake would look for, is there."""
    named = shlex.split(os.environ.get("CC", ""))
    return any(shutil.which(name) for name in (named[:1] or ("cc", "gcc", "clang", "cl")))


def _compilers() -> list[str]:
    return [] if _has_compiler() else ["ziglang"]  # clang, as a wheel


def _take_compiler() -> None:
    if not _has_compiler() and importlib.util.find_spec("ziglang"):
        os.environ["CC"] = f"{sys.executable} -m ziglang cc"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """What scikit-build-core asks for, and a compiler."""
    return [*_build.get_requires_for_build_wheel(config_settings), *_compilers()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """What scikit-build-core asks for, and a compiler."""
    return [*_build.get_requires_for_build_editable(config_settings), *_compilers()]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """A wheel, with the core where there is a compiler."""
    _take_compiler()
    return _build.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """An editable wheel, with the core where there is a compiler."""
    _take_compiler()
    return _build.build_editable(wheel_directory, config_settings, metadata_directory)
