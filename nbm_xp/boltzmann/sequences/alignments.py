"""Alignments in FASTA files, plain or compressed by gzip.

A record is a line with ``>`` and a name, followed by the lines of a sequence. If the sequences differ in length,
lower-case letters and dots are insertions, as in the A2M format, and are removed.
"""

from __future__ import annotations

import gzip
import os
import pathlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp.files import local_path, replacing
from nbm_xp.machines.alphabets import Alphabet, alphabet_of, checked_alphabet

_MAGIC = b"\x1f\x8b"  # of gzip
_UNPACKED, _RATIO = 2**28, 100  # largest decompressed size: in bytes, or as a multiple of the file, if that is more
_INSERTED = {ord(letter): None for letter in "abcdefghijklmnopqrstuvwxyz."}
_WIDTH = 80  # letters per line


@dataclass(frozen=True)
class Alignment:
    """An alignment: sequences of equal length.

    Attributes
    ----------
    names : list of str
    states : numpy.ndarray of uint8, of shape (sequences, sites)
        Indices of letters.
    alphabet : Alphabet
    """

    names: list[str]
    states: Any
    alphabet: Alphabet


def read_fasta(path: str | os.PathLike[str], alphabet: str | Alphabet | None = None) -> Alignment:
    r"""Read an alignment from a FASTA file.

    Parameters
    ----------
    path : path-like
        The file, plain or compressed by gzip.
    alphabet : {"protein", "rna", "dna"} or Alphabet, optional
        Alphabet of the sequences; by default it is inferred from their letters.

    Returns
    -------
    Alignment

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file is not FASTA, is damaged or has letters outside the alphabet, or its sequences differ in length.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "family.fasta"
    >>> _ = file.write_text(">one\nAC-GU\n>two\nACCGA\n")
    >>> found = read_fasta(file)
    >>> found.names, found.alphabet.name
    (['one', 'two'], 'rna')
    >>> found.states
    array([[1, 2, 0, 3, 4],
           [1, 2, 2, 3, 1]], dtype=uint8)
    """
    place = local_path(path)
    known = None if alphabet is None else checked_alphabet(alphabet)
    names, sequences = _records(_text(place), place)
    lengths = {len(sequence) for sequence in sequences}
    if len(lengths) > 1:
        sequences = [sequence.translate(_INSERTED) for sequence in sequences]
        first = len(sequences[0])
        for name, sequence in zip(names, sequences, strict=True):
            if len(sequence) != first:
                told = f"got {len(sequence)} letters in {name!r} and {first} in {names[0]!r}"
                raise ValueError(f"{place}: sequences must be aligned, all of one length: {told}")
    if not len(sequences[0]):
        raise ValueError(f"{place}: sequences must have letters, got none in {names[0]!r}")
    known = known or alphabet_of(sequences)
    try:
        return Alignment(names, known.encode(sequences), known)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def _text(place: pathlib.Path) -> str:
    with open(place, "rb") as file:
        packed = file.read(2) == _MAGIC
        file.seek(0)
        if not packed:
            return file.read().decode("latin-1")
        most = max(_UNPACKED, _RATIO * os.fstat(file.fileno()).st_size)
        try:
            with gzip.open(file) as unpacked:
                found = unpacked.read(most + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{place}: the file is damaged ({error})") from error
    if len(found) > most:
        raise ValueError(f"{place}: the file unpacks to more than {most:,} bytes, which is no alignment's share")
    return found.decode("latin-1")


def _records(text: str, place: pathlib.Path) -> tuple[list[str], list[str]]:
    """Return the names and the sequences."""
    names: list[str] = []
    parts: list[list[str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line.startswith(">"):
            names.append(line[1:].strip())
            parts.append([])
        elif line and not names:
            raise ValueError(
                f"{place}: expected FASTA, whose first line begins with '>', got {line[:40]!r} in line {number}"
            )
        elif line:
            parts[-1].append("".join(line.split()))
    if not names:
        raise ValueError(f"{place}: expected FASTA, got a file without sequences")
    return names, ["".join(lines) for lines in parts]


def write_fasta(
    path: str | os.PathLike[str], states: Any, alphabet: Alphabet, names: Sequence[str] | None = None
) -> None:
    """Write sequences to a FASTA file, completely or not at all.

    Parameters
    ----------
    path : path-like
        The file; compressed by gzip if its name ends in ``.gz``.
    states : array of shape (sequences, sites)
        Indices of letters.
    alphabet : Alphabet
    names : sequence of str, optional
        Names of the sequences; numbers from 1 by default.

    Raises
    ------
    ValueError
        If `states` are not indices of letters, or the numbers of names and sequences differ.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nbm_xp.boltzmann.sequences import RNA
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "drawn.fasta"
    >>> write_fasta(file, [[1, 2, 0], [4, 4, 4]], RNA)
    >>> print(file.read_text(), end="")
    >1
    AC-
    >2
    UUU
    """
    place, texts = local_path(path), alphabet.decode(states)
    called = [f"{number}" for number in range(1, len(texts) + 1)] if names is None else list(names)
    if len(called) != len(texts):
        raise ValueError(f"names must be {len(texts)}, one for each sequence, got {len(called)}")
    lines: list[str] = []
    for name, text in zip(called, texts, strict=True):
        lines += [f">{name}", *(text[start : start + _WIDTH] for start in range(0, len(text), _WIDTH))]
    content = ("\n".join(lines) + "\n").encode("latin-1", "replace")
    with replacing(place) as part:
        part.write_bytes(gzip.compress(content, mtime=0) if place.suffix == ".gz" else content)
