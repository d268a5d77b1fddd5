"""Run SciPy's own tests on array_api_strict and on Tensors, compare, and write what came out to docs/scipy_tests.md.

``python -m tests.interop.scipy_own [--kept FOLDER] [MODULE ...]``: the modules of SciPy, all of them by default; with
`--kept`, results are kept there, and those that are there already are not made anew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.helpers.pages import ROOT

__all__ = ["MODULES", "compared", "counts", "gradients_table", "main"]

MODULES = (
    *("special", "stats", "signal", "cluster", "fft", "integrate", "differentiate", "linalg", "optimize", "spatial"),
    *("interpolate", "constants", "ndimage"),
)
"""All that have such tests."""
KNOWN = {
    "TestVectorizedFilter::test_input_validation": "asks for the words in which the libraries that SciPy knows refuse"
}
"""Tests that need not pass on Tensors, and why."""
PAGE = ROOT / "docs/scipy_tests.md"
BEGIN, END = "<!-- table: SciPy's own tests -->", "<!-- end of SciPy's own tests -->"
_PASSED = ("passed", "xfailed", "xpassed")


def _run(module: str, standin: str, folder: Path) -> dict[str, Any]:
    """The outcomes of one module's tests."""
    outcomes = folder / f"{module}.{standin}.json"
    if not outcomes.exists():
        environment = os.environ | {"SCIPY_ARRAY_API": '["array_api_strict"]', "NBM_XP_STANDIN": standin}
        environment |= {"NBM_XP_OWN_TESTS": str(outcomes), "PYTHONPATH": str(ROOT)}
        if standin == "tape":
            environment["NBM_XP_REACHED"] = str(folder / f"{module}.reached.json")
        chosen = ["-m", "array_api_backends and not slow", "--pyargs", f"scipy.{module}"]
        plain = ["-q", "--tb=line", "-p", "no:cacheprovider", "-p", "tests.interop.scipy_own.standin"]
        subprocess.run([sys.executable, "-m", "pytest", *plain, *chosen], env=environment, cwd=folder, check=False)
    read: dict[str, Any] = json.loads(outcomes.read_text(encoding="utf-8"))
    broken = [f"{name}: {why}" for name, (outcome, why) in read.items() if outcome == "uncollected"]
    if broken:
        outcomes.unlink()
        raise RuntimeError(f"not all tests of scipy.{module} could be collected:\n" + "\n".join(broken))
    return read


def compared(strict: dict[str, Any], tape: dict[str, Any]) -> list[str]:
    """What passes on array_api_strict and not on Tensors, and why, but for what is known."""
    return [
        f"{name}: {tape.get(name, ('missing', ''))[1]}"
        for name, (outcome, _) in strict.items()
        if outcome in _PASSED and tape.get(name, ("missing", ""))[0] not in _PASSED
        if not any(f"{known}[" in name for known in KNOWN)
    ]


def counts(results: dict[str, tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """How many pass, by modules."""
    rows = [
        "| Module | Pass on array_api_strict | Pass on Tensors | Pass on array_api_strict only |",
        "| --- | --- | --- | --- |",
    ]
    total = [0, 0, 0]
    for module, (strict, tape) in results.items():
        passed = [sum(outcome == "passed" for outcome, *_ in found.values()) for found in (strict, tape)]
        row = [*passed, len(compared(strict, tape))]
        total = [one + other for one, other in zip(total, row, strict=True)]
        rows.append(f"| `{module}` | {' | '.join(f'{n:,}' for n in row)} |")
    return "\n".join([*rows, f"| all | {' | '.join(f'{n:,}' for n in total)} |"])


def gradients_table(reached: dict[str, dict[str, Any]], held: set[str]) -> str:
    """The functions by what their gradients were worth; `held` are right by cases of our own."""
    groups: dict[str, list[str]] = {}
    for name, entry in sorted(reached.items()):
        groups.setdefault(_worth(entry, name in held), []).append(f"`{name}`")
    order = [title for title in _TITLES if title in groups]
    rows = [f"| {title} | {len(groups[title])} | {', '.join(groups[title])} |" for title in order]
    return "\n".join(["| What `grad` gives | | Of |", "| --- | --- | --- |", *rows])


_RIGHT = "The gradient, as finite differences"
_MIXED = "The gradient in some calls; in others NaN, or another one than differences say (below)"
_WRONG = "NaN, or another gradient than differences say (below)"
_REFUSED = "An error: computed in NumPy on the way"
_ERROR = "Another error, of one line"
_FLAT = "None is asked for: whole numbers, labels"
_OPEN = "Not tested: no call with finite differences that converge"
_TITLES = (_RIGHT, _MIXED, _WRONG, _REFUSED, _ERROR, _FLAT, _OPEN)


def _worth(entry: dict[str, Any], held: bool) -> str:
    right = entry["right"] > 0 or held
    if entry["wrong"]:
        return _MIXED if right else _WRONG
    if right:
        return _RIGHT
    if entry["refused"]:
        return _REFUSED
    if entry["errors"]:
        return _ERROR
    return _FLAT if entry["flat"] else _OPEN


def main(arguments: list[str]) -> int:
    """Run, write and say; 1 where something passes on array_api_strict alone."""
    parser = argparse.ArgumentParser(prog="python -m tests.interop.scipy_own", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--kept", type=Path)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = (asked.kept or Path(scratch)).resolve()
        folder.mkdir(exist_ok=True)
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")  # of no project that the folder lies in
        modules = asked.modules or MODULES
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # each run is a process of its own
            runs = {m: [pool.submit(_run, m, standin, folder) for standin in ("strict", "tape")] for m in modules}
            results = {m: (strict.result(), tape.result()) for m, (strict, tape) in runs.items()}
        reached: dict[str, Any] = {}
        for module in modules:
            found = folder / f"{module}.reached.json"
            reached |= json.loads(found.read_text(encoding="utf-8")) if found.exists() else {}
    os.environ["SCIPY_ARRAY_API"] = "1"
    from nbm_xp import special  # held to differences of the third order in tests/property
    from tests.interop.scipy_functions import CASES

    held = {case.name.partition("-")[0] for case in CASES if case.smooth} | {
        f"special.{name}" for name in special.__all__
    }
    sys.stdout.write(counts(results) + "\n")
    worse = [line for pair in results.values() for line in compared(*pair)]
    sys.stdout.write("\n".join(worse) + "\n")
    sys.stdout.write(
        "\n".join(f"{name}: {what}" for name, entry in reached.items() for what in entry["wrong"] + entry["errors"])
        + "\n"
    )
    if tuple(modules) == MODULES:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        tables = f"{counts(results)}\n\n{gradients_table(reached, held)}"
        PAGE.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
