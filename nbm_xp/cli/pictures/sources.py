"""What pictures are drawn from: a run's directory has more to show than a model alone."""

from __future__ import annotations

import contextlib
import functools
import math
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nbm_xp.boltzmann.ladder import STEPS
from nbm_xp.boltzmann.sequences import contact_scores, effective_couplings, pair_frequencies, sequence_weights
from nbm_xp.machines.diagnostics import effective_size, r_hat
from nbm_xp.namespace import to_numpy
from nbm_xp.runs import RunError, open_samples, read_curve, read_evaluation

from .. import inputs
from ..commands.evaluate import counts_of, evaluations_of
from ..errors import InputError
from ..output import signed
from . import diagnostics, drawing

__all__ = ["PICTURES", "Source"]

PICTURES = ("filters", "samples", "curve", "diagnostics", "convergence", "traces", "frequencies", "contacts")
_FANTASIES, _SWEEPS = 100, 1000
_SEQUENCES, _STEPS = 1000, 500
_RUNS, _TEMPERATURES = 100, 1000
_CHAINS, _DRAWS = 100, 500  # at most, of those that traces are drawn and judged by


class Source:
    """Something to draw pictures of.

    Parameters
    ----------
    path : pathlib.Path
        A run's directory, or the file of a model.
    seed : int
        Of what is drawn from the model for a picture.
    units : list of int
        Visible units whose traces to draw.
    """

    def __init__(self, path: pathlib.Path, seed: int, units: list[int]) -> None:
        self.path = path
        self.run = inputs.run_at(path)
        self.notes = inputs.notes_of(self.run)
        self.kind = "model" if self.run is None else self.run.kind
        if self.run is not None and self.kind != "train" and not self.run.has_model:
            raise InputError(f"{path}: there are no pictures of runs of kind {self.kind}; info says what is in it")
        self.model = inputs.read_model(path)
        self.seed = seed
        self.units = units
        if any(unit >= self.model.n_features_in_ for unit in units):
            raise InputError(f"--units must be below {self.model.n_features_in_}, got {','.join(map(str, units))}")

    def pictures(self) -> dict[str, Callable[[pathlib.Path], None]]:
        """The pictures that can be drawn, by name."""
        found: dict[str, Callable[[pathlib.Path], None]] = {"filters": self._filters, "samples": self._samples}
        if self.kind == "train" and (lines := self._lines()):
            found["curve"] = functools.partial(drawing.draw_curve, lines)
            if any("diagnostics" in line for line in lines):
                found["diagnostics"] = self._diagnostics
        if self._has_letters:
            found |= {"frequencies": self._frequencies, "contacts": self._contacts}
        if self.kind == "sample":
            return found | {"samples": self._draws, "traces": self._traces}
        return found | {"convergence": self._weights if self.kind == "evaluate" else self._convergence}

    @property
    def _has_letters(self) -> bool:
        """Whether the machine was trained on sequences, in a run's directory."""
        return "alphabet" in self.notes

    def _sequences(self) -> tuple[Any, int]:
        """The sequences that the machine was trained on, and how many letters there are."""
        units = self.model.state_.topology.units[0]
        return inputs.read_rows(self.notes["data"], None, "train", units.within), units.n_states

    def _frequencies(self, out: pathlib.Path) -> None:
        rows, count = self._sequences()
        states = to_numpy(self.model.sample(_SEQUENCES, _STEPS, random_state=self.seed))
        identity = self.notes.get("identity")
        weights = sequence_weights(rows, identity) if identity else None
        data, model = pair_frequencies(rows, count, weights), pair_frequencies(states, count)
        drawing.draw_frequencies(data, model, f"{_SEQUENCES:,} sequences after {_STEPS:,} sweeps", out)

    def _contacts(self, out: pathlib.Path) -> None:
        model = self.model
        if not model.state_.topology.is_factorial or len(model.state_.topology.sizes) > 2 or model.hidden != "binary":
            raise InputError(f"{self.path}: contacts are drawn for machines with one layer of binary hidden units")
        weights, biases = to_numpy(model.components_), to_numpy(model.intercept_hidden_)
        couplings = effective_couplings(weights, biases, *self._sequences())
        drawing.draw_contacts(contact_scores(couplings), out)

    def _filters(self, out: pathlib.Path) -> None:
        drawing.draw_filters(inputs.weights_of(self.model), out)

    def _samples(self, out: pathlib.Path) -> None:
        drawn = self.model.sample(_FANTASIES, _SWEEPS, probabilities=True, random_state=self.seed)
        drawing.draw_samples(to_numpy(drawn), f"{_FANTASIES} fantasies after {_SWEEPS:,} sweeps", out)

    def _lines(self) -> list[dict[str, Any]]:
        with inputs.input_errors():
            return read_curve(self.path)

    def _diagnostics(self, out: pathlib.Path) -> None:
        lines = [line["diagnostics"] for line in self._lines() if "diagnostics" in line]
        laddered = self.model.state_.ladder is not None
        sweeps = STEPS if laddered else _SWEEPS
        states = to_numpy(self.model.sample(_FANTASIES, sweeps, random_state=self.seed))
        how = f"{_FANTASIES} samples: {sweeps:,} {'steps on the ladder' if laddered else 'sweeps'}"
        diagnostics.draw_diagnostics(lines, self._some_data(), states, how, out)

    def _some_data(self) -> Any:
        """Some of the rows that were learnt from, all over them; None where the run does not say where they are."""
        about = self.notes
        if "data" not in about:
            return None
        try:
            rows = inputs.read_rows(about["data"], about.get("threshold"), "train", inputs.values_of(self.model))
        except InputError:  # they have moved since; the rest of the picture stands without them
            return None
        return to_numpy(rows[:: max(1, len(rows) // _FANTASIES)][:_FANTASIES])

    def _convergence(self, out: pathlib.Path) -> None:
        asked = {"n_chains": _RUNS, "random_state": self.seed, "ladder_steps": 0}
        found = evaluations_of(self.model, counts_of(_TEMPERATURES), **asked)
        hidden, exact = len(inputs.weights_of(self.model)), found[-1]["exact"]
        drawing.draw_convergence([each["ais"] for each in found], hidden, exact, out)

    def _weights(self, out: pathlib.Path) -> None:
        """How an estimate settles with the number of chains: a run keeps the weight of each."""
        with _finished():
            found = read_evaluation(self.path)
        estimate = found.ais
        if estimate is None:
            raise InputError(f"{self.path}: log Z was given there, not estimated")
        if not math.isfinite(estimate.log_z):
            raise InputError(f"{self.path}: the estimate of log Z there is not finite, as of a model that diverged")
        title = f"Partition function, {estimate.n_temperatures:,} temperatures"
        drawing.draw_weights(estimate, title, found.exact, out)

    def _draws(self, out: pathlib.Path) -> None:
        with _finished():
            drawn = open_samples(self.path)
            states = drawn[:_FANTASIES, -1].compute()
        drawing.draw_samples(states, f"The last draws of {len(states):,} chains", out)

    def _traces(self, out: pathlib.Path) -> None:
        with _finished():
            drawn = open_samples(self.path)
            every = -(-drawn.shape[1] // _DRAWS)
            states = drawn[:_CHAINS, ::every].compute()
        n_chains, n_draws, n_units = states.shape
        rows = states.reshape(-1, n_units).astype(inputs.weights_of(self.model).dtype)
        energies = to_numpy(self.model.free_energy(rows)).reshape(n_chains, n_draws)
        energy = "free energy" if self.model.state_.topology.is_factorial else "free energy bound"
        quantities = {energy: energies} | {f"unit {unit}": states[:, :, unit] for unit in self.units}
        notes = {name: _diagnosis(values) for name, values in quantities.items()}
        configuration = self.run.configuration if self.run is not None else {}
        thin, burn_in = configuration["thin"], configuration["burn_in"]
        sweeps = burn_in + thin * (1 + every * np.arange(n_draws))
        drawing.draw_traces(sweeps, quantities, notes, f"Traces of {n_chains:,} of {drawn.shape[0]:,} chains", out)


@contextlib.contextmanager
def _finished() -> Iterator[None]:
    """Have a run that is not finished, or is damaged, be bad input."""
    try:
        with inputs.input_errors():
            yield
    except RunError as error:
        raise InputError(str(error)) from error


def _diagnosis(values: Any) -> str:
    """How well chains have mixed, where there is something to say."""
    if min(values.shape) < 4 or values.min() == values.max():
        return ""
    factor, size = float(r_hat(values)), float(effective_size(values))
    return f"R-hat {signed(factor, 3)}, effective sample size {size:,.0f} of {values.size:,}"
