"""docs/functions.md, made of the tests' own results: what each function of the tape's namespace can do where.

``pytest --function-table docs/functions.md tests/property/test_tape_values.py tests/property/test_tape_gradients.py``
writes it, and so does ``nox -s docs``. The hooks are those of a pytest plugin; conftest takes them over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.tables.case import Case

__all__ = ["pytest_addoption", "pytest_collection_modifyitems", "pytest_configure", "public_functions"]

VALUE = "test_value_from_variables"
UNKNOWN = "test_declared_shape_and_dtype_with_unknown_lengths"
DIFFERENCES = "test_rule_agrees_with_finite_differences"
GRADIENT = "test_gradient_is_the_same_on_every_library"
ZERO = "test_flat_function_gives_zeros"

HEADINGS = {
    "numpy": "NumPy", "dask": "Dask", "torch": "PyTorch", "jax": "JAX", "cupy": "CuPy",
    "array_api_strict": "array_api_strict",
}  # fmt: skip

PREFACE = """# What works where

Every function of `nbm_xp.tape.namespace`, and what the tests found. This page is generated: `nox -s docs`.

- **Under a library**: the function recorded on Tensors gives NumPy's values there, and the gradient is the same as on
  NumPy, in the first and in the second order where there is one. Dask is tested in several chunkings, without any
  hidden computation.
- **Gradient**: how often the function is differentiated and held to finite differences: 2 means the gradient and the
  gradient of the gradient. 0 means that the function is constant almost everywhere, so that its gradient is zero.
  Nothing is said of functions that make arrays from none.
- **Unknown lengths**: the function can be recorded for inputs whose lengths are known only when the graph runs, and
  declares the shape and dtype that come out.
- ✓ holds for every case in the tests, (✓) for all but some, — for none; numbers refer to the reasons below the tables.
"""


def public_functions() -> set[str]:
    """The names of all functions of the tape's namespace and its extensions."""
    from nbm_xp.tape import namespace

    found = {name for name in namespace.__all__ if callable(getattr(namespace, name)) and not name.startswith("_")}
    found -= {name for name in found if isinstance(getattr(namespace, name), (str, type))}
    for extension in ("linalg", "fft"):
        found |= {f"{extension}.{name}" for name in getattr(namespace, extension).__all__}
    return found


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--function-table", metavar="FILE", help="write what the functions of the tape can do, as Markdown"
    )


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--function-table", None)
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Writer(Path(path)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Note with each test of a case what it is about; the notes travel with its report."""
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        case, library = parameters.get("case"), parameters.get("library")
        if isinstance(case, Case):
            about = [item.originalname, case.function, library.name if library else "", case.order]
            item.user_properties.append(("case", about))


@dataclass
class _Results:
    """How often something held, and why it did not."""

    held: int = 0
    reasons: list[str] = field(default_factory=list)

    def cell(self, numbers: dict[str, int]) -> str:
        """The mark in the table, with the numbers of the reasons."""
        if not self.held and not self.reasons:
            return ""
        notes = sorted({numbers.setdefault(reason, len(numbers) + 1) for reason in self.reasons})
        mark = "✓" if not notes else "(✓)" if self.held else "—"
        return mark + "".join(f"<sup>{note}</sup>" for note in notes)


class _Writer:
    """Collects the reports and writes the page at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results: dict[tuple[str, str], _Results] = defaultdict(_Results)
        self.orders: dict[str, int] = {}
        self.functions: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        about = dict(report.user_properties).get("case")
        if about is None or (report.when != "call" and not report.failed) or report.when == "teardown":
            return
        test, function, library, order = about
        self.functions.add(function)
        for column in self._columns(test, library):
            results = self.results[function, column]
            if report.passed:
                results.held += 1
            elif hasattr(report, "wasxfail"):
                results.reasons.append(report.wasxfail.removeprefix("reason: "))
            elif report.failed:
                results.reasons.append("the test fails")
        if report.passed and test in (DIFFERENCES, ZERO):
            self.orders[function] = max(self.orders.get(function, 0), order if test == DIFFERENCES else 0)

    @staticmethod
    def _columns(test: str, library: str) -> Iterator[str]:
        if test in (VALUE, GRADIENT) or (test == UNKNOWN and library == "numpy"):
            yield library
        if test == UNKNOWN:
            yield "unknown"

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(self.page(), encoding="utf-8")

    def page(self) -> str:
        """The whole page."""
        tested = [name for name in HEADINGS if any(column == name for _, column in self.results)]
        untested = [heading for name, heading in HEADINGS.items() if name not in tested]
        numbers: dict[str, int] = {}
        parts = [PREFACE]
        if untested:
            parts.append(f"Not tested where this page was made: {', '.join(untested)}.\n")
        for title, prefix in (("Functions and indexing", ""), ("linalg", "linalg."), ("fft", "fft.")):
            names = sorted(name for name in self.functions if name.rpartition(".")[0] == prefix.rstrip("."))
            parts.append(f"## {title}\n\n{self._table(names, tested, numbers)}")
        other = sorted(public_functions() - self.functions)
        if other:
            named = ", ".join(f"`{name}`" for name in other)
            parts.append(f"## Without arrays\n\nOf dtypes and shapes, and the same on every library: {named}.\n")
        if numbers:
            notes = "\n".join(f"{number}. {reason}." for reason, number in numbers.items())
            parts.append(f"## Reasons\n\n{notes}\n")
        return "\n".join(parts)

    def _table(self, names: list[str], tested: list[str], numbers: dict[str, int]) -> str:
        heads = ["Function", *(HEADINGS[name] for name in tested), "Gradient", "Unknown lengths"]
        lines = [heads, ["---", *[":-:"] * (len(heads) - 1)]]
        for name in names:
            cells = [self.results[name, library].cell(numbers) for library in tested]
            order = str(self.orders[name]) if name in self.orders else ""
            lines.append([f"`{name}`", *cells, order, self.results[name, "unknown"].cell(numbers) or "—"])
        return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
