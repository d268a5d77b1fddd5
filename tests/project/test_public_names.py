"""What a public package shows: its public names and no others, some of them imported only when they are asked for."""

from __future__ import annotations

import ast
import importlib
import pathlib
import re
import subprocess
import sys

import pytest

import nbm_xp

PACKAGES = (
    "nbm_xp", "nbm_xp.boltzmann", "nbm_xp.boltzmann.sequences", "nbm_xp.graphs", "nbm_xp.keras1", "nbm_xp.keras2",
    "nbm_xp.namespace", "nbm_xp.natural_bm", "nbm_xp.neon", "nbm_xp.rng", "nbm_xp.runs", "nbm_xp.special",
    "nbm_xp.tape",
)  # fmt: skip


def test_every_package_of_the_reference_is_here() -> None:
    page = pathlib.Path(__file__).parents[2] / "docs" / "reference" / "index.md"
    named = {line.strip() for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("   nbm_xp")}
    assert named == set(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_dir_shows_public_names_alone(name: str) -> None:
    package = importlib.import_module(name)
    public = {n for n in package.__all__ if not n.startswith("_")} | ({"__version__"} if name == "nbm_xp" else set())
    assert dir(package) == sorted(public)
    for attribute in public:
        assert getattr(package, attribute) is not None
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'"):
        _ = package.nothing


def test_names_that_are_missing_are_looked_for() -> None:
    code = "import nbm_xp; nbm_xp.Generater"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert told.endswith("has no attribute 'Generater'. Did you mean: 'Generator'?\n")
    with pytest.raises(AttributeError, match=r"has no attribute 'exp': it is in nbm_xp\.tape\.namespace$"):
        _ = nbm_xp.tape.exp


@pytest.mark.parametrize(
    ("name", "home"),
    [("RBM", "boltzmann"), ("DBM", "boltzmann"), ("Generator", "rng"), ("grad", "tape"), ("value_and_grad", "tape")],
)
def test_the_first_names_are_those_of_their_packages(name: str, home: str) -> None:
    assert getattr(nbm_xp, name) is getattr(importlib.import_module(f"nbm_xp.{home}"), name)


def test_what_waits_is_not_imported_before() -> None:
    code = (
        "import sys, nbm_xp\n"
        "known = ('files', 'namespace', 'objects', 'package')\n"
        "early = [n for n in sys.modules if n.startswith('nbm_xp.') and n.split('.')[1] not in known]\n"
        "assert not early, early\n"
        "from nbm_xp import Generator\n"
        "assert 'nbm_xp.rng' in sys.modules and 'nbm_xp.tape' not in sys.modules\n"
        "nbm_xp.special.gammaln\n"
        "assert 'sklearn' not in sys.modules\n"
        "nbm_xp.boltzmann.RBM, nbm_xp.graphs.Graph\n"
        "nbm_xp.runs.RunDirectory\n"
        "late = [n for n in ('dask.array', 'xarray', 'zarr') if n in sys.modules]\n"
        "assert not late, late\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_type_checkers_see_what_waits() -> None:
    path = pathlib.Path(nbm_xp.__file__)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    assert isinstance(guarded.test, ast.Name) and guarded.test.id == "TYPE_CHECKING"
    seen = {alias.name for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    now = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(nbm_xp.__all__) <= seen | now
    assert not seen & now


def test_the_tape_s_page_has_each_of_its_names_once() -> None:
    page = pathlib.Path(__file__).parents[2] / "docs" / "tape_names.md"
    named = re.findall(r"^\| `(\w+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(importlib.import_module("nbm_xp.tape").__all__)
