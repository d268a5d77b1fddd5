"""A stand-in for CuPy where there is no device: a module named cupy over NumPy that refuses what CuPy refuses.

``pytest --standin-cupy -k cupy`` puts it in CuPy's place for one session of tests. What that proves, and what only a
device proves, is told in docs/cuda_without_a_device.md.

It has the names that `names.json` lists, those of the CuPy that they were recorded from, and no other: what the record
has and nothing here models says so (`NotImplementedError`), everything else is an `AttributeError`, as in CuPy.
"""

from __future__ import annotations

import importlib.machinery
import sys
import types
from typing import Any

import numpy as np

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
    from .arrays import ndarray
    from .device import RawKernel, cuda_names, runtime_names
    from .functions import OWN
    from .names import RECORD
    from .ufuncs import ufunc

    modelled: dict[str, dict[str, Any]] = {
        "cupy": {"ndarray": ndarray, "ufunc": ufunc, "RawKernel": RawKernel, "is_available": lambda: True, **OWN},
        "cupy.cuda": cuda_names(),
        "cupy.cuda.device": cuda_names(),
        "cupy.cuda.runtime": runtime_names(),
        "cupy.exceptions": {name: getattr(np.exceptions, name, None) for name in RECORD["cupy.exceptions"]},
    }
    modules = {name: _module(name) for name in RECORD if name.startswith("cupy")}
    sys.modules.update(modules)
    sys.modules["cupyx"] = sys.modules["cupy_backends"] = None  # type: ignore[assignment]
    for name, module in modules.items():
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(modules[parent], last, module)
        for member, entry in RECORD[name].items():
            if f"{name}.{member}" not in modules:
                vars(module)[member] = _member(name, member, entry, modelled.get(name, {}))
    modules["cupy"].__version__ = RECORD["release"]  # type: ignore[attr-defined]
    modules["cupy"].__standin__ = True  # type: ignore[attr-defined]


def _module(name: str) -> types.ModuleType:
    module = types.ModuleType(name, "A stand-in, see tests/helpers/standin_cupy.")
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    module.__path__ = []
    return module


def _member(module: str, name: str, entry: str, own: dict[str, Any]) -> Any:
    """One name of a module, by what the record says that it is."""
    from .functions import delegated, linalg_function
    from .names import loops
    from .ufuncs import ufunc

    if name in own:
        return own[name]
    kind, _, rest = entry.partition(" ")
    place = {"cupy.linalg": np.linalg, "cupy.fft": np.fft, "cupy": np}.get(module)
    if kind == "numpy":
        return getattr(np, rest)
    if kind == "value":
        return float(rest) if rest in ("inf", "nan", "-inf") else eval(rest)
    if kind == "ufunc":
        return ufunc(name, loops(entry), getattr(np, name, None) or _unmodelled(f"{module}.{name}"))
    if entry.startswith("(") or kind == "callable":
        make = linalg_function if module == "cupy.linalg" else delegated
        return make(name, entry, getattr(place, name, None) if place else None)
    if isinstance(found := getattr(place, name, None), type) and kind == "class":
        return found
    return _unmodelled(f"{module}.{name}")


def _unmodelled(name: str) -> Any:
    """A thing of CuPy's that is there, and that nothing can be done with."""

    class Unmodelled:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            raise NotImplementedError(f"not modelled: {name}")

    Unmodelled.__name__ = Unmodelled.__qualname__ = name.rpartition(".")[2]
    return Unmodelled
