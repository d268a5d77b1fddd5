"""Random numbers on a cluster: a hundred million normal numbers, and the same bits for other blocks and workers."""

import sys

import dask.array as da
from dask.distributed import Client, LocalCluster
from matplotlib.figure import Figure

from nbm_xp import Generator


def main(picture: str = "random_on_a_cluster.png", rows: int = 1_000_000) -> bool:
    """Histogram `rows` × 100 numbers on two workers; return whether the draw in other blocks has the same bits."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        numbers = Generator(2026, "dask").normal(size=(rows, 100), chunks=(rows // 100, 100))
        counts, edges = da.histogram(numbers, bins=200, range=(-7, 7))
        counts = counts.compute()
        other = Generator(2026, "dask").normal(size=(rows, 100), chunks=(rows // 7, 33))
        equal = bool((numbers[:1000] == other[:1000]).all().compute())

    figure = Figure(figsize=(5.4, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.stairs(counts, edges)
    axes.set_yscale("log")
    axes.set_xlabel("normal numbers")
    axes.set_ylabel("count")
    figure.savefig(picture, dpi=100)
    return equal


if __name__ == "__main__":
    print(main(*sys.argv[1:2]))
