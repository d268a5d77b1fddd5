"""The package is built in floors, and only the lowest one knows which array libraries exist.

Read from the syntax trees, so that an import inside a function counts like one at the top of a file.
"""

import ast
import importlib
import pathlib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter

import pytest

PACKAGE = pathlib.Path(__file__).parents[2] / "nbm_xp"
FLOORS = [
    ["package", "objects", "files", "records"], ["namespace"], ["storage"], ["compatibility"], ["tape"], ["rng"],
    ["functions"], ["special"], ["natural_bm", "keras2", "keras1", "neon"], ["machines"], ["boltzmann", "graphs"],
    ["runs"], ["cli", "__main__"],
]  # fmt: skip
LEVEL = {name: level for level, names in enumerate(FLOORS) for name in names}
LIBRARIES = {"numpy", "cupy", "dask", "torch", "jax", "array_api_strict", "array_api_compat"}
# the command reads files and names what it prints
KNOW_NONE = {
    "tape", "rng", "functions", "special", "natural_bm", "keras2", "keras1", "neon", "machines", "boltzmann", "graphs",
}  # fmt: skip
OPTIONAL = {
    "cupy", "dimod", "torch", "jax", "zarr", "distributed", "typer", "rich", "matplotlib", "sklearn", "threadpoolctl",
}  # fmt: skip
FILES = sorted(PACKAGE.rglob("*.py"))


def part(path: pathlib.Path) -> str:
    """The floor's name that a file belongs to; the package's own face stands outside them all."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def is_compiled(path: pathlib.Path) -> bool:
    """Whether a file calls the compiled core or CUDA kernels, which work in the memory of one library's arrays."""
    return "compiled" in {*path.relative_to(PACKAGE).parts[:-1], path.stem}


@cache
def tree_of(path: pathlib.Path) -> ast.Module:
    """The syntax tree of a file, which several tests go through."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Line and absolute name of every module that a file imports, in either spelling."""
    inside = ["nbm_xp", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = inside[: len(inside) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from nbm_xp import x` names the module x; elsewhere what follows may be a module too.
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def test_imports_run_one_way() -> None:
    upward = []
    for path in FILES:
        own = LEVEL.get(part(path))
        if own is None:
            assert path.parent == PACKAGE, f"{part(path)} has no layer of its own in this test"
            continue
        for line, module in imports(path):
            steps = module.split(".")
            if steps[0] == "nbm_xp" and len(steps) > 1 and LEVEL.get(steps[1], own) > own:
                upward.append(f"{path}:{line}: {module}")
    assert not upward


def test_no_library_is_named_above_the_namespace() -> None:
    named = []
    for path in FILES:
        if part(path) not in KNOW_NONE or is_compiled(path):
            continue
        found = [(line, module) for line, module in imports(path) if module.split(".")[0] in LIBRARIES]
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Name) and node.id in LIBRARIES | {"np", "cp", "da", "jnp"}:
                found.append((node.lineno, node.id))
            elif isinstance(node, ast.Constant) and node.value in LIBRARIES:
                found.append((node.lineno, repr(node.value)))
        named += [f"{path}:{line}: {name}" for line, name in found]
    assert not named


def test_every_module_says_what_it_is() -> None:
    silent = [str(path) for path in FILES if not ast.get_docstring(tree_of(path))]
    assert not silent


def test_every_module_can_be_imported() -> None:
    for name in NAMES:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL:
                raise


NAMES = {
    ".".join(["nbm_xp", *p.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__"): p for p in FILES
}


def imported(name: str) -> set[str]:
    """The files of the package that a file imports, inside functions and for type checkers too."""
    found = set()
    for _, module in imports(NAMES[name]):
        known = module if module in NAMES else module.rpartition(".")[0]
        found |= {known} & set(NAMES)
    return found - {name}


def test_no_two_files_import_one_another() -> None:
    TopologicalSorter({name: imported(name) for name in NAMES}).prepare()  # names a circle that it finds


def room(name: str) -> str:
    """Of a file in a folder of a package, that folder; of one at its root, the file itself."""
    return ".".join(name.split(".")[:3])


@pytest.mark.parametrize(("package", "folders"), [("namespace", {"compat", "special"}), ("tape", {"loops", "plans"})])
def test_no_two_rooms_import_one_another(package: str, folders: set[str]) -> None:
    """So that a folder can be read after those it imports from, and before those that import from it."""
    files = [name for name in NAMES if name.startswith(f"nbm_xp.{package}.")]
    graph: dict[str, set[str]] = {room(name): set() for name in files}
    for name in files:
        graph[room(name)] |= {room(other) for other in imported(name) if other in files} - {room(name)}
    assert {f"nbm_xp.{package}.{folder}" for folder in folders} < set(graph)
    TopologicalSorter(graph).prepare()
