"""Pages in docs/ made of the tests' own results: what each function can do on which library.

``pytest --function-table docs/functions.md FILES…`` writes a page after the tests in FILES; ``nox -s tables`` writes
all. The file's name says which page it is. What a page says is in `function_pages`, how it comes about is here.
The hooks are those of a pytest plugin; conftest takes them over.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from tests.helpers.function_pages import PAGES, Finding, Page

__all__ = ["note_findings", "pytest_addoption", "pytest_configure"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--function-table",
        metavar="FILE",
        action="append",
        default=[],
        help=f"write what functions can do on which library, as Markdown: {' or '.join(PAGES)}, in any folder",
    )
    parser.addoption(
        "--everywhere",
        action="store_true",
        help="run every chunking of Dask's, and the recorded cases on every library, not on NumPy alone; takes an hour",
    )
    parser.addoption(
        "--standin-cupy",
        action="store_true",
        help="run the tests of CuPy on a stand-in for it over NumPy; with -k cupy: see docs/cuda_without_a_device.md",
    )


def pytest_configure(config: pytest.Config) -> None:
    for path in map(Path, config.getoption("--function-table", [])):
        if path.name not in PAGES:
            raise pytest.UsageError(f"--function-table writes {' or '.join(PAGES)}, got {path.name}")
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Writer(path, PAGES[path.name]))


def note_findings(items: list[pytest.Item]) -> None:
    """Note with each test what it finds out, for which page; the notes travel with its report."""
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        library = parameters.get("library", parameters.get("stranger"))
        # Of cases that are tested together, the one that tells most tells what the others do.
        case = max(
            parameters.get("cases", ()), key=lambda one: getattr(one, "order", 0), default=parameters.get("case")
        )
        case = max(parameters.get("records", ()), key=lambda record: record.kind == "gradient", default=case)
        for name, page in PAGES.items():
            finding = page.finding(getattr(item, "originalname", ""), case, library)
            if finding:
                item.user_properties.append((name, asdict(finding)))


@dataclass
class Results:
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


class Writer:
    """Collects the reports and writes a page at the end."""

    def __init__(self, path: Path, page: Page) -> None:
        self.path = path
        self.page = page
        self.results: dict[tuple[str, str], Results] = defaultdict(Results)
        self.orders: dict[str, int] = {}
        self.functions: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        about = dict(report.user_properties).get(self.path.name)
        if about is None or (report.when != "call" and not report.failed) or report.when == "teardown":
            return
        finding = Finding(**about)
        self.functions.add(finding.function)
        for column in finding.columns:
            results = self.results[finding.function, column]
            results.reasons += dict(report.user_properties).get("known", [])
            if report.passed:
                results.held += 1
            elif hasattr(report, "wasxfail"):
                results.reasons.append(report.wasxfail.removeprefix("reason: "))
            elif report.failed:
                results.reasons.append("the test fails")
        if report.passed and finding.order is not None:
            self.orders[finding.function] = max(self.orders.get(finding.function, 0), finding.order)

    def pytest_sessionfinish(self) -> None:
        self.path.write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """The whole page."""
        headings = self.page.headings
        tested = [name for name in headings if any(column == name for _, column in self.results)]
        untested = [heading for name, heading in headings.items() if name not in tested]
        numbers: dict[str, int] = {}
        parts = [self.page.preface]
        if untested:
            parts.append(f"Not tested where this page was made: {', '.join(untested)}.\n")
        for title, remark, names in self.page.sections(self.functions):
            parts += [f"## {title}\n", *([f"{remark}\n"] if remark else []), self._table(names, tested, numbers)]
        other = sorted(self.page.surface() - self.functions)
        if other:
            named = ", ".join(f"`{name}`" for name in other)
            parts.append(f"## {self.page.others}: {named}.\n")
        if numbers:
            notes = "\n".join(f"{number}. {reason}." for reason, number in numbers.items())
            parts.append(f"## Reasons\n\n{notes}\n")
        return "\n".join(parts)

    def _table(self, names: list[str], tested: list[str], numbers: dict[str, int]) -> str:
        heads = ["Function", *(self.page.headings[name] for name in tested), *self.page.further]
        lines = [heads, ["---", *[":-:"] * (len(heads) - 1)]]
        for name in names:
            cells = [self.results[name, library].cell(numbers) for library in tested]
            order = str(self.orders[name]) if name in self.orders else self.results[name, "gradient"].cell(numbers)
            unknown = self.results[name, "unknown"].cell(numbers) or self.page.nothing
            lines.append([f"`{name}`", *cells, *([order, unknown] if self.page.further else [])])
        return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
