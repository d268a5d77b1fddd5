"""The command info: what is installed, and what a path leads to, a run's directory or a model."""

from __future__ import annotations

import json
import pathlib
from typing import Annotated, Any

import typer

import nbm_xp
from nbm_xp import natural_bm as B
from nbm_xp.files import replacing
from nbm_xp.namespace import library_name, to_numpy
from nbm_xp.runs import RunDirectory, RunError, read_result

from .. import inputs
from ..output import answer
from . import options

__all__ = ["EXAMPLES", "info"]

EXAMPLES = (
    "Examples: [bold]nbm-xp info[/bold]\n\n[bold]nbm-xp info run --json[/bold]\n\n"
    "[bold]nbm-xp info --data scans.npy --library torch --seed 7[/bold]"
)
_LAST_LINES = 5


def info(
    path: Annotated[pathlib.Path | None, typer.Argument(help="A run's directory, or the file of a model.")] = None,
    data: Annotated[str | None, typer.Option(help="Also describe this data, read as train reads it.")] = None,
    library: options.Library = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Also show the first random numbers of this seed.")] = None,
    out: Annotated[pathlib.Path | None, typer.Option(help="Also write all of it to this .json file.")] = None,
    as_json: options.Json = False,
) -> None:
    """Say what is installed and configured or, given a path, what a run or a model is."""
    if out is not None:
        inputs.check_file(out, ".json")
    described = None if data is None else _described(inputs.read_rows(data))
    if path is None:
        found = nbm_xp.info()
        lines = [nbm_xp.format_info(found)]
    else:
        found = _of_path(path)
        lines = _in_lines(found)
    if library is not None:
        found["library"] = library_name(inputs.library(library))
        lines.append(f"library\n  {found['library']} can be used")
    if described is not None:
        found["data"] = described
        lines += _in_lines({"data": described})
    if seed is not None:
        found["uniforms"] = _first_uniforms(seed, library)
        lines.append(f"uniforms\n  seed {seed:<13}{' '.join(f'{value:.9f}' for value in found['uniforms'])} …")
    if out is not None:
        with replacing(out) as part:
            part.write_text(json.dumps(found, indent=2, default=str) + "\n", encoding="utf-8")
        lines.append(f"wrote {out}")
    answer(found, lines, as_json)


def _of_path(path: pathlib.Path) -> dict[str, Any]:
    """A run and its model, or a model alone."""
    run = inputs.run_at(path)
    if run is None:
        return {"model": _of_model(path, inputs.read_model(path))}
    found: dict[str, Any] = {"run": _of_run(run), "configuration": run.configuration, "versions": run.versions}
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


def _of_run(run: RunDirectory) -> dict[str, Any]:
    log = run.path / "run.log"
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    found = {"kind": run.kind, "path": str(run.path), "seed": run.seed, "created": run.created}
    found["files"] = sorted(entry.name for entry in run.path.iterdir() if not entry.name.startswith("."))
    found["log"] = lines[-_LAST_LINES:]
    return found


def _of_model(path: pathlib.Path, model: Any) -> dict[str, Any]:
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
        "rows learnt from": model.n_samples_seen_,
        "largest weight": round(largest, 4),
        "hyperparameters": parameters,
    }


def _in_lines(found: dict[str, Any], indent: int = 0) -> list[str]:
    """Nested mappings as indented lines, names in a column; long lists a line for each element."""
    pad, lines = " " * indent, []
    for name, value in found.items():
        if value is None:
            continue
        if isinstance(value, dict):
            lines += [f"{pad}{name}", *_in_lines(value, indent + 2)]
        elif isinstance(value, list) and any(isinstance(item, str) and " " in item for item in value):
            lines += [f"{pad}{name}", *(f"{pad}  {item}" for item in value)]
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            lines.append(f"{pad}{name:<18}{shown}" if indent else f"{name}\n  {shown}")
    return lines


def _described(rows: Any) -> dict[str, Any]:
    return {
        "rows": rows.shape[0],
        "features": rows.shape[1],
        "dtype": str(rows.dtype),
        "mean": round(float(rows.mean()), 6),
        "binary": bool(((rows == 0) | (rows == 1)).all()),
    }


def _first_uniforms(seed: int, library: str | None) -> list[float]:
    """Four numbers to compare between machines and libraries: they are the same to the last bit."""
    from nbm_xp.machines.randomness import stream

    with nbm_xp.use_backend(library or nbm_xp.backend()):
        drawn = B.eval(B.random_uniform((4,), dtype="float32", rng=stream(seed)))
    return [float(value) for value in to_numpy(drawn)]
