"""Draw the throughput of random numbers: ``python -m benchmarks.plot_draws results.json docs/random_throughput.png``.

The results are those of ``python -m benchmarks --only draws --json results.json``.
"""

import json
import pathlib
import sys


def main(results: str, picture: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    record = json.loads(pathlib.Path(results).read_text(encoding="utf-8"))
    rows: dict[str, list[tuple[str, float]]] = {}
    for timing in record["timings"]:
        if timing.get("seconds") and timing["per"] > 1:
            rate = timing["per"] / min(timing["samples"]) / 1e9
            rows.setdefault(timing["row"], []).append((timing["contender"], rate))
    figure, axes = pyplot.subplots(figsize=(8, 0.5 + 0.75 * len(rows)), layout="constrained")
    for place, contenders in enumerate(reversed(rows.values())):
        for shift, (contender, rate) in zip((0.19, -0.19), contenders, strict=False):
            color = "#2a6f97" if contender == "nbm_xp" else "#c9c9c9"
            axes.barh(place + shift, rate, 0.36, color=color)
            axes.text(rate, place + shift, f" {contender}, {rate:.2g}", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), list(reversed(rows)), fontsize=8)
    axes.set_xlabel("numbers a nanosecond, the best of the rounds; longer is faster")
    axes.set_xlim(0, 1.35 * max(rate for contenders in rows.values() for _, rate in contenders))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])
