"""Record digests of long draws: ``python -m tests.digests 1e9 normal/float64 random/float32``, all rows without names.

What is on record stays, and is held to; a row that has its digest of so many numbers is passed over. So the record is
made in as many sittings as it takes.
"""

from __future__ import annotations

import json
import sys

from nbm_xp.cli.digests import FILE, LENGTHS, ROWS, digests, recorded


def main(arguments: list[str]) -> int:
    most, *only = arguments
    lengths = tuple(n for n in LENGTHS if n <= float(most))
    known = dict(recorded())
    for row in only or [f"{name}/{dtype}" for name, dtype in ROWS]:
        before = known.get(row, {})
        if lengths[-1] in before:
            continue
        found = dict(digests(*row.split("/"), lengths))  # type: ignore[arg-type]
        differing = [n for n in before.keys() & found.keys() if before[n] != found[n]]
        if differing:
            raise SystemExit(f"{row}: the digest of {min(differing)} numbers is another than on record")
        known[row] = before | found
        lines = [f"{json.dumps(name)}: {json.dumps(record)}" for name, record in sorted(known.items())]
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        sys.stdout.write(f"{row}: {max(known[row])} numbers\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
