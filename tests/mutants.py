"""Mutants: the package with one small fault, run against the tests of what the fault touches. `nox -s mutants`.

Faults are made on the syntax tree (an operator, a comparison, a constant, an axis, a sign, a data type, a statement
dropped), evenly over the package by a seed, one at a time in a copy of the package. A mutant is killed if a test fails.
The share killed is what the suite is worth: it is measured before and after tests are taken away.
"""

from __future__ import annotations

import argparse
import ast
import collections
import dataclasses
import functools
import itertools
import json
import math
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

__all__ = ["Mutant", "applied", "main", "mutants_of", "sampled", "relevant_tests"]

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY: dict[type[ast.AST], ast.operator | ast.cmpop | ast.boolop] = {
    ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.Mult: ast.Div(), ast.Div: ast.Mult(), ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.FloorDiv(), ast.Pow: ast.Mult(), ast.MatMult: ast.Mult(), ast.BitAnd: ast.BitOr(),
    ast.BitOr: ast.BitAnd(), ast.LShift: ast.RShift(), ast.RShift: ast.LShift(), ast.And: ast.Or(), ast.Or: ast.And(),
    ast.Lt: ast.LtE(), ast.LtE: ast.Lt(), ast.Gt: ast.GtE(), ast.GtE: ast.Gt(), ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(), ast.Is: ast.IsNot(), ast.IsNot: ast.Is(), ast.In: ast.NotIn(), ast.NotIn: ast.In(),
}  # fmt: skip
DTYPES = {"float32": "float64", "float64": "float32", "int32": "int64", "int64": "int32", "uint8": "int16"}
FILES, SECONDS = 6, 40  # of tests for a mutant, of a processor


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A fault: in a file, from one byte to another, a text in place of what stands there."""

    file: str
    line: int
    kind: str
    before: str
    after: str
    start: int
    end: int
    names: tuple[str, ...]  # of functions and classes around it, the innermost last


def _swapped(node: ast.AST) -> tuple[str, ast.AST | None]:
    """The kind of fault that a node can have, and what stands in its place then."""
    match node:
        case ast.BinOp(left, operator, right):
            return "operator", ast.BinOp(left, BINARY[type(operator)], right) if type(operator) in BINARY else None
        case ast.BoolOp(operator, values):
            return "operator", ast.BoolOp(BINARY[type(operator)], values)
        case ast.Compare(left, [operator], right):
            return "comparison", ast.Compare(left, [BINARY[type(operator)]], right)
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            return "sign", operand
        case ast.keyword("axis", ast.Constant(int(axis))):
            return "axis", ast.keyword("axis", ast.Constant(0 if axis else 1))
        case ast.Constant(bool(value)):
            return "constant", ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            return "constant", ast.Constant(value + 1)
        case ast.Constant(str(value)) if value in DTYPES:
            return "data type", ast.Constant(DTYPES[value])
        case ast.Attribute(owner, name, context) if name in DTYPES:
            return "data type", ast.Attribute(owner, DTYPES[name], context)
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Raise():
            return "dropped", ast.Pass()
    return "", None


def _nodes(node: ast.AST, names: tuple[str, ...] = ()) -> Iterator[tuple[ast.AST, tuple[str, ...]]]:
    """Nodes that are run, with the names around them; not annotations, nor what only type checkers read."""
    yield node, names
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
        return
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        names = (*names, node.name)
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "type_params"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _nodes(child, names)


def mutants_of(text: str, file: str) -> list[Mutant]:
    """All faults that a file's source can have, in the order of their places."""
    lines = [0, *(match.end() for match in re.finditer(b"\n", text.encode()))]
    found = []
    for node, names in _nodes(ast.parse(text)):
        kind, swapped = _swapped(node)
        if swapped is not None:
            start, end = (lines[line - 1] + column for line, column in _place(node))
            before, after = text.encode()[start:end].decode(), ast.unparse(swapped)
            after = f"({after})" if isinstance(swapped, ast.expr) else after
            found.append(Mutant(file, _place(node)[0][0], kind, before, after, start, end, names))
    return sorted(found, key=lambda mutant: (mutant.start, mutant.end))


