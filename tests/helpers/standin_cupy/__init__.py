"""A stand-in for CuPy where there is no device: a module named cupy over NumPy that rejects what CuPy rejects.

``pytest --standin-cupy -k cupy`` puts it in CuPy's place for one session of tests. What that proves, and what only a
device proves, is told in docs/cuda_without_a_device.md.

It has the names that `names.json` lists, those of the CuPy that they were recorded from, and no other: what the record
has and NumPy has not says so (`NotImplementedError`), everything else is an `AttributeError`, as in CuPy.
"""

from __future__ import annotations

import importlib.machinery
import sys
import types
from typing import Any

import numpy as np

from . import arrays, device

__all__ = ["install", "installed"]


def installed() -> bool:
    """Whether the module named cupy is this one."""
    return getattr(sys.modules.get("cupy"), "__standin__", False)


def install() -> None:
    """Put the stand-in in CuPy's place, also where a plugin of pytest's has imported the installed one."""
    if installed():
        return
    if "array_api_compat.cupy" in sys.modules:
        raise RuntimeError("CuPy is in use: its stand-in comes too late")
    for name in [name for name in sys.modules if name.partition(".")[0] in ("cupy", "cupyx", "cupy_backends")]:
        del sys.modules[name]
    own: dict[str, dict[str, Any]] = {
        "cupy": {"RawKernel": device.RawKernel, "is_available": lambda: True, **arrays.FUNCTIONS},
        "cupy.cuda": device.CUDA, "cupy.cuda.device": device.CUDA, "cupy.cuda.runtime": device.RUNTIME,
    }  # fmt: skip
    modules = {name: _module(name) for name in arrays.RECORD if name.startswith("cupy")}
    sys.modules.update(modules)
    sys.modules["cupyx"] = sys.modules["cupy_backends"] = None  # type: ignore[assignment]
    for name, module in modules.items():
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(modules[parent], last, module)
        for member, entry in arrays.RECORD[name].items():
            if f"{name}.{member}" not in modules:
                given = own.get(name, {})
                vars(module)[member] = given[member] if member in given else _member(name, member, entry)
    modules["cupy"].__version__ = arrays.RECORD["release"]  # type: ignore[attr-defined]
    modules["cupy"].__standin__ = True  # type: ignore[attr-defined]


def _module(name: str) -> types.ModuleType:
    module = types.ModuleType(name, "A stand-in, see tests/helpers/standin_cupy.")
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    module.__path__ = []
    return module


def _member(module: str, name: str, entry: str) -> Any:
    """One name of a module, by what the record says that it is: NumPy's of that name, if there is one."""
    places = {"cupy": np, "cupy.linalg": np.linalg, "cupy.fft": np.fft, "cupy.exceptions": np.exceptions}
    found = getattr(places.get(module), name, None)
    kind, _, rest = entry.partition(" ")
    if kind == "numpy":
        return getattr(np, rest)
    if kind == "value":
        return float(rest) if rest in ("inf", "nan", "-inf") else eval(rest)
    if kind == "ufunc" and isinstance(found, np.ufunc):
        return arrays.ufunc(found)
    if entry.startswith("(") or kind in ("callable", "ufunc"):
        return arrays.function(name, entry, found)
    if kind == "class" and isinstance(found, type):
        return found
    return type(name, (), {"__init__": arrays.function(name, "callable", None)})
