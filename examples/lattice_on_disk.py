"""A lattice in blocks on disk: the Ising model above its critical temperature, resumable after any interruption."""

import pathlib
import sys
import tempfile

from matplotlib.figure import Figure

from nbm_xp.graphs import GraphMachine, lattice
from nbm_xp.runs import open_dataset, projected, sample_graph


def main(picture: str = "lattice_on_disk.png", length: int = 512, n_sweeps: int = 200) -> float:
    """Sample one chain at temperature 2.5; return the mean energy per spin, which Onsager gives as -1.106."""
    ising = GraphMachine(lattice((length, length)))
    arguments = {"n_sweeps": n_sweeps, "burn_in": 100, "beta": 0.4, "chunks": length // 2}
    print(projected(sample_graph, ising, **arguments))  # the memory, storage and time that the run will need
    folder = pathlib.Path(tempfile.mkdtemp()) / "ising"
    run = sample_graph(ising, folder, **arguments, random_state=0)
    draws = open_dataset(run.path)

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    energy, spins = figure.subplots(1, 2)
    energy.plot(draws["energy"].values[0])
    energy.set_xlabel("sweep")
    energy.set_ylabel("energy per spin")
    spins.imshow(draws["state"].values[0], cmap="Greys", interpolation="nearest")
    spins.set_axis_off()
    figure.savefig(picture, dpi=100)
    return float(draws["energy"].mean())


if __name__ == "__main__":
    print(main(*sys.argv[1:2]))
