"""The command: choose benchmarks, run them, print a line of the table as each is measured.

The number of threads must be settled before any library is loaded, which is why the imports stand inside `main`.
"""

import argparse
import json
import os
import pathlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.harness import Peak, Timing
    from benchmarks.libraries import Library

NAMES = (
    "dispatch",
    "gradient",
    "gibbs",
    "epoch",
    "uniforms",
    "draws",
    "scan",
    "batches",
    "memory",
    "chains",
    "convolution",
    "layers",
    "neon_layers",
    "neon_optrees",
    "runs",
    "graphs",
)
ROUNDS, QUICK_ROUNDS = 15, 3
SMALLER = 10  # times, with --quick
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Time nbm_xp beside its peers.")
    parser.add_argument("--only", metavar="NAME", choices=NAMES, action="append", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--library", metavar="NAME", default="numpy", help="the array library ours runs on")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write every sample to a file")
    parser.add_argument("--table", metavar="FILE", type=pathlib.Path, help="put the table into a page of Markdown")
    parser.add_argument("--rounds", type=int, help=f"samples of each contender ({ROUNDS}, with --quick {QUICK_ROUNDS})")
    parser.add_argument("--quick", action="store_true", help="few rounds, and a tenth of the largest sizes")
    parser.add_argument("--threads", type=int, default=1, help="threads of linear algebra (1)")
    parser.add_argument("--without-core", action="store_true", help="start where the compiled core is not in use too")
    options = parser.parse_args(arguments)
    if options.rounds is None:
        options.rounds = QUICK_ROUNDS if options.quick else ROUNDS
    if options.rounds < 2:
        parser.error("--rounds must be at least 2: a spread needs two samples")
    if options.threads < 1:
        parser.error("--threads must be at least 1")
    return options


def measured(options: argparse.Namespace, library: "Library", done: list["Timing | Peak"]) -> Iterator["Timing | Peak"]:
    """Measure one after the other, and say how far it is; what is yielded is added to those that are done."""
    import importlib

    from benchmarks import harness

    start, names = time.monotonic(), options.only or NAMES
    for i, name in enumerate(names):
        print(f"[{i + 1} of {len(names)}, {time.monotonic() - start:.0f} s so far: {name}]", flush=True)
        benchmark = importlib.import_module(f"benchmarks.{name}")
        if hasattr(benchmark, "peaks"):
            results = benchmark.peaks(library)
        else:
            rows = benchmark.rows(library)
            results = (timing for row in rows for timing in harness.measure(name, row, options.rounds, library.wait))
        for result in results:
            done.append(result)
            yield result


def main(arguments: list[str]) -> int:
    options = parsed(arguments)
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(options.threads)))

    from benchmarks import harness, pages
    from benchmarks.libraries import open_library

    try:
        if not options.without_core:
            harness.refuse_without_core()
        library = open_library(options.library, options.threads, SMALLER if options.quick else 1)
    except (ValueError, ImportError, RuntimeError) as error:  # the last: no core, or CuPy that finds no device
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    about = f"{harness.machine(options.threads)}{library.device}; {options.rounds} rounds"
    if options.quick:
        about += f", the largest sizes divided by {SMALLER} (--quick)"
    print(about, flush=True)
    timings: list[Timing | Peak] = []
    for line in harness.lines(measured(options, library, timings)):
        print(line, flush=True)
    if options.table:
        pages.write(options.table, pages.table(timings, about))
    if options.json:
        options.json.write_text(json.dumps(harness.record(timings, about), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
