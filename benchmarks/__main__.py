"""The command: choose benchmarks, run them, print a table.

The number of threads must be settled before any library is loaded, which is why the imports stand inside `main`.
"""

import argparse
import json
import os
import pathlib
import sys

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
    parser.add_argument("--table", metavar="FILE", type=pathlib.Path, help="write the table to a file, as Markdown")
    parser.add_argument("--rounds", type=int, default=15, help="samples of each contender (15)")
    parser.add_argument("--threads", type=int, default=1, help="threads of linear algebra (1)")
    options = parser.parse_args(arguments)
    if options.rounds < 2:
        parser.error("--rounds must be at least 2: a spread needs two samples")
    if options.threads < 1:
        parser.error("--threads must be at least 1")
    return options


def main(arguments: list[str]) -> int:
    options = parsed(arguments)
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(options.threads)))

    import importlib

    from benchmarks import harness
    from benchmarks.libraries import open_library

    try:
        library = open_library(options.library, options.threads)
    except (ValueError, ImportError, RuntimeError) as error:  # the last: CuPy that finds no device
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    about = harness.machine(options.threads) + library.device
    print(about, flush=True)
    timings: list[harness.Timing | harness.Peak] = []
    for name in options.only or NAMES:
        benchmark = importlib.import_module(f"benchmarks.{name}")
        if hasattr(benchmark, "peaks"):
            timings += benchmark.peaks(library)
            continue
        for row in benchmark.rows(library):
            timings += harness.measure(name, row, options.rounds, library.wait)
    print(harness.table(timings))
    if options.table:
        options.table.write_text(harness.page(timings, about), encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps(harness.record(timings, about), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
