"""Other people's functions, handed Tensors. A package that is not installed is a visible skip."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from tests.interop.case import Foreign

__all__ = ["cases"]

_TABLES = {
    "array_api_extra": "extra",
    "einops": "einops_functions",
    "scipy": "scipy_functions",
    "sklearn": "sklearn_functions",
    "xarray": "xarray_functions",
}


def cases(chosen: Callable[[Foreign], bool] = lambda case: True) -> list[Any]:
    """Pytest parameters for the chosen cases of all packages."""
    found: list[Any] = []
    for package, table in _TABLES.items():
        if find_spec(package) is None:
            found.append(pytest.param(None, id=package, marks=pytest.mark.skip(reason=f"{package} is not installed")))
            continue
        module = import_module(f"tests.interop.{table}")
        found += [pytest.param(case, id=str(case)) for case in module.CASES if chosen(case)]
    return found