def _place(node: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def applied(mutant: Mutant, text: str) -> str:
    """A file's source with the fault."""
    source = text.encode()
    return (source[: mutant.start] + mutant.after.encode() + source[mutant.end :]).decode()


def sampled(package: pathlib.Path, count: int, seed: int) -> list[Mutant]:
    """Faults of a package, evenly from its first file to its last: one of each of `count` parts, of any kind there."""
    root = package.parent
    files = sorted(package.rglob("*.py"))
    found = [mutant for file in files for mutant in mutants_of(file.read_text("utf-8"), f"{file.relative_to(root)}")]
    draw, count = random.Random(seed), min(count, len(found))
    edges = [place * len(found) // count for place in range(count + 1)]
    chosen = []
    for part in (found[low:high] for low, high in itertools.pairwise(edges)):
        kind = draw.choice(sorted({mutant.kind for mutant in part}))
        chosen.append(draw.choice([mutant for mutant in part if mutant.kind == kind]))
    return chosen


def relevant_tests(file: str, root: pathlib.Path = ROOT, most: int = FILES) -> list[str]:
    """Files of tests that have most to do with a file of the package.

    They name what it defines or, less, what its direct importers define; a name that few of them have counts more. A
    file of tests that is called after the folder counts for each of the names once more.
    """
    defined, tests = _defined(root), _named(root)
    often = collections.Counter(word for words in tests.values() for word in words)
    target, folder = root / file, pathlib.Path(file).parts[1].removesuffix(".py")
    stem = target.parent.name if target.stem == "__init__" else target.stem
    weights = dict.fromkeys((*defined[target][0], stem), 1.0)
    for names, imported in defined.values():
        weights = dict.fromkeys(names, 0.2) | weights if stem in imported else weights

    def score(path: pathlib.Path) -> float:
        known = weights.keys() & tests[path]
        own = folder in f"{path.parent.name}/{path.name}"
        return sum(weights[word] * math.log(len(tests) / often[word]) for word in known) * (1 + own)

    best = sorted(tests, key=lambda path: (-score(path), path))
    return [f"{path.relative_to(root)}" for path in best[:most] if score(path) > 0]


@functools.cache
def _named(root: pathlib.Path) -> dict[pathlib.Path, set[str]]:
    """The words of each file of tests."""
    files = sorted((root / "tests").rglob("test_*.py"))
    return {path: set(re.findall(r"[A-Za-z_]\w{2,}", path.read_text("utf-8"))) for path in files}


@functools.cache
def _defined(root: pathlib.Path) -> dict[pathlib.Path, tuple[set[str], set[str]]]:
    """What each file of the package defines, and the modules and names that it imports."""
    found = {}
    for path in (root / "nbm_xp").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        names = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
        modules = {part for node in imports for part in (node.module or "").split(".")}
        found[path] = names, modules | {each.name for node in imports for each in node.names}
    return found


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where this module is a plugin: run tests that have the name around the fault in theirs first."""
    names = os.environ.get("MUTANT_NAMES", "").split()
    items.sort(key=lambda item: not any(name in item.nodeid for name in names))


def judged(
    mutant: Mutant, copy: pathlib.Path, tests: Sequence[str], seconds: int, plugin: str = "tests.mutants"
) -> dict[str, object]:
    """Whether tests in a copy of the project fail by the fault, in so many seconds of a processor, and which does."""
    file = copy / mutant.file
    whole = file.read_text("utf-8")
    began = time.perf_counter()
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment |= {"PYTHONPATH": f"{copy}", "MUTANT_NAMES": " ".join(mutant.names), "CI": "1"}
    options = ("-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", *(["-p", plugin] if plugin else []))
    try:
        file.write_text(applied(mutant, whole), "utf-8")
        done = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *tests], cwd=copy, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        resource.prlimit(done.pid, resource.RLIMIT_CPU, (seconds, seconds))
        output, _ = done.communicate(timeout=60 * seconds)
        code = done.returncode
    except subprocess.TimeoutExpired:
        done.kill()
        code, output = -1, ""
    finally:
        file.write_text(whole, "utf-8")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    about = {name: value for name, value in dataclasses.asdict(mutant).items() if name not in ("start", "end")}
    by = failed[1] if failed else output.strip().rpartition("\n")[2][:200] if code > 0 else None
    found = {"killed": code in (1, 2, 3, 4), "out_of_time": code < 0, "by": by, "tests": tests}
    return about | found | {"seconds": round(time.perf_counter() - began, 1)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Make mutants, run them, write a line of JSON for each, and print the share killed; go on with a file begun."""
    parser = argparse.ArgumentParser(prog="nox -s mutants --", description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="of a processor, for the tests of a mutant")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("mutants.jsonl"))
    parser.add_argument("--whole", action="store_true", help="run all tests, not those of what a mutant touches")
    asked = parser.parse_args(arguments)
    known = [json.loads(line) for line in asked.out.read_text("utf-8").splitlines()] if asked.out.exists() else []
    chosen = sampled(ROOT / "nbm_xp", asked.count, asked.seed)
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy"
        left_out = shutil.ignore_patterns(".*", "__pycache__", "build", "_build")
        shutil.copytree(ROOT, copy, ignore=left_out)
        where, environment = "import nbm_xp; print(nbm_xp.__file__)", os.environ | {"PYTHONPATH": f"{copy}"}
        place = subprocess.check_output([sys.executable, "-c", where], cwd=copy, env=environment, text=True)
        assert place.startswith(f"{copy}"), f"tests would not import the copy, but {place}"
        for number, mutant in enumerate(chosen[len(known) :], len(known) + 1):
            tests = ["tests"] if asked.whole else relevant_tests(mutant.file)
            known.append(judged(mutant, copy, tests, asked.seconds))
            with open(asked.out, "a", encoding="utf-8") as file:
                file.write(json.dumps(known[-1]) + "\n")
            verdict = "killed" if known[-1]["killed"] else "SURVIVED"
            print(f"{number:4} {verdict} {mutant.file}:{mutant.line} {mutant.kind}", flush=True)
    killed = sum(each["killed"] for each in known)
    print(f"{killed} of {len(known)} killed: {killed / max(len(known), 1):.0%}")


if __name__ == "__main__":
    main()
