"""The table of figures in Markdown, and the places that quote it: ``python -m benchmarks.pages`` writes these anew.

`docs/benchmarks.md` has the table, in a section of its own, which ``python -m benchmarks --table docs/benchmarks.md``
writes. A page that quotes a ratio makes it a link whose title is the name of the line of the table::

    [0.33](benchmarks.md#the-table "draws: 1e7 gamma(2), beside NumPy PCG64")
"""

import argparse
import pathlib
import re
import sys
from collections.abc import Mapping, Sequence

from benchmarks.harness import VERDICT, Peak, Timing, duration

ROOT = pathlib.Path(__file__).parents[1]
TABLE = ROOT / "docs" / "benchmarks.md"
SECTION = re.compile(r"^## The table\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
HEAD = "| the work | beside | ratio | nbm_xp | the peer | goal |\n| --- | --- | --: | --: | --: | --- |\n"
LINE = re.compile(r"^\| (\w+: .+?) \| (.+?) \| ([\d.]+) \|", re.MULTILINE)
QUOTE = re.compile(r'\[[^\]]*\](\([^\s()]*#the-table "([^"]+)"\))')


def table(timings: Sequence[Timing | Peak], about: str) -> str:
    """The section, with a line for each peer that did the work."""
    lines: list[str] = []
    ours: Timing | Peak | None = None
    for timing in timings:
        if ours is None or (timing.benchmark, timing.row) != (ours.benchmark, ours.row):
            ours = timing
        elif cells := compared(ours, timing):
            lines.append(f"| {' | '.join((f'{timing.benchmark}: {timing.row}', timing.contender, *cells))} |\n")
    return f"## The table\n\n{about}.\n\n{HEAD}{''.join(lines)}\n"


def compared(ours: Timing | Peak, peer: Timing | Peak) -> tuple[str, ...]:
    """The cells of a line after the peer's name; none where either is missing."""
    if isinstance(peer, Peak):
        mine, theirs, shown, bar, holds = ours.size, peer.size, megabytes, "", ours.holds
        if ours.at_most is not None:
            bar = f"at most {megabytes(ours.at_most)}"
    else:
        mine, theirs, shown, bar, holds = ours.seconds, peer.seconds, duration, peer.bar, peer.holds
    if mine is None or theirs is None:
        return ()
    ratio = mine / theirs if isinstance(peer, Peak) else peer.ratio
    digits = 2 if ratio >= 0.1 else 3
    quotient = "" if peer.contender == "nothing" else f"{ratio:.{digits}f}"
    return quotient, shown(mine), shown(theirs), f"{bar}: {VERDICT[holds]}" if bar else ""


def megabytes(size: float) -> str:
    return f"{size / 1e6:.1f} MB"


def write(path: pathlib.Path, section: str) -> None:
    """Put the section in the place of the one that the page has, or make a page of it."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(SECTION.sub(lambda _: section, text) if SECTION.search(text) else section, encoding="utf-8")


def figures(text: str) -> dict[str, str]:
    """The ratios of a table, by the names under which they are quoted."""
    found = SECTION.search(text)
    return {f"{work}, beside {peer}": ratio for work, peer, ratio in LINE.findall(found[0] if found else "")}


def quoted(text: str, ratios: Mapping[str, str]) -> str:
    """A page whose quotes are those of the table; KeyError where the table has no such line."""
    return QUOTE.sub(lambda quote: f"[{ratios[quote[2]]}]{quote[1]}", text)


def main(arguments: list[str]) -> None:
    parsed(arguments)
    ratios = figures(TABLE.read_text(encoding="utf-8"))
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = path.read_text(encoding="utf-8")
        path.write_text(quoted(text, ratios), encoding="utf-8")


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description="Write quoted ratios anew.")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
