"""Run batteries of TestU01 test by test: ``python -m tests.testu01 crush ordered lower --results FILE``.

Each test of a battery is a process of its own, on numbers of a seed of its own: `--seed` and the test's number. With
`--results`, its p-values are a line of that file when it ends, and a test that has a line there is not run again.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from typing import Any

from tests.testu01.sources import SOURCES

HERE = pathlib.Path(__file__).parent
BATTERIES = {"smallcrush": 10, "crush": 96, "bigcrush": 106}
"""How many tests each has."""
SUSPECT, FAILED = 1e-3, 1e-10

Part = dict[str, Any]


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.testu01", description="TestU01 on the package's numbers.")
    parser.add_argument("battery", choices=(*BATTERIES, "table"), help="table: of --results, without a run")
    parser.add_argument("source", nargs="*", help=f"of {', '.join(SOURCES)}; by default all of them")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--test", type=int, help="only the test of this number, as a report numbers them")
    parser.add_argument("--results", type=pathlib.Path, help="a file of p-values, to be added to")
    options = parser.parse_args(arguments)
    for name in options.source:
        if name not in SOURCES:
            parser.error(f"source must be one of {', '.join(SOURCES)}; got {name}")
    most = BATTERIES.get(options.battery, 0)
    if options.test is not None and not 1 <= options.test <= most:
        parser.error(f"--test must be from 1 to {most}; got {options.test}")
    return options


def compiled(folder: str) -> str:
    """Compile the program that feeds the battery; gives its path."""
    program = f"{folder}/battery"
    command = ["cc", "-O2", str(HERE / "battery.c"), "-o", program]
    if subprocess.run([*command, "-ltestu01", "-ltestu01probdist", "-ltestu01mylib", "-lm"]).returncode:
        raise SystemExit("statistics: a C compiler and TestU01 are needed; on Debian: apt-get install libtestu01-0-dev")
    return program


def run(program: str, part: Part) -> None:
    """Run one test on its numbers, and note its p-values and the processor time of the test and of the numbers."""
    before = seconds_used()
    command = [program, part["battery"], str(part["test"])]
    with tempfile.TemporaryFile("w+") as report:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=report)
        with contextlib.suppress(BrokenPipeError), process:  # the battery has had enough
            assert process.stdin is not None
            for numbers in SOURCES[part["source"]](part["seed"]):
                process.stdin.write(memoryview(numbers).cast("B"))
        if process.returncode:
            raise SystemExit(f"statistics: the battery ended with {process.returncode}")
        report.seek(0)
        rows = [line.rstrip("\n").split("\t") for line in report]
    part["numbers"] = next(int(row[1]) for row in rows if row[0] == "numbers")
    part["seconds"] = round(seconds_used() - before)
    part["p_values"] = [[row[2], float(row[1])] for row in rows if row[0] == "p-value"]


def seconds_used() -> float:
    """The processor time of this process and of those that it ran."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def outside(parts: Iterable[Part], bound: float) -> list[str]:
    """The p-values nearer than `bound` to 0 or 1, each in words."""
    found = ((part, name, p) for part in parts for name, p in part["p_values"] if min(p, 1 - p) < bound)
    return [f"{name} (test {part['test']}, seed {part['seed']}): {p:.3g}" for part, name, p in found]


def table(parts: list[Part]) -> str:
    """What came of each battery and source, as a table in Markdown."""
    lines = [
        "| battery | source | tests | p-values | suspect | failed | processor time |",
        "|---|---|---|---|---|---|---|",
    ]
    for battery, source in dict.fromkeys((part["battery"], part["source"]) for part in parts):
        here = [part for part in parts if (part["battery"], part["source"]) == (battery, source)]
        count, seconds = sum(len(part["p_values"]) for part in here), sum(part["seconds"] for part in here)
        suspect = outside(here, SUSPECT)
        said = f"{len(suspect)}: {'; '.join(suspect)}" if suspect else "0"
        ran = f"{len(here)} of {BATTERIES[battery]}"
        lines.append(
            f"| {battery} | {source} | {ran} | {count} | {said} | {len(outside(here, FAILED))} | {seconds:,} s |"
        )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    options = parsed(arguments)
    kept: list[Part] = []
    if options.results and options.results.exists():
        kept = [json.loads(line) for line in options.results.read_text(encoding="utf-8").splitlines()]
    if options.battery == "table":
        print(table(kept))
        return 0
    tests = range(1, BATTERIES[options.battery] + 1) if options.test is None else [options.test]
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(folder)
        for source, test in itertools.product(options.source or SOURCES, tests):
            part = {"battery": options.battery, "source": source, "test": test, "seed": options.seed + test}
            known = next((there for there in kept if part.items() <= there.items()), None)
            if known is None:
                run(program, part)
                if options.results:
                    with options.results.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(part) + "\n")
            parts.append(known or part)
    print(table(parts))
    return 1 if outside(parts, FAILED) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
