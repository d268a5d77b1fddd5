"""The command report: a page on a run, in one HTML file that needs no network and no scripts."""

from __future__ import annotations

import base64
import datetime
import pathlib
import re
import string
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from nbm_xp.files import replacing, sizes_of
from nbm_xp.runs import RunDirectory, RunError, open_dataset

from .. import inputs
from ..output import InputError, answer
from ..results import LINES
from . import options
from .info import as_text, described

EXAMPLES = "Examples: [bold]nbm-xp report run[/bold]\n\n[bold]nbm-xp report chains --out chains.html[/bold]"
_TEMPLATE: Final = pathlib.Path(__file__).parents[1] / "report.html"
# Pictures that come first on a page, and the sentences where there are none
_ABSENT = {
    "diagnostics": "There is no learning curve: the run is no training with diagnostics.",
    "traces": "There are no energies of chains: the run keeps no series of draws.",
    "convergence": "There is no estimate of log Z to draw: the run is no training and no evaluation.",
    "samples": "There are no samples: the run has no Boltzmann machine.",
}
_MIXING = {"R-hat": ("r_hat", ".3f"), "effective sample size": ("ess", ",.0f"), "Monte Carlo error": ("mcse", ".5f")}


def report(
    path: Annotated[pathlib.Path, typer.Argument(parser=options.path, help="A run's directory.")] = pathlib.Path("run"),
    out: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--out",
            "--output",
            parser=options.path,
            help="The .html file; report.html in the run's directory by default.",
        ),
    ] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Write a page on a run: results, pictures, R-hat, cost, configuration and versions, in one HTML file."""
    run, place = inputs.run_at(path), path / "report.html" if out is None else out
    if run is None:
        raise InputError(f"{path}: a model, and no run's directory; `nbm-xp plot` draws it")
    if place.suffix != ".html":
        raise InputError(f"--out must end in .html, got {place}")
    inputs.check_file(place)
    sections = [f"<h2>{title}</h2>\n{content}" for title, content in _sections(run, described(path), seed)]
    about = f"Run of kind {run.kind}, seed {run.seed}, begun {run.created} with nbm_xp {run.versions['nbm_xp']}."
    filled = {"name": escape(run.path.resolve().name), "about": escape(about), "sections": "\n".join(sections)}
    page = string.Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(filled)
    with replacing(place) as part:
        part.write_text(page, encoding="utf-8")
    answer({"report": str(place)}, [f"wrote {place}"], as_json)


def _sections(run: RunDirectory, found: Mapping[str, Any], seed: int) -> Iterator[tuple[str, str]]:
    """Yield the titles and the contents of the sections."""
    from ..pictures.figures import PICTURES, Source

    result, log = found.get("result"), found["run"]["log"]
    cost = _cost(run, log)
    yield "Results", _results(run, result, cost["seconds"])
    yield "Mixing", _mixing(run)
    pictures = Source(run.path, seed, []).pictures() if result is not None or "model" in found else {}
    for name in dict.fromkeys((*_ABSENT, *PICTURES)):
        if name in pictures:
            yield name.capitalize(), _picture(name, pictures[name])
    if absent := [_absent(why) for name, why in _ABSENT.items() if name not in pictures]:
        yield "Not in this run", "\n".join(absent)
    for name, part in {"cost": cost, **found}.items():
        if name not in ("run", "result"):
            yield name.capitalize(), _table("pairs", _pairs(part))
    yield "Log", f"<details><summary>{len(log):,} lines</summary>{_pre(log)}</details>"


def _results(run: RunDirectory, result: Mapping[str, Any] | None, seconds: float) -> str:
    """Return the results as the command of the run prints them."""
    if result is None:
        return _absent(f"The run is not finished: nbm-xp resume {run.path} continues it.")
    shown = LINES[run.kind]({"seconds": seconds, **result})
    parts = [_pre([line for line in shown if isinstance(line, str) and not line.startswith("wrote ")])]
    for table in (each for each in shown if isinstance(each, Table)):
        cells = zip(*(map(str, column.cells) for column in table.columns), strict=True)
        parts = [_table("numbers", cells, [str(column.header) for column in table.columns])]
    if run.kind in ("train", "evaluate") and not result.get("reverse"):
        parts.append(_absent("log Z is not estimated in reverse: nbm-xp evaluate --reverse does it."))
    return "\n".join(parts)


def _mixing(run: RunDirectory) -> str:
    """Return a table of R-hat, effective sample size and Monte Carlo error, at each temperature, from the dataset."""
    try:
        known = open_dataset(run.path).attrs
    except (RunError, ValueError, ModuleNotFoundError) as error:
        return _absent(f"There is no R-hat: {error}.")
    names = [name.removesuffix("_r_hat") for name in known if name.endswith("_r_hat")]
    rows = [[name, *(_numbers(known.get(f"{name}_{key}"), how) for key, how in _MIXING.values())] for name in names]
    why = "There is no R-hat: there are too few draws, or chains with different distributions."
    return _table("numbers", rows, ["", *_MIXING]) if rows else _absent(why)


def _numbers(values: Any, how: str) -> str:
    """Format a number, or one for each temperature; nothing for None, where it is not known."""
    return ", ".join(
        format(value, how) for value in (values if isinstance(values, list) else [values]) if value is not None
    )


def _picture(name: str, draw: Callable[[pathlib.Path], None]) -> str:
    """Return a picture that the command plot draws, or the reason that there is none."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "picture.png"
        try:
            draw(file)
        except InputError as error:
            return _absent(str(error))
        source = f"data:image/png;base64,{base64.b64encode(file.read_bytes()).decode()}"
    return f'<figure class="{name}" tabindex="0"><img alt="{name}" src="{source}"></figure>'


def _cost(run: RunDirectory, log: Sequence[str]) -> dict[str, Any]:
    """Return the time from the first to the last event, interruptions included, and the size of the directory."""
    kept = [size for name, size in sizes_of(run.path).items() if not name.endswith((".html", ".png"))]
    stamps = re.findall(r"^\d{4}-\d\d-\d\dT[\d:.]+\+00:00(?= )", "\n".join(log), re.MULTILINE)
    first, last = (datetime.datetime.fromisoformat(stamp) for stamp in (run.created, [run.created, *stamps][-1]))
    resumed = sum(" resumed" in line for line in log)
    space = f"{sum(kept) / 1e6:,.2f} MB in {len(kept):,} files"
    return {
        "seconds": round((last - first).total_seconds(), 1),
        "last event": f"{last:%Y-%m-%d %H:%M:%S}",
        "resumed": resumed,
        "disk": space,
    }


def _pairs(found: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield names and values; those of a nested mapping follow its own name."""
    for name, value in found.items():
        if isinstance(value, Mapping):
            yield from _pairs(value, f"{above}{name}.")
        elif value is not None:
            yield f"{above}{name}", as_text(value)


def _table(kind: str, rows: Iterable[Sequence[str]], header: Sequence[str] = ()) -> str:
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    lines = [f"<thead><tr>{top}</tr></thead>"] if header else []
    for first, *others in rows:
        name, cells = re.sub("([._])", r"\1<wbr>", escape(first)), "</td><td>".join(map(escape, others))
        lines.append(f'<tr><th scope="row">{name}</th><td>{cells}</td></tr>')
    return f'<div class="wide"><table class="{kind}">{"".join(lines)}</table></div>'


def _pre(lines: Sequence[str]) -> str:
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def _absent(why: str) -> str:
    return f'<p class="absent">{escape(why)}</p>'
