"""Alphabets of sequences, and alignments in FASTA files, plain or compressed by gzip.

A record is a line with ``>`` and a name, followed by the lines of a sequence. If the sequences differ in length,
lower-case letters and dots are insertions, as in the A2M format, and are removed.
"""

from __future__ import annotations

import gzip
import os
import pathlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nbm_xp.files import local_path, replacing
from nbm_xp.namespace import asarray, host_namespace, to_numpy

_GAPS = "-."
_NONE = 255  # marks bytes that are not letters


@dataclass(frozen=True)
class Alphabet:
    """An alphabet: letters and their indices.

    Attributes
    ----------
    name : str
    letters : str
        In the order of their indices; the first one is the gap. A dot is read as a gap too.
    unknown : str
        Letters of undetermined residues, such as X among amino acids, which are read as gaps.
    same : tuple of pairs of str
        Pairs of letters, of which the first is read as the second.

    Examples
    --------
    >>> RNA.encode(["-ACGU", "acgtn"])
    array([[0, 1, 2, 3, 4],
           [1, 2, 3, 4, 0]], dtype=uint8)
    >>> RNA.decode([[1, 2, 3, 4, 0]])
    ['ACGU-']
    """

    name: str
    letters: str
    unknown: str = ""
    same: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """Number of letters, including the gap: the number of states of a site."""
        return len(self.letters)

    @property
    def _numbers(self) -> dict[str, int]:
        found = {letter: number for number, letter in enumerate(self.letters)}
        found |= dict.fromkeys(_GAPS + self.unknown, 0)
        found |= {letter: found[other] for letter, other in self.same}
        return found | {letter.lower(): number for letter, number in found.items()}

    def encode(self, sequences: Sequence[str]) -> Any:
        """Return sequences of equal length as indices of letters.

        Parameters
        ----------
        sequences : sequence of str

        Returns
        -------
        numpy.ndarray of uint8, of shape (sequences, sites)

        Raises
        ------
        ValueError
            If they differ in length, or contain a letter that is not in the alphabet.
        """
        lengths = {len(sequence) for sequence in sequences}
        if len(lengths) > 1:
            raise ValueError(f"sequences must be of one length, got {min(lengths)} to {max(lengths)} letters")
        host, numbers = host_namespace(), self._numbers
        table = bytearray([_NONE]) * 256
        for letter, number in numbers.items():
            table[ord(letter)] = number
        text = "".join(sequences).encode("latin-1", "replace")
        coded = host.frombuffer(text.translate(bytes(table)), dtype=host.uint8)
        if coded.size and coded.max() == _NONE:
            place = int(host.argmax(coded == _NONE))
            number, site = divmod(place, lengths.pop())
            letter = sequences[number][site]
            raise ValueError(
                f"sequences must have letters of {self.name} ({self.letters}), got {letter!r} in sequence {number + 1}"
            )
        return host.reshape(coded, (len(sequences), max(lengths, default=0)))

    def decode(self, states: Any) -> list[str]:
        """Return sequences as text.

        Parameters
        ----------
        states : array of shape (sequences, sites)
            Indices of letters.

        Raises
        ------
        ValueError
            If `states` are not indices of letters.
        """
        host = host_namespace()
        rows = to_numpy(asarray(states, host)) if isinstance(states, (list, tuple)) else to_numpy(states)
        if rows.ndim != 2 or (rows.size and (rows.min() < 0 or rows.max() >= self.size or (rows % 1 != 0).any())):
            raise ValueError(f"states must be rows of whole numbers from 0 to {self.size - 1}")
        table = host.frombuffer(self.letters.encode("ascii"), dtype=host.uint8)
        text = bytes(table[rows.astype("uint8")]).decode("ascii")
        sites = rows.shape[1]
        return [text[place * sites : (place + 1) * sites] for place in range(rows.shape[0])]


PROTEIN = Alphabet("protein", "-ACDEFGHIKLMNPQRSTVWY", unknown="BJOUXZ*")
RNA = Alphabet("rna", "-ACGU", unknown="RYSWKMBDHVN", same=(("T", "U"),))
DNA = Alphabet("dna", "-ACGT", unknown="RYSWKMBDHVN", same=(("U", "T"),))
# The alphabets by name.
ALPHABETS = {alphabet.name: alphabet for alphabet in (PROTEIN, RNA, DNA)}


def alphabet_of(sequences: Iterable[str]) -> Alphabet:
    """Return the alphabet of sequences: RNA or DNA if they have no other letters, else proteins.

    Examples
    --------
    >>> [alphabet_of([text]).name for text in ("AC-GU", "ACGTN", "ACDE")]
    ['rna', 'dna', 'protein']
    """
    letters = set("".join(set("".join({letter for text in sequences for letter in set(text)}).upper()))) - set(_GAPS)
    if letters <= set("ACGUN"):
        return RNA
    return DNA if letters <= set("ACGTN") else PROTEIN


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
    if isinstance(alphabet, str) and alphabet not in ALPHABETS:
        raise ValueError(f"alphabet must be one of {list(ALPHABETS)}, got {alphabet!r}")
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
    known = ALPHABETS[alphabet] if isinstance(alphabet, str) else alphabet or alphabet_of(sequences)
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
