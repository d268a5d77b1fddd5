"""Other people's functions, handed Tensors: a table of calls for each package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

__all__ = ["TABLES", "Foreign", "cases", "foreign"]

TABLES = {
    "array_api_extra": "extra", "einops": "einops_functions", "scipy": "scipy_functions",
    "sklearn": "sklearn_functions", "xarray": "xarray_functions",
}  # fmt: skip
"""The modules of the tables, by the packages that they are of."""

SINCE = {"scipy": "1.17", "sklearn": "1.8"}
"""The first releases of which all functions of the tables take arrays of other libraries."""


def require(package: str, release: str | None = None) -> None:
    """Skip where a package is not installed or too old; one that is there and does not import fails."""
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    import_module(package)
    pytest.importorskip(package, release)


@dataclass(frozen=True)
class Foreign:
    """A call of somebody else's function, written for the standard, on given NumPy arrays.

    Parameters
    ----------
    name
        The function and what tells the case from its others.
    call
        ``call(*arrays)``, which finds the namespace of the arrays by itself, as unregistered libraries do.
    arrays
        NumPy arrays, the arguments.
    smooth
        Whether it is differentiated too.
    refused
        Whether it computes in NumPy, so that it can be handed Tensors but not differentiated.
    rtol
        How close values are.
    """

    name: str
    call: Callable[..., Any]
    arrays: tuple[Any, ...]
    smooth: bool = True
    refused: bool = False
    rtol: float = 1e-10

    def __str__(self) -> str:
        return self.name


def foreign(name: str, call: Callable[..., Any], *arrays: Any, **fields: Any) -> Foreign:
    """A case."""
    return Foreign(name, call, arrays, **fields)


def cases(chosen: Callable[[Foreign], bool] = lambda case: True) -> pytest.MarkDecorator:
    """A test of the chosen cases of all packages. A package that is not installed, or is too old, is a visible skip."""
    found: list[Any] = []
    for package, table in TABLES.items():
        try:
            require(package, SINCE.get(package))
        except pytest.skip.Exception as skipped:
            found.append(pytest.param(None, id=package, marks=pytest.mark.skip(reason=str(skipped))))
            continue
        module = import_module(f"tests.interop.{table}")
        found += [pytest.param(case, id=str(case)) for case in module.CASES if chosen(case)]
    return pytest.mark.parametrize("case", found)
