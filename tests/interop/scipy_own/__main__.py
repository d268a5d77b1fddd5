"""Run SciPy's own tests on array_api_strict and on Tensors, compare, and write what came out to docs/scipy_tests.md.

``python -m tests.interop.scipy_own [MODULE ...]``: the modules of SciPy, all of them by default.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.helpers.pages import ROOT

MODULES = (
    *("special", "stats", "signal", "cluster", "fft", "integrate", "differentiate", "linalg", "optimize", "spatial"),
    *("interpolate", "constants", "ndimage"),
)
"""All that have such tests."""
KNOWN = {
    "TestVectorizedFilter::test_input_validation": "asks for the words in which the libraries that SciPy knows refuse",
    "TestMinimumPhase::test_hilbert": "takes Python's max of 2**19 numbers, two minutes on either",
}
"""Tests that need not pass on Tensors, and why."""
PAGE = ROOT / "docs/scipy_tests.md"
BEGIN, END = "<!-- table: SciPy's own tests -->", "<!-- end of SciPy's own tests -->"
Outcomes = dict[str, tuple[str, str]]  # of each test, how it ended and why it failed


def outcomes(module: str, standin: str, folder: Path) -> Outcomes:
    """What became of one module's tests."""
    file = folder / f"{module}.{standin}.json"
    environment = os.environ | {"SCIPY_ARRAY_API": '["array_api_strict"]', "NBM_XP_STANDIN": standin}
    environment |= {"NBM_XP_OWN_TESTS": str(file), "PYTHONPATH": str(ROOT)}
    chosen = ["-m", "array_api_backends and not slow", "--pyargs", f"scipy.{module}"]
    plain = ["-q", "--tb=line", "-p", "no:cacheprovider", "-p", "tests.interop.scipy_own.standin"]
    subprocess.run([sys.executable, "-m", "pytest", *plain, *chosen], env=environment, cwd=folder, check=False)
    found: Outcomes = json.loads(file.read_text(encoding="utf-8"))
    broken = [f"{name}: {why}" for name, (outcome, why) in found.items() if outcome == "uncollected"]
    if broken:
        raise RuntimeError(f"not all tests of scipy.{module} could be collected:\n" + "\n".join(broken))
    return found


def compared(strict: Outcomes, tape: Outcomes) -> list[str]:
    """What passes on array_api_strict and not on Tensors, and why, but for what is known."""
    passed = ("passed", "xfailed", "xpassed")
    return [
        f"{name}: {tape.get(name, ('missing', ''))[1]}"
        for name, (outcome, _) in strict.items()
        if outcome in passed and tape.get(name, ("missing", ""))[0] not in passed
        if not any(f"{known}[" in name for known in KNOWN)
    ]


def main(modules: list[str]) -> int:
    """Run, write and say; 1 where something passes on array_api_strict alone."""
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:  # each run is a process
        folder = Path(scratch)
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        runs = {m: [pool.submit(outcomes, m, way, folder) for way in ("strict", "tape")] for m in modules or MODULES}
        results = {m: (strict.result(), tape.result()) for m, (strict, tape) in runs.items()}
    heads = ["Module", "Pass on array_api_strict", "Pass on Tensors", "Pass on array_api_strict only"]
    counts = {
        f"`{module}`": [
            *(sum(outcome == "passed" for outcome, _ in found.values()) for found in pair), len(compared(*pair)),
        ]
        for module, pair in results.items()
    }  # fmt: skip
    counts["all"] = list(map(sum, zip(*counts.values(), strict=True)))
    rows = [heads, ["---"] * len(heads), *([name, *(f"{n:,}" for n in row)] for name, row in counts.items())]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    worse = [line for pair in results.values() for line in compared(*pair)]
    sys.stdout.write("\n".join([table, *worse]) + "\n")
    if not modules:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
