"""The command plot: pictures of a run or a model."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from nbm_xp.files import Place

from .. import inputs
from ..output import InputError, answer
from . import options

EXAMPLES = (
    "Examples: [bold]nbm-xp plot run[/bold]\n\n[bold]nbm-xp plot run --what filters --out filters.png[/bold]\n\n"
    "[bold]nbm-xp plot chains --what traces --units 3,17[/bold]"
)


def plot(
    path: Annotated[
        pathlib.Path, typer.Argument(parser=options.path, help="A run's directory, or the file of a model.")
    ] = pathlib.Path("run"),
    what: Annotated[
        str | None,
        typer.Option(
            help="One of filters, samples, diagnostics, traces, convergence, and, of machines trained on "
            "sequences, frequencies and contacts; of what lattice wrote, transition and spins. All that there are by "
            "default."
        ),
    ] = None,
    out: Annotated[
        pathlib.Path | None,
        typer.Option(
            parser=options.path, help="The .png file, or the folder for several; by default beside what is drawn."
        ),
    ] = None,
    units: Annotated[str | None, typer.Option(help="For traces: numbers of units to follow, as 3,17.")] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Plot filters, samples, training diagnostics, traces of chains, and the convergence of estimates of log Z."""
    from ..pictures.figures import PICTURES, Source

    if what is not None and what not in PICTURES:
        raise InputError(f"--what must be one of {', '.join(PICTURES)}, got {what}")
    pictures = Source(path, seed, inputs.whole_numbers(units, "--units")).pictures()
    if what is not None and what not in pictures:
        raise InputError(f"{path}: there is nothing to draw {what} from; there is for {', '.join(pictures)}")
    wanted = list(pictures) if what is None else [what]
    written = [_place(out, name, path, len(wanted)) for name in wanted]
    for name, place in zip(wanted, written, strict=True):
        pictures[name](place)
    answer({"pictures": [str(place) for place in written]}, [f"wrote {place}" for place in written], as_json)


_OTHER_PICTURES = (".gif", ".jpeg", ".jpg", ".pdf", ".svg", ".webp")


def _place(out: Place | None, name: str, path: Place, count: int) -> Place:
    """Return the path of a picture."""
    one = out is not None and out.suffix == ".png"
    if one and count > 1:
        raise InputError(f"--out: {out} is one file, and there are {count} pictures: choose one with --what")
    if out is not None and out.suffix in _OTHER_PICTURES and not out.is_dir():
        raise InputError(f"--out must end in .png, or be a folder, got {out}")
    place = out or (path if path.is_dir() else path.parent)
    place = place if one else place / f"{name}.png"
    inputs.check_file(place)
    return place
