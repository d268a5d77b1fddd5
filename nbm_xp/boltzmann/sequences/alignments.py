"""Alphabets of sequences, and alignments in FASTA files, packed by gzip or not.

A record is a line that begins with ``>`` and says the name, and the lines of its sequence. Where sequences are not of
one length, small letters and dots are taken for insertions, as in the format A2M, and left out.
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

__all__ = ["ALPHABETS", "Alignment", "Alphabet", "DNA", "PROTEIN", "RNA", "alphabet_of", "read_fasta", "write_fasta"]

_GAPS = "-."
_NONE = 255  # no letter's number


@dataclass(frozen=True)
class Alphabet:
    """Letters and their numbers.

    Attributes
    ----------
    name : str
    letters : str
        In the order of their numbers; the first one is the gap, which a dot is read as, too.
    unknown : str
        Letters for what was not determined, as X among amino acids: they are read as gaps.
    same : tuple of pairs of str
        Letters that are read as others.

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
        """How many letters there are, the gap included: the states of a site."""
        return len(self.letters)

    @property
    def _numbers(self) -> dict[str, int]:
        found = {letter: number for number, letter in enumerate(self.letters)}
        found |= dict.fromkeys(_GAPS + self.unknown, 0)
        found |= {letter: found[other] for letter, other in self.same}
        return found | {letter.lower(): number for letter, number in found.items()}

    def encode(self, sequences: Sequence[str]) -> Any:
        """Sequences of one length as numbers.

        Parameters
        ----------
        sequences : sequence of str

        Returns
        -------
        numpy.ndarray of uint8, of shape (sequences, sites)

        Raises
        ------
        ValueError
            If they are not of one length, or there is a letter that the alphabet has not.
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
        """Sequences as text again.

        Parameters
        ----------
        states : array of shape (sequences, sites)
            Whole numbers.

        Raises
        ------
        ValueError
            If they are not numbers of letters.
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
ALPHABETS = {alphabet.name: alphabet for alphabet in (PROTEIN, RNA, DNA)}
"""The alphabets by name."""


def alphabet_of(sequences: Iterable[str]) -> Alphabet:
    """The alphabet that sequences are written in: that of RNA or DNA, if they have no other letters, else proteins'.

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
_UNPACKED, _RATIO = 2**28, 100  # what is packed may take more bytes than the first, or times its file, but not both
_INSERTED = {ord(letter): None for letter in "abcdefghijklmnopqrstuvwxyz."}
_WIDTH = 80  # letters in a line


@dataclass(frozen=True)
class Alignment:
    """Sequences of one length.

    Attributes
    ----------
    names : list of str
    states : numpy.ndarray of uint8, of shape (sequences, sites)
        The numbers of their letters.
    alphabet : Alphabet
    """

    names: list[str]
    states: Any
    alphabet: Alphabet


def read_fasta(path: str | os.PathLike[str], alphabet: str | Alphabet | None = None) -> Alignment:
    r"""Read an alignment.

    Parameters
    ----------
    path : path-like
        A FASTA file, packed by gzip or not.
    alphabet : {"protein", "rna", "dna"} or Alphabet, optional
        What it is written in; by default its letters tell.

    Returns
    -------
    Alignment

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no FASTA file, is damaged, has letters that the alphabet has not, or sequences of several lengths.

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
    """Names and sequences."""
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
    """Write sequences: the file is whole, or not there.

    Parameters
    ----------
    path : path-like
        Where to; packed by gzip, if it ends in ``.gz``.
    states : array of shape (sequences, sites)
        The numbers of their letters.
    alphabet : Alphabet
    names : sequence of str, optional
        By default they are numbered from 1.

    Raises
    ------
    ValueError
        If states are not numbers of letters, or there is not one name for each.

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
