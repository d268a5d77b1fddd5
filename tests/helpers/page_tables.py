"""The tables in docs/ of what works where, made of the cases of the tests: ``python -m tests.helpers.page_tables``.

A case that is known not to work somewhere must fail there, and every other one must pass, whatever is installed where
this runs. So a table is right as long as it is what is made here, and a test compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module

from tests.golden.known import KNOWN as OF_RECORDS
from tests.helpers.known import reason_of
from tests.helpers.pages import ROOT
from tests.helpers.tables import CASES
from tests.helpers.tables.known import KNOWN
from tests.helpers.unregistered import UNREGISTERED

__all__ = ["TABLES", "with_table"]

BEGIN, END = "<!-- table -->", "<!-- end of the table -->"
LIBRARIES = {
    "numpy": "NumPy", "dask": "Dask", "torch": "PyTorch", "jax": "JAX", "array_api_strict": "array_api_strict",
}  # fmt: skip


class Notes(dict[str, int]):
    """Reasons, numbered in the order in which they come."""

    def mark(self, reasons: Iterable[str | None]) -> str:
        """What stands for some cases, of which each has a reason to fail or none."""
        found = list(reasons)
        why = sorted({self.setdefault(reason, len(self) + 1) for reason in found if reason})
        held = "✓" if not why else "(✓)" if None in found else "—"
        return (held if found else "") + "".join(f"<sup>{note}</sup>" for note in why)

    def below(self, heads: Iterable[str], rows: Iterable[list[str]]) -> str:
        """A table of functions, with the reasons below."""
        heads = list(heads)
        lines = [["Function", *heads], ["---", *[":-:"] * len(heads)], *rows]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        return "\n".join([table, *(f"{number}. {reason}." for reason, number in self.items())])


def of_the_tape() -> str:
    """Each function of the standard: where it works, how often it is differentiated, and with unknown lengths."""
    from tests.property.test_tape_gradients import FLAT, SMOOTH

    notes, rows = Notes(), []
    for name in sorted({case.function for case in CASES}, key=lambda name: (name.rpartition(".")[0], name)):
        cases = [case for case in CASES if case.function == name]
        flat = name in FLAT and any(array.dtype == "float64" for case in cases for array in case.arrays)
        orders = [case.order for case in SMOOTH if case.function == name] + [0] * flat
        unknown = "✓" if any(case.unknown for case in cases) else "—"
        marks = [notes.mark(reason_of(KNOWN, library, str(case)) for case in cases) for library in LIBRARIES]
        rows.append([f"`{name}`", *marks, str(max(orders, default="")), unknown])
    return notes.below([*LIBRARIES.values(), "Gradient", "Unknown lengths"], rows)


def of_every_library() -> str:
    """Each documented function of arrays: on libraries with an entry all recorded cases, on others the first call."""
    from tests.golden.test_surfaces import CASES as RECORDED
    from tests.property.test_unregistered import FEW, is_long
    from tests.property.test_unregistered import KNOWN as OF_UNREGISTERED

    notes, rows, ways = Notes(), [], ("as_recorded", "of_arrays")
    for call in sorted(FEW, key=lambda call: call.name):
        records = [case for case in RECORDED if case.function == call.name and case.system != "neon"]
        marks = [
            notes.mark(reason_of(OF_RECORDS, name, way, case.id) for case in records for way in ways)
            for name in LIBRARIES
        ]
        for each in UNREGISTERED:
            tests = () if is_long(call, each.name) else ("test_of_arrays", "test_of_variables_and_their_gradients")
            marks.append(notes.mark(reason_of(OF_UNREGISTERED, each.name, f"{test}-{call}") for test in tests))
        rows.append([f"`{call.name}`", *marks])
    unregistered_libraries = [each.id.replace("strict-unlisted", "strict without entry") for each in UNREGISTERED]
    return notes.below([*LIBRARIES.values(), *unregistered_libraries], rows)


def of_a_package(module: str) -> str:
    """What Tensors get from the functions of a package, each under what its cases show."""
    groups: dict[str, set[str]] = {
        "Value and gradient": set(),
        "Value; no gradient is tested (integers, labels, repeated steps)": set(),
        "Value; computed in NumPy, so that `grad` raises an error": set(),
    }
    value_and_gradient, flat, refused = groups.values()
    for case in import_module(f"tests.interop.{module}").CASES:
        group = refused if case.refused else value_and_gradient if case.smooth else flat
        group.add(f"`{case.name.partition('-')[0]}`")
    rows = [f"| {title} | {', '.join(sorted(names))} |" for title, names in groups.items() if names]
    return "\n".join(["| What Tensors get | Of |", "| --- | --- |", *rows])


TABLES: dict[str, Callable[[], str]] = {
    "docs/functions.md": of_the_tape,
    "docs/every_library.md": of_every_library,
    "docs/howto/scipy_gradients.md": partial(of_a_package, "scipy_functions"),
    "docs/howto/scikit_learn.md": partial(of_a_package, "sklearn_functions"),
    "docs/howto/xarray.md": partial(of_a_package, "xarray_functions"),
}
"""What makes the table of a page."""


def with_table(page: str, text: str) -> str:
    """A page's text with its table as the cases have it."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{TABLES[page]()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    for page in TABLES:
        path = ROOT / page
        path.write_text(with_table(page, path.read_text(encoding="utf-8")), encoding="utf-8")
