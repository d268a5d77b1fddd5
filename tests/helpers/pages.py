"""The code that pages show, and what is done with it.

A page is a file of Markdown. Its fenced blocks are told apart by the language after the fence and run in their order,
in one namespace and one folder. An ``expression  # → value`` must give that value, as Python prints it. A block that
cannot run where the tests run says so to its readers, in its first line: ``# not run in the tests:`` and why.
A block of text right below commands is what they say; ``…`` in it stands for anything.
"""

from __future__ import annotations

import ast
import itertools
import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["LANGUAGES", "PAGES", "ROOT", "Block", "Page"]

ROOT = Path(__file__).parents[2]
LANGUAGES = {"python", "sh", "text"}  # a block of another is code that no test would look at
NOT_RUN = "# not run in the tests: "
SHOWN = "  # → "
FENCE = re.compile(r"^( *)```(\S*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and how many lines of the page stand before it."""

    language: str
    text: str
    before: int

    @property
    def not_run(self) -> str:
        """Why it is not run; empty where it is."""
        first, _, _ = self.text.partition("\n")
        return first.removeprefix(NOT_RUN) if first.startswith(NOT_RUN) else ""

    def says_what(self, commands: Block) -> bool:
        """Whether it is text right below commands: a line ends their block, one is empty, one begins this block."""
        return self.language == "text" and self.before == commands.before + commands.text.count("\n") + 3

    @property
    def commands(self) -> Iterator[list[str]]:
        """Of a block of shell, the words of each command, without comments and what is set for it alone."""
        for line in self.text.replace("\\\n", " ").splitlines():
            for joint, words in itertools.groupby(shlex.split(line, comments=True), "&&".__eq__):
                command = list(itertools.dropwhile(re.compile(r"[A-Z_]+=").match, words))
                if command and not joint:
                    yield command


@dataclass(frozen=True)
class Page:
    """A page, and its blocks of code: all but what is for Sphinx."""

    path: Path
    text: str = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> Page:
        return cls(path, path.read_text(encoding="utf-8"))

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def blocks(self) -> list[Block]:
        found = [
            Block(match[2], textwrap.dedent(match[3]), self.text.count("\n", 0, match.start(3)))
            for match in FENCE.finditer(self.text)
        ]
        return [block for block in found if not block.language.startswith("{")]

    def parsed(self, block: Block) -> ast.Module:
        """A block of Python, with the page's own line numbers."""
        return ast.parse("\n" * block.before + block.text, str(self.path))

    @property
    def packages(self) -> set[str]:
        """The packages that its blocks import."""
        python = [block for block in self.blocks if block.language == "python" and not block.not_run]
        nodes = [node for block in python for node in ast.walk(self.parsed(block))]
        found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        found |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
        found |= {"distributed" for name in found if name.startswith("dask.distributed")}
        return {name.partition(".")[0] for name in found}

    def run(self, *, commands: bool = True) -> None:
        """Run the blocks in the current folder, the commands nbm-xp in them if asked to."""
        names: dict[str, Any] = {"print": lambda *texts: None}
        for block, after in itertools.zip_longest(self.blocks, self.blocks[1:]):
            if block.not_run:
                continue
            if block.language == "python":
                self.run_python(self.parsed(block), names)
            elif block.language == "sh" and commands:
                said = "".join(map(run_command, block.commands))
                if after is not None and after.says_what(block):
                    expected = ".*".join(map(re.escape, after.text.split("…")))
                    assert re.fullmatch(expected, said), f"{self.name}, line {block.before + 1}: {said}"

    def run_python(self, tree: ast.Module, names: dict[str, Any]) -> None:
        """Run statement by statement, and hold expressions to the values beside them."""
        lines = self.text.splitlines()
        for statement in tree.body:
            last = statement.end_lineno or 0
            assert not any(SHOWN in line for line in lines[statement.lineno - 1 : last - 1]), "one value, at the end"
            code, mark, value = lines[last - 1].partition(SHOWN)
            if not mark:
                exec(compile(ast.Module([statement], []), str(self.path), "exec"), names)
                continue
            assert isinstance(statement, ast.Expr), f"{code}: a value can stand beside an expression alone"
            got = eval(compile(ast.Expression(statement.value), str(self.path), "eval"), names)
            assert repr(got) == value, f"{self.name}, line {last}: {code.strip()}"


def run_command(command: list[str]) -> str:
    """Run nbm-xp, and return what it says. Other commands set up what the tests run in."""
    if command[0] == "nbm-xp":
        from tests.helpers.command import run  # which needs typer

        ended = run(*command[1:])
        assert ended.exit_code == 0, f"{shlex.join(command)}: {ended.output}"
        return str(ended.stdout)
    return ""


PAGES = [
    Page.read(path)
    for path in [
        *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    ]
    if "_build" not in path.parts
]
