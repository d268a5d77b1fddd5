"""Write down the names of the installed CuPy and their parameters: ``python -m tests.helpers.standin_cupy.record``.

CuPy can be imported without a device. What is kept, in ``names.json``, is what a stand-in must not exceed: the names of
its modules and of its arrays, the parameters of functions, and between which types its ufuncs are defined. A test holds
the file to CuPy wherever CuPy is installed in the release that the file is of.

An entry is one line of text: ``numpy NAME`` for NumPy's own object, ``value REPR``, ``ufunc TYPES``, a signature in
parentheses, or what kind of thing it is.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import types
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["FILE", "recorded"]

FILE = Path(__file__).with_name("names.json")
MODULES = (
    *("cupy", "cupy.linalg", "cupy.fft", "cupy.random", "cupy.exceptions"),
    *("cupy.cuda", "cupy.cuda.device", "cupy.cuda.runtime"),
)
FOREIGN = frozenset(("annotations", "contextlib", "numpy", "warnings"))  # what a module of CuPy's imports for itself
OWN = "doc name qualname module file spec package path loader cached builtins pyx_vtable class"
SPECIAL = frozenset(OWN.split())  # a module's or a class's own, no part of what it offers


def recorded() -> dict[str, Any]:
    """What the installed CuPy has: its release, and section by section its names."""
    cupy = importlib.import_module("cupy")
    found = {name: _members(importlib.import_module(name)) for name in MODULES}
    array = {name: _method(getattr(cupy.ndarray, name)) for name in dir(cupy.ndarray) if not _private(name)}
    return {"release": cupy.__version__, **found, "ndarray": array}


def _private(name: str) -> bool:
    special = name.startswith("__") and name.endswith("__")
    return name[2:-2] in SPECIAL if special else name.startswith("_")


def _members(module: types.ModuleType) -> dict[str, str]:
    names = sorted(name for name in dir(module) if not name.startswith("_") and name not in FOREIGN)
    return {name: _entry(name, getattr(module, name)) for name in names}


def _entry(name: str, value: Any) -> str:
    """One name of a module."""
    if isinstance(value, types.ModuleType):
        return "module"
    if name in dir(np) and getattr(np, name) is value:
        return f"numpy {name}"
    if isinstance(value, type):
        return f"numpy {value.__name__}" if issubclass(value, np.generic) else "class"
    if isinstance(value, (bool, int, float)):
        return f"value {value!r}"
    if hasattr(value, "nin"):
        return " ".join(["ufunc", *value.types])
    return signature(value) if callable(value) else "object"


def _method(value: Any) -> str:
    return signature(value) if callable(value) else "attribute"


def signature(function: Any) -> str:
    """The parameters of a function; ``callable`` where nothing tells. A default that is no literal is an ellipsis."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return _signature_of_text((getattr(function, "__doc__", None) or "").partition("\n")[0])
    empty = inspect.Parameter.empty
    plain = [p.replace(annotation=empty, default=_default(p.default)) for p in found.parameters.values()]
    return str(inspect.Signature(plain))


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty:
        return value
    try:
        return value if ast.literal_eval(repr(value)) == value else Ellipsis
    except (SyntaxError, ValueError):
        return Ellipsis


def _signature_of_text(line: str) -> str:
    """The parameters that the first line of a documentation names, as Cython writes it there, without C's types."""
    match = re.match(r"[\w.]+(\(.*?\))( ->.*)?$", line)
    if match is None:
        return "callable"
    text = re.sub(r"\b(?:tuple|str|int|bool|bint|Py_ssize_t|_ndarray_base|list) (?=\w)", "", match[1])
    try:
        ast.parse(f"def f{text}: ...")
    except SyntaxError:
        return "callable"
    return text.replace("Ellipsis", "...")


def main() -> None:
    """Write the file, a line for each name."""
    found = recorded()
    sections = [f' "release": {json.dumps(found.pop("release"))}']
    for section, members in found.items():
        rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in members.items())
        sections.append(f" {json.dumps(section)}: {{\n{rows}\n }}")
    FILE.write_text("{\n" + ",\n".join(sections) + "\n}\n")


if __name__ == "__main__":
    main()
