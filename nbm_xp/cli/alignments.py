"""Alignments as data of the command: which files are some, how they are read for a machine, and written."""

from __future__ import annotations

import pathlib
from typing import Any

from nbm_xp.boltzmann.sequences import ALPHABETS, PROTEIN, RNA, Alignment, Alphabet, read_fasta, write_fasta
from nbm_xp.machines.units import Values
from nbm_xp.namespace import to_numpy

from .failing import InputError
from .reading import read_data, saying

__all__ = ["alphabet_in", "alphabet_of_run", "drawn_sequences", "is_alignment", "read_alignment", "rows_for"]

ENDINGS = (".fasta", ".fa", ".faa", ".fna", ".afa", ".a2m")
_BY_STATES = {alphabet.size: alphabet for alphabet in (PROTEIN, RNA)}  # DNA is numbered as RNA is


def is_alignment(source: str | pathlib.Path | None) -> bool:
    """Whether a file's name is that of an alignment, packed by gzip or not.

    Examples
    --------
    >>> is_alignment("family.fasta.gz"), is_alignment("rows.npy")
    (True, False)
    """
    return source is not None and str(source).lower().removesuffix(".gz").endswith(ENDINGS)


def read_alignment(source: str, alphabet: Alphabet | None = None) -> Alignment:
    """An alignment from a file."""
    if not pathlib.Path(source).is_file():
        raise InputError(f"{source}: no such file")
    with saying():
        return read_fasta(source, alphabet)


def alphabet_in(source: str) -> Alphabet | None:
    """The alphabet that an alignment is written in; None of other data."""
    return read_alignment(source).alphabet if is_alignment(source) else None


def _sequences(source: str, within: Values | None) -> Any:
    """The rows of an alignment for visible units that can have these values."""
    states = int(within.most) + 1 if within is not None and within.whole else None
    if states not in _BY_STATES:
        kinds = " or ".join(f"categorical:{count}" for count in sorted(_BY_STATES, reverse=True))
        raise InputError(f"{source}: sequences are for visible units {kinds}, of proteins or of RNA and DNA")
    return read_alignment(source, _BY_STATES[states]).states


def rows_for(source: str, threshold: float | None, part: str, within: Values | None) -> Any:
    """Rows for visible units that can have these values, from an alignment or, as `read_data` has it, anything else."""
    if not is_alignment(source):
        return read_data(source, threshold, part, within=within)
    if threshold is not None:
        raise InputError(f"--threshold is for numbers, and {source} holds sequences")
    return _sequences(source, within)


def alphabet_of_run(model: Any, name: str | None) -> Alphabet | None:
    """The alphabet of a machine's sequences: of a name, or else the one with as many letters as a site has states."""
    units = model.state_.topology.units[0]
    found = _BY_STATES.get(getattr(units, "n_states", 0))
    if found is None or name is None:
        return found
    chosen = ALPHABETS[name]
    return chosen if chosen.size == found.size else found


def drawn_sequences(states: Any, alphabet: Alphabet, out: pathlib.Path) -> None:
    """Write the states of visible units as sequences."""
    with saying():
        write_fasta(out, to_numpy(states), alphabet)
