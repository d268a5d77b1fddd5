"""Evaluation runs, in blocks: estimates of log Z, log-likelihoods of rows, energy and entropy, draws beside rows."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp.boltzmann import LadderEstimate
from nbm_xp.boltzmann.annealing import AISEstimate, estimate, inverse_temperatures
from nbm_xp.boltzmann.chains import Machine
from nbm_xp.boltzmann.ladder import STEPS
from nbm_xp.boltzmann.ladder import estimate as ladder_estimate
from nbm_xp.boltzmann.partition import is_enumerable, log_z_of
from nbm_xp.boltzmann.quality import AdversarialAccuracy, Thermodynamics, moments
from nbm_xp.boltzmann.tempering import adaptive_temperatures
from nbm_xp.files import Place
from nbm_xp.machines.estimators import check_names
from nbm_xp.machines.rows import checked_rows, known_length
from nbm_xp.namespace import array_namespace, is_lazy, size_in_bytes
from nbm_xp.namespace.errors import check_flag, positive_int

from . import inputs, store
from .directory import RunDirectory
from .evaluation_jobs import JOBS, LADDER_ARRAYS, THERMAL_ARRAYS
from .execution import Kind, Progress, Warn, begin, check_begin, finished
from .job import Demand, block_length
from .projection import Input
from .workers import Workers

_STEPS_IN_A_SEGMENT = 250
_DRAWS = {"n_draws": 1, "thin": 1, "layers": [0], "probabilities": False, "clamp": {}}  # see `SampleJob`
RESULT = "evaluation.json"
ARRAYS = "evaluation.zarr"


def evaluate(
    model: Any,
    directory: str | os.PathLike[str],
    X: Any = None,
    *,
    n_chains: int = 100,
    n_temperatures: int | str = 1000,
    betas: Sequence[float] | None = None,
    log_z: float | AISEstimate | None = None,
    reverse: bool | None = None,
    n_sweeps: int = 1000,
    ladder_steps: int = STEPS,
    thermodynamics: bool = False,
    adversarial_accuracy: bool = False,
    chunks: int | None = None,
    checkpoint_every: int | None = None,
    random_state: Any = None,
    library: str | None = None,
    scheduler: str | Workers = "threads",
    progress: Progress | None = None,
) -> RunDirectory:
    """Estimate log Z of a model, with error bars, and the mean log-likelihood of rows.

    For machines with connections between hidden layers, a mean-field lower bound replaces the log-likelihood of rows;
    `Evaluation.lower_bound` is then True.

    Parameters
    ----------
    model : model of `nbm_xp.boltzmann`
    directory : path-like
        The run's directory, or its address in an object store, which must not exist or be empty.
    X : array of shape (rows, visible units), optional
        Rows to evaluate, copied into the run's directory (a Dask array block by block). Of a row with missing values,
        NaN, it is the log-likelihood of the others: see `RBM.log_likelihood`.
    n_chains, n_temperatures, betas : optional
        Number of chains and inverse temperatures of annealed importance sampling: see `RBM.ais`.
    log_z : float or AISEstimate, optional
        The logarithm of the partition function, if known; annealing is then skipped.
    reverse : bool, optional
        Whether to anneal as many chains in reverse as well, which overestimates log Z on average. Defaults to True
        if the model has a ladder and `ladder_steps` is not 0.
    n_sweeps : int, optional
        Number of sweeps before chains are annealed in reverse, and of draws that are compared with rows. Not used for a
        model with a ladder: both are then the last states on the ladder.
    ladder_steps : int, optional
        Number of steps of `n_chains` chains on the ladder of a model trained with ``training="ptt"``, from which log Z
        is estimated too: see `RBM.ladder_log_partition`. 0 skips this estimate.
    thermodynamics : bool, optional
        Whether to estimate energy and entropy along the inverse temperatures as well, by a second annealing of as many
        chains: see `RBM.thermodynamics`.
    adversarial_accuracy : bool, optional
        Whether to compare the first rows of `X`, at most `n_chains` of them, which should be in random order, with as
        many draws of the model, one from each chain: see `RBM.adversarial_accuracy`. Rows must then be complete.
    chunks : int, optional
        Number of chains in a block. Defaults to 128.
    checkpoint_every : int, optional
        Number of temperatures or sweeps per task. Defaults to 250.
    random_state, library, scheduler
        See `sample`.
    progress : callable, optional
        ``progress(done, total)``, as in `sample`; both count steps of single chains, and rows.

    Returns
    -------
    RunDirectory
        Read the result with `read_evaluation`. The Zarr group ``evaluation.zarr`` holds the log weight of each chain
        and the free energy of each row, as computed by the model's `free_energy`.

    Raises
    ------
    ValueError, FileExistsError, RunError
        As in `sample`.

    References
    ----------
    R. Salakhutdinov and I. Murray, "On the quantitative analysis of deep belief networks", ICML 2008.
    Y. Burda, R. Grosse and R. Salakhutdinov, "Accurate and conservative estimates of MRF log-likelihood using reverse
    annealing", AISTATS 2015.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "run"
    >>> import numpy as np
    >>> from nbm_xp.boltzmann import RBM
    >>> from nbm_xp.runs import evaluate, read_evaluation
    >>> rbm = RBM.from_parameters(np.eye(4), np.zeros(4), np.zeros(4))
    >>> rows = np.eye(4)
    >>> run = evaluate(rbm, place, rows, n_chains=200, n_temperatures=50, random_state=0)
    >>> found = read_evaluation(run.path)
    >>> found.ais.log_z_low < rbm.log_partition() < found.ais.log_z_high
    True
    >>> exact = float(rbm.log_likelihood(rows).mean())
    >>> abs(found.mean_log_likelihood - exact) < 1e-9  # log Z of so small a machine is the exact one
    True
    """
    check_begin(directory, progress)
    topology = inputs.fitted_model(model).state_.topology
    chains = positive_int(n_chains, "n_chains")
    temperatures = inverse_temperatures(n_temperatures, betas) if log_z is None else []
    known = None if log_z is None else log_z_of(log_z)
    sweeps, climbs = positive_int(n_sweeps, "n_sweeps", 0), positive_int(ladder_steps, "ladder_steps", 0)
    if 0 < climbs < 4:
        raise ValueError(f"ladder_steps must be 0, or at least 4, got {ladder_steps!r}")
    if reverse not in (None, True, False):
        raise ValueError(f"reverse must be True, False or None, got {reverse!r}")
    laddered = model.state_.n_pairs > 0 and climbs > 0 and log_z is None
    reverse = laddered if reverse is None else reverse
    if reverse and log_z is not None:
        raise ValueError("reverse must be left out where log_z is given: then nothing is annealed")
    rows = 0
    if X is not None:
        check_names(model.state_.feature_names, X)
        within = topology.units[0].within
        X = checked_rows(X, model.n_features_in_, within=within, missing=not adversarial_accuracy)
        rows = known_length(X)
    elif log_z is not None:
        raise ValueError("X must be given where log_z is: there would be nothing to do")
    check_flag("thermodynamics", thermodynamics)
    check_flag("adversarial_accuracy", adversarial_accuracy)
    if thermodynamics and (log_z is not None or chains < 2):
        raise ValueError("thermodynamics must be left out where log_z is given, and with a single chain")
    if adversarial_accuracy and rows < 2:
        raise ValueError("X must be given, with at least two rows, where adversarial_accuracy is True")
    every = positive_int(_STEPS_IN_A_SEGMENT if checkpoint_every is None else checkpoint_every, "checkpoint_every")
    if temperatures is None:
        temperatures = adaptive_temperatures(Machine.of(model.state_))
    configuration = {
        "n_chains": chains,
        "betas": temperatures,
        "log_z": known,
        "chunks": block_length(chunks, chains),
        "checkpoint_every": every,
        "library": inputs.library_for(model, library),
        "model": functools.partial(inputs.digest_of_model, model),
        "n_rows": rows,
        "rows": None if X is None else functools.partial(inputs.digest_of, X),
        "ladder": functools.partial(inputs.digest_of_ladder, model) if laddered else None,
        "ladder_steps": climbs if laddered else 0,
        "reverse": ("the ladder" if laddered else "chains") if reverse else None,
        "n_sweeps": sweeps if reverse and not laddered else 0,
        "thermodynamics": bool(thermodynamics),
    }
    if adversarial_accuracy:
        configuration |= _DRAWS | {"burn_in": max((climbs if laddered else sweeps) - 1, 0)}
    size = 0 if X is None else size_in_bytes(X)
    return begin(
        Evaluating, directory, configuration, random_state=random_state, scheduler=scheduler, progress=progress,
        model=model, save=None if X is None else functools.partial(inputs.save_rows, X),
        held=0 if X is None or is_lazy(array_namespace(X)) else size,
        inputs=[] if X is None else [Input(size, size * min(rows, inputs.ROWS_AT_ONCE) // rows)],
    )  # fmt: skip


class Evaluating(Kind):
    """Runs of `evaluate`."""

    name, results, stored, document = "evaluate", (ARRAYS, RESULT), ARRAYS, RESULT
    job_kinds = JOBS

    @property
    def closing(self) -> Demand:
        """See `Kind`: the model and all arrays are read."""
        reads = 5 + sum(array.n_chunks for array in self.arrays)
        return Demand(sum(array.nbytes for array in self.arrays), reads=reads, writes=1)

    def finish(self, unfinished: Place) -> Warn | None:
        """Write the estimates, those along inverse temperatures of the model itself, without weights of chains."""
        model = self.run.load_model()
        exact = float(model.log_partition()) if is_enumerable(model.state_.topology) else None
        found = self.found(unfinished, exact)
        document = dict(vars(found))
        if found.thermodynamics is not None:
            document["thermodynamics"] = {name: float(x[-1]) for name, x in vars(found.thermodynamics).items()}
        if found.adversarial_accuracy is not None:
            document["adversarial_accuracy"] = vars(found.adversarial_accuracy)
        for name in ("ais", "reverse", "ladder"):
            if (estimated := document[name]) is not None:
                bounds = {bound: getattr(estimated, bound) for bound in ("log_z_low", "log_z_high")}
                document[name] = bounds | {key: x for key, x in vars(estimated).items() if key != "log_weights"}
        self.write_document(document)
        return None if found.ladder is None else found.ladder.warn

    def result(self) -> dict[str, Any]:
        """Return the estimates and the number of chains."""
        read_evaluation(self.run.path)
        return self.read_document() | {"n_chains": self.run.configuration["n_chains"]}

    def found(self, place: Place, exact: float | None) -> Evaluation:
        """Return the evaluation from the arrays written by the tasks; `exact` is log Z by enumeration."""
        asked, model = self.run.configuration, self.run.load_model()
        arrays = {name: array[...] for name, array in store.open_arrays(place, self.run.result_identity).items()}
        ais = reverse = ladder = thermal = compared = None
        if asked["betas"]:
            ais = estimate(arrays["log_weight"], len(asked["betas"]))
            if asked["reverse"]:
                reverse = estimate(arrays["reverse_log_weight"], len(asked["betas"]), reverse=True)
            if asked["ladder"]:
                ladder = ladder_estimate(Machine.of(model.state_), *(arrays[name] for name in LADDER_ARRAYS))
            if asked.get("thermodynamics"):
                thermal = moments(asked["betas"], *(arrays[name] for name in THERMAL_ARRAYS))
        if asked.get("n_draws"):
            rows = inputs.rows_of(self.run.path, 0, asked["n_chains"])
            compared = model.adversarial_accuracy(rows, arrays["visible"][: len(rows), 0, :])
        log_z: Any = exact if asked["log_z"] is None else asked["log_z"]
        low = high = log_z
        if log_z is None and (best := ladder or ais) is not None:  # without log Z, there is annealing
            log_z, low, high = best.log_z, best.log_z_low, best.log_z_high
        likelihood: dict[str, float] = {}
        if asked["n_rows"]:
            energies = arrays["free_energy"].astype("float64")
            bounds = {"": log_z, "_low": high, "_high": low}
            likelihood = {
                f"mean_log_likelihood{name}": -float(energies.mean()) - bound for name, bound in bounds.items()
            }
            if len(energies) > 1:
                likelihood["standard_error"] = float(energies.std(ddof=1)) / math.sqrt(len(energies))
        return Evaluation(
            log_z, low, high, asked["log_z"], exact, ais, reverse, ladder, asked["n_rows"],
            lower_bound=not model.state_.topology.is_factorial, thermodynamics=thermal, adversarial_accuracy=compared,
            **likelihood,
        )  # fmt: skip


@dataclass(frozen=True)
class Evaluation:
    """Result of `evaluate`.

    Attributes
    ----------
    log_z, log_z_low, log_z_high : float
        Best value of log Z: the given one, else the exact one, else estimated along the ladder, else by annealing; and
        the bounds three standard errors below and above an estimate.
    given : float or None
        Log Z as passed to `evaluate`.
    exact : float or None
        Log Z by enumeration, if the model is small enough.
    ais, reverse : AISEstimate or None
        Log Z by annealing, which is too small on average, and in reverse, which is too large on average.
    ladder : LadderEstimate or None
        Log Z along the ladder of the training.
    n_rows : int
        Number of rows.
    mean_log_likelihood : float or None
        Mean log-likelihood of the rows, in nats, or its lower bound if `lower_bound` is True; None without rows.
    mean_log_likelihood_low, mean_log_likelihood_high : float or None
        The same with the bounds of log Z. If `lower_bound` is True, the log-likelihood may exceed both.
    standard_error : float or None
        Standard error of the mean over the rows.
    thermodynamics : Thermodynamics or None
        Energy and entropy along inverse temperatures.
    adversarial_accuracy : AdversarialAccuracy or None
        Nearest-neighbour adversarial accuracy of draws beside rows.
    lower_bound : bool
        Whether log-likelihoods are mean-field lower bounds, as for machines with connected hidden layers.
    """

    log_z: float
    log_z_low: float
    log_z_high: float
    given: float | None
    exact: float | None
    ais: AISEstimate | None
    reverse: AISEstimate | None
    ladder: LadderEstimate | None
    n_rows: int
    lower_bound: bool
    mean_log_likelihood: float | None = None
    mean_log_likelihood_low: float | None = None
    mean_log_likelihood_high: float | None = None
    standard_error: float | None = None
    thermodynamics: Thermodynamics | None = None
    adversarial_accuracy: AdversarialAccuracy | None = None


def read_evaluation(directory: str | os.PathLike[str]) -> Evaluation:
    """Return the result of a run of `evaluate`.

    Parameters
    ----------
    directory : path-like
        The run's directory.

    Raises
    ------
    RunError
        If the run is not finished.
    ValueError
        If its results are damaged.
    """
    evaluating = Evaluating(finished(directory, "evaluate"))
    return evaluating.found(evaluating.run.path / ARRAYS, evaluating.read_document()["exact"])
