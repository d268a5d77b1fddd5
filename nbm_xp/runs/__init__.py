"""Long computations with Boltzmann machines in directories on disk: resumable, with the same results on any workers.

Names are imported on first use, because importing Dask, xarray and zarr takes a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbm_xp.package import public_names

if TYPE_CHECKING:
    from .datatree import open_datatree
    from .directory import RunDirectory, RunError
    from .evaluation import Evaluation, evaluate, read_evaluation
    from .execution import resume
    from .graph_runs import sample_graph
    from .projection import Projected, projected
    from .reading import diagnose, open_dataset, open_samples, read_result
    from .sampling import sample
    from .training import train, trained_model
    from .transitions import measure_lattice, read_transition
    from .workers import Workers

__all__ = [
    "Evaluation", "Projected", "RunDirectory", "RunError", "Workers", "diagnose", "evaluate", "measure_lattice",
    "open_dataset", "open_datatree", "open_samples", "projected", "read_evaluation", "read_result", "read_transition",
    "resume", "sample", "sample_graph", "train", "trained_model",
]  # fmt: skip

_CHAPTERS = {
    "datatree": ["open_datatree"],
    "directory": ["RunDirectory", "RunError"],
    "evaluation": ["Evaluation", "evaluate", "read_evaluation"],
    "execution": ["resume"],
    "graph_runs": ["sample_graph"],
    "projection": ["Projected", "projected"],
    "reading": ["diagnose", "open_dataset", "open_samples", "read_result"],
    "sampling": ["sample"],
    "training": ["train", "trained_model"],
    "transitions": ["measure_lattice", "read_transition"],
    "workers": ["Workers"],
}

public_names(globals(), later={name: chapter for chapter, names in _CHAPTERS.items() for name in names})
