"""The command lattice: spins on a lattice at many temperatures, beside what Onsager found."""

from __future__ import annotations

import json
import pathlib
from typing import Annotated, Any

import numpy as np
import typer

from nbm_xp.namespace.whole import replacing

from ..answering import answer, signed
from ..failing import InputError
from . import options

__all__ = ["EXAMPLES", "LATTICE_FILE", "SPINS_FILE", "lattice"]

LATTICE_FILE, SPINS_FILE = "lattice.json", "spins.npy"
"""What the command writes, in the folder that it is told: what was measured, and the last spins at each temperature."""

EXAMPLES = (
    "Examples: [bold]nbm-xp lattice --size 64 --temperatures 2.0:2.6:13 --sweeps 2000 --out ising[/bold]\n\n"
    "[bold]nbm-xp plot ising[/bold]\n\n[bold]nbm-xp lattice --size 16,16,16 --temperatures 4,4.5,5 --out cubic[/bold]"
)


def lattice(
    out: Annotated[pathlib.Path, typer.Option(help="The folder to write to, which is made.")],
    size: Annotated[
        str, typer.Option(help="How many units along each axis: 64 for a square, or 64,32; more numbers, more axes.")
    ] = "64",
    temperatures: Annotated[
        str, typer.Option(help="Temperatures: low:high:count, or numbers with commas between.")
    ] = "2.0:2.6:13",
    sweeps: Annotated[int, typer.Option(min=2, help="Sweeps that are measured, at each temperature.")] = 1000,
    burn_in: Annotated[int, typer.Option(min=0, help="Sweeps before those.")] = 200,
    chains: Annotated[int, typer.Option(min=1, help="Chains at each temperature.")] = 4,
    coupling: Annotated[float, typer.Option(help="Of all edges.")] = 1.0,
    periodic: Annotated[bool, typer.Option(help="Whether the ends of axes are joined.")] = True,
    rule: Annotated[
        str, typer.Option(help="How spins are drawn anew: heat_bath, metropolis, wolff or swendsen_wang.")
    ] = "heat_bath",
    library: options.Library = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Measure spins on a lattice: energy, specific heat and magnetisation at many temperatures."""
    from nbm_xp.graphs import GraphMachine, transition
    from nbm_xp.graphs import lattice as made

    lengths = _lengths(size)
    points = _temperatures(temperatures)
    if out.exists() and not out.is_dir():
        raise InputError(f"--out: {out} is no folder")
    try:
        machine = GraphMachine(made(lengths, periodic), couplings=coupling)
        found = transition(
            machine,
            points,
            chains=chains,
            sweeps=sweeps,
            burn_in=burn_in,
            rule=rule,
            random_state=seed,
            library=library,
        )
    except ValueError as error:
        raise InputError(f"{error}") from error
    document: dict[str, Any] = {
        "size": list(lengths), "periodic": periodic, "coupling": coupling, "rule": rule, "chains": chains,
        "sweeps": sweeps, "burn_in": burn_in, "seed": seed, "measured": [at.document() for at in found],
    }  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / LATTICE_FILE) as part:
        part.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    with replacing(out / SPINS_FILE) as part, part.open("wb") as file:
        np.save(file, np.stack([at.state for at in found]))
    lines = ["temperature   energy              exact     specific heat      exact    |m|     time"]
    for at in found:
        energy = f"{signed(at.energy, 5):>9} ± {at.energy_error:.5f}"
        heat = f"{at.specific_heat:>8.4f} ± {at.specific_heat_error:.4f}"
        exact = ["" if x is None else signed(x, 5) for x in (at.exact_energy, at.exact_specific_heat)]
        last = f"{at.magnetisation:.4f}  {at.time:>6.1f}"
        lines.append(f"{at.temperature:>11.4f}  {energy}  {exact[0]:>9}  {heat}  {exact[1]:>9}  {last}")
    answer(document, [*lines, f"wrote {out / LATTICE_FILE}"], as_json)


def _lengths(size: str) -> tuple[int, ...]:
    try:
        found = tuple(int(part) for part in size.split(","))
    except ValueError as error:
        raise InputError(f"--size must be whole numbers with commas between, got {size}") from error
    return found * 2 if len(found) == 1 else found


def _temperatures(text: str) -> list[float]:
    parts = text.split(":")
    try:
        if len(parts) == 3:
            low, high, count = float(parts[0]), float(parts[1]), int(parts[2])
            found = [low + (high - low) * k / max(1, count - 1) for k in range(count)]
        else:
            found = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(
            f"--temperatures must be low:high:count, or numbers with commas between, got {text}"
        ) from error
    if not found or not all(0 < t < float("inf") for t in found):
        raise InputError(f"--temperatures must be positive, got {text}")
    return found
