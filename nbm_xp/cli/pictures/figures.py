"""The pictures of the command plot, by name, each drawn from a model or from the results of a run."""

from __future__ import annotations

import dataclasses
import math
import pathlib
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from matplotlib.colors import ListedColormap

from nbm_xp.boltzmann.ladder import STEPS
from nbm_xp.boltzmann.sequences import (
    ALPHABETS,
    connected_correlations,
    contact_scores,
    effective_couplings,
    pair_frequencies,
    sequence_weights,
    site_pairs,
)
from nbm_xp.files import Place
from nbm_xp.graphs import onsager
from nbm_xp.machines import Array
from nbm_xp.machines.diagnostics import effective_size, r_hat
from nbm_xp.namespace import to_numpy
from nbm_xp.records import finite_json
from nbm_xp.runs import RunError, evaluate, open_dataset, open_samples, read_evaluation, read_result, read_transition
from nbm_xp.storage.arrays import map_array

from .. import inputs
from ..output import InputError, signed
from ..results import Found
from . import panels
from .diagnostics import draw_diagnostics
from .panels import BLUE, GREY, INK, ORANGE, SUBTLE, drawn

PICTURES = (
    "filters", "samples", "diagnostics", "convergence", "traces", "frequencies", "contacts", "transition",
    "spins",
)  # fmt: skip
_Pictures: TypeAlias = dict[str, Callable[[Place], None]]
_FANTASIES, _SWEEPS = 100, 1000
_SEQUENCES, _STEPS = 1000, 500
_RUNS, _TEMPERATURES = 100, (30, 100, 300, 1000)
_CHAINS, _DRAWS = 100, 500  # largest numbers of chains and draws for traces
_POINTS = 300
_DOWN = "#e8eaee"


