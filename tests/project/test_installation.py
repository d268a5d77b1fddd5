"""Where the compiled core is found in a clone, and what is advised where there is none.

A clone is a copy of the sources without what was compiled. The first tests lay out by hand what an installation leaves
behind; the slow ones install.
"""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import venv

import pytest

import nbm_xp
from nbm_xp.namespace import core

ROOT = pathlib.Path(__file__).parents[2]
CORE = pathlib.PurePath("nbm_xp", "namespace", "core")
IGNORED = shutil.ignore_patterns(".*", "build", "_build", ".venv", "__pycache__", "*.so", "*.pyd")
NEEDED = ("numpy", "numpy.libs", "array_api_compat")  # by the first draws

pytestmark = pytest.mark.skipif(not (ROOT / "CMakeLists.txt").exists(), reason="these are not the sources")
needs_core = pytest.mark.skipif(not core.is_there(), reason=f"there is no compiled core: {core.missing()}")


def run(*command: str | pathlib.Path, cwd: pathlib.Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command without the variables that have a say in where modules are found and what is shown."""
    said = (core.VARIABLE, "PYTHONWARNINGS", "PYTHONPATH", "PYTHONHOME")
    known = {name: value for name, value in os.environ.items() if name not in said}
    known |= environment
    return subprocess.run([*map(str, command)], cwd=cwd, env=known, capture_output=True, text=True, check=False)


class Places:
    """A clone, and a folder of installed packages that is searched after it; without the site's own."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.clone, self.site, self.needed = (folder / name for name in ("a clone", "site", "needed"))
        for place in (self.clone, self.site, self.needed):
            place.mkdir()
        shutil.copytree(ROOT / "nbm_xp", self.clone / "nbm_xp", ignore=IGNORED)
        shutil.copy(ROOT / "CMakeLists.txt", self.clone)
        for name in NEEDED:
            for found in (pathlib.Path(folder, name) for folder in sys.path):
                if found.is_dir():
                    (self.needed / name).symlink_to(found)
                    break

    def installed(self, compiled: bytes | None) -> None:
        """What an installation leaves, of the package's files only the compiled module."""
        (self.site / "nbm_xp-1.dist-info").mkdir()
        (self.site / "nbm_xp-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: nbm_xp\nVersion: 1\n")
        module = self.site / CORE / pathlib.Path(core.compiled.__file__ if core.is_there() else "compiled.abi3.so").name
        if compiled is not None:
            module.parent.mkdir(parents=True)
            module.write_bytes(compiled)

    def draw(self) -> tuple[list[str], list[str]]:
        """What is printed, and the warnings, by a process that draws twice in the clone."""
        code = (
            "import nbm_xp; from nbm_xp.namespace import core; from nbm_xp import Generator\n"
            "print(nbm_xp.__file__); print(core.level()); print(core.missing())\n"
            "for _ in range(2): print(Generator(1).random(1, 'float64')[0])\n"
            "print(nbm_xp.format_info())"
        )
        path = f"{self.site}{os.pathsep}{self.needed}"
        done = run(sys.executable, "-S", "-c", code, cwd=self.clone, PYTHONPATH=path)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), done.stderr.splitlines()


@pytest.fixture
def places(tmp_path: pathlib.Path) -> Places:
    return Places(tmp_path)


@needs_core
def test_a_clone_takes_the_core_that_was_installed(places: Places) -> None:
    places.installed(pathlib.Path(core.compiled.__file__).read_bytes())
    (file, level, *_), warned = places.draw()
    assert (file, level, warned) == (str(places.clone / "nbm_xp" / "__init__.py"), core.level(), [])


@pytest.mark.parametrize(
    ("case", "reason", "command"),
    [
        ("not installed", "this clone is not installed", "pip install -e '{clone}'"),
        ("no compiler", "could not be compiled", "pip install --force-reinstall --no-deps -e '{clone}'"),
        ("foreign", "cannot be loaded", "pip install --force-reinstall --no-deps -e '{clone}'"),
        pytest.param(
            *("outdated", "other sources", "pip install --force-reinstall --no-deps -e '{clone}'"), marks=needs_core
        ),
        ("no clone", "could not be compiled", "pip install --force-reinstall --no-deps . in a clone"),
    ],
)
def test_where_there_is_no_core_one_line_says_what_helps(places: Places, case: str, reason: str, command: str) -> None:
    if case == "no compiler":
        places.installed(None)
    elif case == "foreign":
        places.installed(b"\x7fELF, but of no processor that there is")
    elif case == "outdated":
        places.installed(pathlib.Path(core.compiled.__file__).read_bytes())
        with (places.clone / CORE / "level.c").open("a") as source:
            source.write("/* changed since */\n")
    elif case == "no clone":
        (places.clone / "CMakeLists.txt").unlink()
    (_, level, missing, first, second, *report), warned = places.draw()
    assert level == "none"
    assert first == second == str(nbm_xp.Generator(1).random(1, "float64")[0])
    assert reason in missing
    assert missing.endswith(command.format(clone=places.clone))
    assert any(line.endswith(missing) for line in report)
    assert [line.partition("Warning: ")[2] for line in warned] == [
        f"nbm_xp has no compiled core and is many times slower: {missing}"
    ]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A clone that each environment is installed from; it keeps what was compiled once."""
    return shutil.copytree(ROOT, tmp_path_factory.mktemp("installation") / "clone", ignore=IGNORED)


def readme_command() -> list[str]:
    """The first command of the README: what `pip install` is told."""
    found = re.search(r"```sh\npip install (.*?)(?: +#.*)?\n", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert found, "the README's first command installs the package"
    return shlex.split(found[1])


@pytest.mark.slow
@needs_core
@pytest.mark.parametrize("editable", [[], ["-e"]], ids=["as the README says", "editable"])
def test_an_installed_clone_has_its_core_inside_and_outside(
    clone: pathlib.Path, tmp_path: pathlib.Path, editable: list[str]
) -> None:
    """With the packages of this environment and a compiled core of its own."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    (site,) = (tmp_path / "venv").rglob("site-packages")
    (site / "others.pth").write_text("\n".join(folder for folder in sys.path if folder.endswith("-packages")))
    done = run(python, "-m", "pip", "install", "--no-deps", *editable, *readme_command(), cwd=clone)
    assert done.returncode == 0, done.stderr

    for folder in (tmp_path, clone):  # the core of this environment's own installation would serve too
        where = "from nbm_xp.namespace import core; print(core.level(), core.compiled.__file__)"
        done = run(python, "-c", where, cwd=folder)
        level, file = done.stdout.split(maxsplit=1)
        assert (level, done.stderr) == (core.level(), "")
        assert pathlib.Path(file).is_relative_to(site)
        done = run(python, "-m", "nbm_xp", "info", cwd=folder)
        assert re.search(rf"^ *level +{core.level()} ", done.stdout, re.MULTILINE), done
    done = run(python, "-m", "pytest", "tests/project/test_public_names.py", "--collect-only", cwd=clone)
    assert f"compiled core: {core.level()}\n" in done.stdout
