"""The tables in docs/howto/ of what differentiates, made of the cases that the tests here hold to it.

``python -m tests.interop.table`` writes them anew; a test says when that is due.
"""

from __future__ import annotations

import os
from importlib import import_module

from tests.helpers.pages import ROOT
from tests.interop.case import Foreign

__all__ = ["PAGES", "table", "with_table"]

PAGES = {
    "docs/howto/scipy_gradients.md": "scipy_functions",
    "docs/howto/scikit_learn.md": "sklearn_functions",
    "docs/howto/xarray.md": "xarray_functions",
}
BEGIN, END = "<!-- table: what differentiates -->", "<!-- end of the table -->"


def table(cases: list[Foreign]) -> str:
    """Each function once, under what its cases have shown."""
    groups: dict[str, list[str]] = {
        "Value and gradient": [],
        "Value; no gradient is tested (integers, labels, repeated steps)": [],
        "Value; computed in NumPy, so that `grad` raises an error": [],
        "An error: uses what only NumPy's arrays have": [],
    }
    value_and_gradient, flat, refused, missing = groups.values()
    for case in cases:
        name = f"`{case.name.partition('-')[0]}`"
        group = missing if case.raises else refused if case.refused else value_and_gradient if case.smooth else flat
        if name not in group:
            group.append(name)
    rows = [f"| {title} | {', '.join(sorted(names))} |" for title, names in groups.items() if names]
    return "\n".join(["| What Tensors get | Of |", "| --- | --- |", *rows])


def with_table(text: str, module: str) -> str:
    """A page's text with its table as the cases have it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    cases = import_module(f"tests.interop.{module}").CASES
    return f"{before}{BEGIN}\n\n{table(cases)}\n\n{END}{after}"


if __name__ == "__main__":
    os.environ["SCIPY_ARRAY_API"] = "1"
    for name, module in PAGES.items():
        path = ROOT / name
        path.write_text(with_table(path.read_text(encoding="utf-8"), module), encoding="utf-8")
