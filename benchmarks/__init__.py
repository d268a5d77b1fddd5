"""Ours and its peers, timed in turn in one process: `python -m benchmarks --help`."""
