"""Run a battery of TestU01: ``python -m tests.testu01 smallcrush raw drawn interleaved``."""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from tests.testu01.sources import SOURCES

HERE = pathlib.Path(__file__).parent
BATTERIES = ("smallcrush", "crush", "bigcrush")
SUSPECT, FAILED = 1e-3, 1e-10


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.testu01", description="TestU01 on the package's numbers.")
    parser.add_argument("battery", choices=BATTERIES)
    parser.add_argument("source", nargs="*", help=f"of {', '.join(SOURCES)}; by default all of them")
    parser.add_argument("--seed", type=int, default=20_170_806)
    parser.add_argument("--test", type=int, help="only the test of this number, as a report numbers them")
    parser.add_argument("--prefix", type=pathlib.Path, default=pathlib.Path("/usr"), help="where TestU01 is installed")
    parser.add_argument("--out", type=pathlib.Path, help="a folder for the reports and the p-values")
    options = parser.parse_args(arguments)
    for name in options.source:
        if name not in SOURCES:
            parser.error(f"source must be one of {', '.join(SOURCES)}; got {name}")
    return options


def compiled(prefix: pathlib.Path, folder: str) -> str:
    """Compile the program that feeds the battery; gives its path."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit("statistics: there is no C compiler (cc)")
    program = f"{folder}/battery"
    triplet = subprocess.run([compiler, "-dumpmachine"], check=True, capture_output=True, text=True).stdout.strip()
    triplet = triplet.replace("-pc-", "-").replace("-unknown-", "-")
    paths = [prefix / "include", prefix / "include" / triplet]
    places = [prefix / "lib", prefix / "lib" / triplet]
    command = [compiler, "-O2", str(HERE / "battery.c"), "-o", program, *(f"-I{path}" for path in paths)]
    command += [flag for place in places for flag in (f"-L{place}", f"-Wl,-rpath,{place}")]
    command += ["-Wl,--disable-new-dtags", "-ltestu01", "-ltestu01probdist", "-ltestu01mylib", "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        raise SystemExit("statistics: TestU01 is not here; on Debian: apt-get install libtestu01-0-dev (or --prefix)")
    return program


def fed(program: str, battery: str, source: str, seed: int, test: int | None) -> str:
    """Run a battery, or one of its tests, on a source; gives its report."""
    command = [program, battery, f"MRG31k3p, {source}, seed {seed}", *([] if test is None else [str(test)])]
    with tempfile.TemporaryFile("w+") as report:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=report)
        with contextlib.suppress(BrokenPipeError), process:  # the battery has had enough
            assert process.stdin is not None
            for numbers in SOURCES[source](seed):
                process.stdin.write(memoryview(numbers).cast("B"))
        if process.returncode:
            raise SystemExit(f"statistics: the battery ended with {process.returncode}")
        report.seek(0)
        return report.read()


def p_values(report: str) -> list[tuple[str, float]]:
    """The tests of a report and their p-values."""
    rows = (line.split("\t") for line in report.splitlines() if line.startswith("p-value\t"))
    return [(name, float(value)) for _, value, name in rows]


def main(arguments: list[str]) -> int:
    options = parsed(arguments)
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(options.prefix, folder)
        for source in options.source or SOURCES:
            started = time.time()
            report = fed(program, options.battery, source, options.seed, options.test)
            values = p_values(report)
            suspect = [(name, p) for name, p in values if min(p, 1 - p) < SUSPECT]
            failed = [(name, p) for name, p in suspect if min(p, 1 - p) < FAILED]
            failures += len(failed)
            minutes = (time.time() - started) / 60
            print(
                f"{options.battery} {source}: {len(values)} p-values, {len(suspect)} outside "
                f"[{SUSPECT:g}, 1 - {SUSPECT:g}], {len(failed)} failed, {minutes:.1f} minutes",
                flush=True,
            )
            for name, p in suspect:
                print(f"  {name}: p = {p:.3g}")
            if options.out:
                options.out.mkdir(parents=True, exist_ok=True)
                name = options.out / f"{options.battery}-{source}"
                name.with_suffix(".txt").write_text(report, encoding="utf-8")
                name.with_suffix(".json").write_text(json.dumps(values, indent=0), encoding="utf-8")
    return 1 if failures or not values else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