class Source:
    """A run or a model to draw pictures of.

    Parameters
    ----------
    path : path-like
        A run's directory, or the file of a model.
    seed : int
        Seed of samples drawn from the model.
    units : list of int
        Visible units whose traces to draw.
    """

    def __init__(self, path: Place, seed: int, units: list[int]) -> None:
        self.path = path
        self.run = inputs.run_at(path)
        self.notes: Mapping[str, Any] = inputs.notes_of(self.run)
        self.kind = "model" if self.run is None else self.run.kind
        self.seed = seed
        self.units = units
        if self.kind in ("transition", "graph"):
            return
        if self.run is not None and self.kind != "train" and not self.run.has_model:
            raise InputError(f"{path}: there are no pictures of runs of kind {self.kind}; info says what is in it")
        self.model = inputs.read_model(path)
        if any(not 0 <= unit < self.model.n_features_in_ for unit in units):
            allowed = f"from 0 to {self.model.n_features_in_ - 1}"
            raise InputError(f"--units must be {allowed}, got {','.join(map(str, units))}")

    def pictures(self) -> _Pictures:
        """Return functions that draw the available pictures to a path, by name."""
        with inputs.input_errors(RunError):
            if self.kind == "transition":
                return self._of_lattice(read_transition(self.path))
            if self.kind == "graph":
                return {"traces": self._observables}
            found: _Pictures = {"filters": partial(draw_filters, inputs.weights_of(self.model))}
            if self.kind == "sample":
                return found | {"samples": self._draws, "traces": self._traces}
            found["samples"] = self._samples
            if self.kind in ("train", "model") and self.model.diagnostics_:
                found["diagnostics"] = self._diagnostics
        if "alphabet" in self.notes:  # the machine was trained on sequences
            found |= {"frequencies": self._frequencies, "contacts": self._contacts}
        return found | {"convergence": self._weights if self.kind == "evaluate" else self._convergence}

    def _sequences(self) -> tuple[Array, int]:
        """Return the sequences that the machine was trained on, and the size of their alphabet."""
        rows = inputs.read_rows(self.notes["data"], None, "train", inputs.values_of(self.model))
        return rows, ALPHABETS[self.notes["alphabet"]].size

    def _frequencies(self, out: Place) -> None:
        """Draw pair frequencies and connected correlations of sites, of the model over those of the data."""
        rows, count = self._sequences()
        states = to_numpy(self.model.sample(_SEQUENCES, _STEPS, random_state=self.seed))
        identity = self.notes.get("identity")
        weights = sequence_weights(rows, identity) if identity else None
        pairs = pair_frequencies(rows, count, weights), pair_frequencies(states, count)
        with drawn(out, 13.2, 6.2) as figure:
            left, right = figure.subplots(1, 2)
            data, of_model = map(site_pairs, pairs)
            panels.agreement(left, data, of_model, "Frequencies of two sites")
            data, of_model = (site_pairs(connected_correlations(found)) for found in pairs)
            panels.agreement(right, data, of_model, "Connected correlations of two sites")
            for axes in (left, right):
                axes.set(xlabel="data", ylabel=f"model: {_SEQUENCES:,} sequences after {_STEPS:,} sweeps")

    def _contacts(self, out: Place) -> None:
        """Draw the contact scores of pairs of sites, and mark the highest."""
        model, topology = self.model, self.model.state_.topology
        if not topology.is_factorial or len(topology.sizes) > 2 or model.hidden != "binary":
            raise InputError(f"{self.path}: contacts are drawn for machines with one layer of binary hidden units")
        weights, biases = to_numpy(model.components_), to_numpy(model.intercept_hidden_)
        couplings = effective_couplings(weights, biases, *self._sequences())
        with drawn(out, 7.6, 6.8) as figure:
            panels.contacts(figure.subplots(), contact_scores(couplings))

    def _samples(self, out: Place) -> None:
        states = self.model.sample(_FANTASIES, _SWEEPS, probabilities=True, random_state=self.seed)
        _draw_samples(to_numpy(states), f"{_FANTASIES} fantasies after {_SWEEPS:,} sweeps", out)

    def _diagnostics(self, out: Place) -> None:
        lines = [finite_json(dataclasses.asdict(found)) for found in self.model.diagnostics_]
        laddered = self.model.state_.n_pairs > 0
        sweeps = STEPS if laddered else _SWEEPS
        states = to_numpy(self.model.sample(_FANTASIES, sweeps, random_state=self.seed))
        how = f"{_FANTASIES} samples: {sweeps:,} {'steps on the ladder' if laddered else 'sweeps'}"
        draw_diagnostics(lines, self._some_data(), states, how, out)

    def _some_data(self) -> Array | None:
        """Return evenly spaced training rows; None if their source is unknown or has moved."""
        about = self.notes
        if "data" not in about:
            return None
        try:
            values = inputs.values_of(self.model)
            rows = inputs.read_rows(about["data"], about.get("threshold"), "train", values, missing=True)
        except InputError:  # they have moved; the rest of the picture is drawn without them
            return None
        return to_numpy(rows[:: max(1, len(rows) // _FANTASIES)][:_FANTASIES])

    def _convergence(self, out: Place) -> None:
        """Draw estimates of log Z over the number of temperatures."""
        found: list[Found] = []
        with tempfile.TemporaryDirectory() as nowhere, inputs.input_errors():
            for count in _TEMPERATURES:
                asked: dict[str, Any] = {"n_chains": _RUNS, "n_temperatures": count, "random_state": self.seed}
                run = evaluate(self.model, pathlib.Path(nowhere) / str(count), ladder_steps=0, **asked)
                found.append(read_result(run.path))
        title = f"Partition function, {len(inputs.weights_of(self.model)):,} hidden units"
        with drawn(out, 7.6, 5.4) as figure:
            panels.convergence(figure.subplots(), [each["ais"] for each in found], title, found[-1]["exact"])

    def _weights(self, out: Place) -> None:
        """Draw a histogram of the weights of an evaluation's chains, and log Z."""
        with inputs.input_errors(RunError):
            found = read_evaluation(self.path)
        estimate = found.ais
        if estimate is None:
            raise InputError(f"{self.path}: log Z was given there, not estimated")
        if not math.isfinite(estimate.log_z):
            raise InputError(f"{self.path}: the estimate of log Z there is not finite, as of a model that diverged")
        with drawn(out, 7.6, 5.4) as figure:
            panels.weights(figure.subplots(), estimate, found.exact, found.reverse)

    def _draws(self, out: Place) -> None:
        with inputs.input_errors(RunError):
            states = open_samples(self.path)[:_FANTASIES, -1].compute()
        _draw_samples(states, f"The last draws of {len(states):,} chains", out)

    def _traces(self, out: Place) -> None:
        """Draw traces of the free energy and of the chosen units, one below the other."""
        with inputs.input_errors(RunError):
            kept = open_samples(self.path)
            every = -(-kept.shape[1] // _DRAWS)
            states = kept[:_CHAINS, ::every].compute()
        n_chains, n_draws, n_units = states.shape
        rows = states.reshape(-1, n_units).astype(inputs.weights_of(self.model).dtype)
        energies = to_numpy(self.model.free_energy(rows)).reshape(n_chains, n_draws)
        energy = "free energy" if self.model.state_.topology.is_factorial else "free energy bound"
        quantities = {energy: energies} | {f"unit {unit}": states[:, :, unit] for unit in self.units}
        self._draw_traces(quantities, every, kept.shape[0], out)

    def _observables(self, out: Place) -> None:
        """Draw traces of the observables of chains on a graph."""
        with inputs.input_errors(RunError):
            found = open_dataset(self.path)
        series = {str(name): array for name, array in found.items() if "draw" in array.dims}
        if not series:
            raise InputError(f"{self.path}: nothing was measured there")
        every, total = -(-found.sizes["draw"] // _DRAWS), max(len(array) for array in series.values())
        quantities = {name: array[:_CHAINS, ::every].values for name, array in series.items()}
        self._draw_traces(quantities, every, total, out)

    def _draw_traces(self, quantities: Mapping[str, Array], every: int, total: int, out: Place) -> None:
        """Draw quantities of shape (chains, draws), of every so many draws of the `total` chains."""
        n_chains, n_draws = next(iter(quantities.values())).shape
        configuration = self.run.configuration if self.run is not None else {}
        sweeps = configuration["burn_in"] + configuration["thin"] * (1 + every * np.arange(n_draws))
        one = len({*configuration.get("betas", ())}) < 2  # chains at several temperatures have no R-hat
        with drawn(out, 11, 0.9 + 2.9 * len(quantities)) as figure:
            places = figure.subplots(len(quantities), 1, sharex=True, squeeze=False)[:, 0]
            for axes, (name, values) in zip(places, quantities.items(), strict=True):
                panels.traces(axes, sweeps, values, name)
                said = _mixing(values) if one else ""
                axes.set_title(said, loc="right", fontsize=12, fontweight="normal", color=SUBTLE)
            places[0].set_title(f"Traces of {n_chains:,} of {total:,} chains")
            places[-1].set_xlabel("sweep")
            panels.whole_numbers(places[-1])

    def _of_lattice(self, document: Found) -> _Pictures:
        """Return the pictures of a run of `measure_lattice`; spins are drawn for two-dimensional lattices only."""
        measured = document["measured"]
        found = {name: np.asarray([float(at[name] or 0) for at in measured]) for name in measured[0]}
        pictures: _Pictures = {"transition": partial(_draw_transition, document, found)}
        if len(document["size"]) == 2:
            pictures["spins"] = partial(_draw_spins, map_array(self.path / "spins.npy")[...], found)
        return pictures


def _mixing(values: Array) -> str:
    """Return a text with R-hat and the effective sample size, or "" if they are undefined."""
    if min(values.shape) < 4 or values.min() == values.max():
        return ""
    factor, size = float(r_hat(values)), float(effective_size(values))
    return f"R-hat {signed(factor, 3)}, effective sample size {size:,.0f} of {values.size:,}"


def draw_filters(weights: Array, path: Place) -> None:
    """Draw the filters of the 100 hidden units with the largest weights, of shape (hidden units, visible units)."""
    pixels = inputs.side(weights.shape[1])
    with drawn(path, *_size(len(weights), pixels)) as figure:
        panels.filters(figure.subplots(), weights, pixels)


def _draw_samples(states: Array, title: str, path: Place) -> None:
    """Draw the states of at most 100 chains, or their probabilities."""
    pixels = inputs.side(states.shape[1])
    with drawn(path, *_size(len(states), pixels)) as figure:
        panels.images(figure.subplots(), states[:_FANTASIES], pixels, title)


def _size(count: int, pixels: int | None) -> tuple[float, float]:
    """Return the width and height in inches of a sheet of at most 100 images, ten per row, or of a matrix."""
    return (9.0, 6.5) if pixels is None else (7.6, 0.75 * math.ceil(min(count, _FANTASIES) / 10) + 0.6)


def _draw_spins(spins: Array, found: Mapping[str, Array], out: Place) -> None:
    """Draw the last spins at the lowest and highest temperatures, and where the specific heat is largest."""
    t = found["temperature"]
    shown = list(dict.fromkeys((int(np.argmin(t)), int(np.argmax(found["specific_heat"])), int(np.argmax(t)))))
    with drawn(out, 4.5 * len(shown), 4.6) as figure:
        for axes, k in zip(np.atleast_1d(figure.subplots(1, len(shown))), shown, strict=True):
            axes.imshow(spins[k], cmap=ListedColormap([_DOWN, BLUE]), vmin=-1, vmax=1, interpolation="nearest")
            axes.set(title=f"temperature {t[k]:.4g}", xticks=[], yticks=[])


def _draw_transition(document: Found, found: Mapping[str, Array], out: Place) -> None:
    """Draw energy, specific heat and magnetisation over temperatures, with Onsager's curves."""
    size, coupling, t = tuple(document["size"]), document["coupling"], found["temperature"]
    with drawn(out, 13.5, 4.6) as figure:
        energy, heat, order = every = figure.subplots(1, 3)
        points: dict[str, Any] = {"fmt": "o", "color": BLUE, "markersize": 5, "zorder": 3, "label": "measured"}
        energy.errorbar(t, found["energy"], found["energy_error"], **points)
        heat.errorbar(t, found["specific_heat"], found["specific_heat_error"], **points)
        if document["measured"][0]["exact_energy"] is not None:
            line = np.linspace(t.min(), t.max(), _POINTS)
            curves = [onsager(size, 1 / x, coupling) for x in line.tolist()]
            energy.plot(line, [at.energy for at in curves], color=ORANGE, label="Onsager and Kaufman")
            heat.plot(line, [at.specific_heat for at in curves], color=ORANGE, label="Onsager and Kaufman")
            for axes in every:
                axes.axvline(2 * coupling / np.log(1 + np.sqrt(2)), color=GREY, linestyle=(0, (4, 3)), linewidth=1.4)
        order.plot(t, found["magnetisation"], "o-", color=BLUE, markersize=5, label="size of the magnetisation")
        order.plot(t, found["binder"], "s-", color=INK, markersize=4, linewidth=1.4, label="Binder's cumulant")
        names = ("Energy a spin", "Specific heat a spin", " × ".join(map(str, size)) + " spins")
        for axes, name in zip(every, names, strict=True):
            axes.set(title=name, xlabel="temperature")
            axes.legend(loc="best", fontsize=10)
