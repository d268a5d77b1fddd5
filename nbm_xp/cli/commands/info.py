"""The command info: installed packages and configuration, or a description of a run or a model."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Annotated, Any

import typer

import nbm_xp
from nbm_xp import natural_bm as B
from nbm_xp.boltzmann.model import Model
from nbm_xp.files import Place
from nbm_xp.runs import RunError, read_result

from .. import inputs
from ..output import answer
from . import options

EXAMPLES = "Examples: [bold]nbm-xp info[/bold]\n\n[bold]nbm-xp info run --json[/bold]"
_LAST_LINES = 5
_MOST = 20  # elements of a list that are shown


def info(
    path: Annotated[
        pathlib.Path | None, typer.Argument(parser=options.path, help="A run's directory, or the file of a model.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show what is installed and configured or, given a path, describe a run or a model."""
    if path is None:
        found = nbm_xp.info()
        answer(found, [nbm_xp.format_info(found)], as_json)
    else:
        found = described(path)
        if "run" in found:
            found["run"]["log"] = found["run"]["log"][-_LAST_LINES:]
        answer(found, _in_lines(found), as_json)


def described(path: Place) -> dict[str, Any]:
    """Describe a run and its model, or a model alone."""
    run = inputs.run_at(path)
    if run is None:
        return {"model": _of_model(path, inputs.read_model(path))}
    files = sorted(entry.name for entry in run.path.iterdir() if not entry.name.startswith("."))
    about = {"kind": run.kind, "path": str(run.path), "seed": run.seed, "created": run.created, "files": files}
    found: dict[str, Any] = {"run": about | {"log": run.events}}
    found |= {"configuration": run.configuration, "versions": run.versions}
    has_model = run.has_model or run.kind == "train"
    try:
        with inputs.input_errors():
            found["result"] = read_result(path)
    except RunError:
        found["run"]["state"] = "not finished"
        has_model = run.has_model or (run.path / "checkpoints" / "model.safetensors").exists()
    if has_model:
        found["model"] = _of_model(path, inputs.read_model(path))
    return found


def _of_model(path: Place, model: Model) -> dict[str, Any]:
    visible, *hidden = model.state_.topology.sizes
    largest = max(float(B.max(B.abs(weights.value))) for weights in model.state_.parameters.weights)
    parameters = {name: value for name, value in model.get_params().items() if value is not None}
    return {
        "path": str(path),
        "kind": type(model).__name__,
        "visible units": visible,
        "hidden units": hidden[0] if len(hidden) == 1 else hidden,
        "dtype": str(model.state_.parameters.dtype),
        "epochs": model.n_iter_,
        "rows learned from": model.n_samples_seen_,
        "largest weight": round(largest, 4),
        "hyperparameters": parameters,
    }


def _in_lines(found: Mapping[str, Any], indent: int = 0) -> list[str]:
    """Format nested mappings as indented lines, with a line for each element of lists of texts."""
    pad, lines = " " * indent, []
    for name, value in found.items():
        if value is None:
            continue
        if isinstance(value, dict):
            lines += [f"{pad}{name}", *_in_lines(value, indent + 2)]
        elif isinstance(value, list) and any(isinstance(item, str) and " " in item for item in value):
            lines += [f"{pad}{name}", *(f"{pad}  {item}" for item in value)]
        else:
            shown = as_text(value)
            lines.append(f"{pad}{name:<18}{shown}" if indent else f"{name}\n  {shown}")
    return lines


def as_text(value: Any) -> str:
    """Format a value that is no mapping; of a long list, the first and the last elements.

    Examples
    --------
    >>> as_text([3, 4]), as_text(list(range(100)))
    ('3, 4', '0, 1, 2, …, 99 (100 values)')
    """
    if not isinstance(value, list):
        return str(value)
    if len(value) > _MOST:
        return f"{', '.join(map(str, value[:3]))}, …, {value[-1]} ({len(value):,} values)"
    return ", ".join(map(str, value))
