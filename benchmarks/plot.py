"""Pictures of results: ``python -m benchmarks.plot results.json docs/benchmarks.png``.

The results are those of ``python -m benchmarks --json results.json``. The picture shows ours over every peer's;
with ``--throughput NAME``, how many numbers a nanosecond ours and the peers of one benchmark give.
"""

import argparse
import json
import pathlib
import statistics
import sys
from dataclasses import dataclass
from typing import Any

OURS, PEER, MARK = "#1f5f99", "#c9c9c9", "#d9622b"
DOT: dict[str, Any] = {"marker": "o", "linestyle": "", "color": OURS, "markersize": 5}
STROKE: dict[str, Any] = {"color": OURS, "linewidth": 4, "alpha": 0.35}
GOAL: dict[str, Any] = {"marker": "|", "linestyle": "", "color": MARK, "markersize": 10, "markeredgewidth": 1.8}
LEAST = 0.04  # where the picture of ratios begins; what is less is written down


@dataclass(frozen=True)
class Ratio:
    """Ours over one peer's: time, or memory; the quartiles of it over the rounds, and the bar where there is one."""

    benchmark: str
    row: str
    peer: str
    middle: float
    low: float
    high: float
    bar: float | None = None


def ratios(record: dict[str, Any]) -> list[Ratio]:
    """Every peer that did the same work in the same round; those that stand for no work at all are left out."""
    found = []
    ours: dict[str, Any] = {}
    for entry in record["timings"]:
        if (entry["benchmark"], entry["row"]) != (ours.get("benchmark"), ours.get("row")):
            ours = entry
        elif entry.get("size") and ours.get("size"):
            ratio = ours["size"] / entry["size"]
            found.append(Ratio(entry["benchmark"], entry["row"], entry["contender"], ratio, ratio, ratio))
        elif entry.get("samples") and ours.get("samples") and entry["contender"] != "nothing":
            rounds = [a / b for a, b in zip(ours["samples"], entry["samples"], strict=True)]
            low, middle, high = statistics.quantiles(rounds, n=4, method="inclusive")
            words = entry["bar"].removeprefix("at most ")
            bar = float(words) if words and not words.startswith("+") else None
            found.append(Ratio(entry["benchmark"], entry["row"], entry["contender"], middle, low, high, bar))
    return found


def draw_ratios(record: dict[str, Any], pyplot: Any) -> Any:
    """A line for each peer: a dot at the median, a stroke from quartile to quartile, a mark at the bar."""
    found = ratios(record)
    figure, axes = pyplot.subplots(figsize=(11, 1.8 + 0.22 * (len(found) + len({r.benchmark for r in found}))))
    labels: list[tuple[int, str]] = []
    place, benchmark = 0, ""
    for ratio in found:
        if ratio.benchmark != benchmark:
            benchmark = ratio.benchmark
            axes.axhspan(place - 0.5, place + 0.5, color="#eef1f5", zorder=0)
            labels.append((place, benchmark))
            place += 1
        if ratio.middle < LEAST:
            axes.text(LEAST, place, f" ◂ {ratio.middle:.2g}", color=OURS, fontsize=8.5, va="center")
        else:
            axes.hlines(place, max(ratio.low, LEAST), ratio.high, label="its quartiles", **STROKE)
            axes.plot(ratio.middle, place, label="median of the rounds", **DOT)
        if ratio.bar is not None:
            axes.plot(ratio.bar, place, label="goal: no more than this", **GOAL)
        labels.append((place, f"{ratio.row}   over   {ratio.peer}"))
        place += 1
    axes.axvline(1, color="#20242c", linewidth=1, label="as long as the peer")
    named = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))  # each once
    axes.legend(named.values(), named, loc="lower right", bbox_to_anchor=(1, 1), ncols=4, fontsize=9, frameon=False)
    axes.set_xscale("log")
    axes.set_xlim(left=LEAST)
    axes.set_xlabel("nbm_xp's time over the peer's (of memory, its bytes); further left is better", fontsize=10)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.grid(axis="x", which="both", color="#e6e6e6", linewidth=0.5, zorder=0)
    axes.set_yticks([at for at, _ in labels], [text for _, text in labels], fontsize=8.5)
    for label, (_, text) in zip(axes.get_yticklabels(), labels, strict=True):
        label.set_fontweight("normal" if "   over   " in text else "bold")
    axes.set_ylim(place - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    machine = record["machine"].partition(";")[0]
    figure.suptitle(f"nbm_xp beside its peers: {machine}", fontsize=12, fontweight="bold")
    return figure


def draw_throughput(record: dict[str, Any], pyplot: Any, benchmark: str) -> Any:
    """For each row, a bar of ours above a bar of its first peer."""
    rows: dict[str, list[tuple[str, float]]] = {}
    for timing in record["timings"]:
        if timing["benchmark"] == benchmark and timing.get("seconds") and timing["per"] > 1:
            rate = timing["per"] / min(timing["samples"]) / 1e9
            rows.setdefault(timing["row"], []).append((timing["contender"], rate))
    figure, axes = pyplot.subplots(figsize=(8, 0.5 + 0.5 * len(rows)))
    for place, contenders in enumerate(reversed(rows.values())):
        for shift, (contender, rate) in zip((0.19, -0.19), contenders, strict=False):
            axes.barh(place + shift, rate, 0.36, color=OURS if contender == "nbm_xp" else PEER)
            axes.text(rate, place + shift, f" {contender}, {rate:.2g}", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), list(reversed(rows)), fontsize=8)
    axes.set_xlabel("numbers a nanosecond, the best of the rounds; longer is faster")
    rates = [rate for contenders in rows.values() for _, rate in contenders]
    axes.set(xscale="log", xlim=(0.7 * min(rates), 6 * max(rates)))
    axes.margins(y=0.01)
    return figure


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plot", description="Draw results of the benchmarks.")
    parser.add_argument("results", type=pathlib.Path, help="what --json wrote")
    parser.add_argument("picture", type=pathlib.Path, help="a .png, .svg or .pdf file")
    parser.add_argument("--throughput", metavar="NAME", help="a benchmark of random numbers: draw its throughput")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    options = parsed(arguments)

    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    record = json.loads(options.results.read_text(encoding="utf-8"))
    if options.throughput:
        figure = draw_throughput(record, pyplot, options.throughput)
    else:
        figure = draw_ratios(record, pyplot)
    figure.axes[0].spines[["top", "right"]].set_visible(False)
    figure.set_layout_engine("constrained")
    figure.savefig(options.picture, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    main(sys.argv[1:])
