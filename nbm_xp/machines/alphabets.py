"""Alphabets of sequences: the letters of amino acids and bases, and their indices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

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


def checked_alphabet(alphabet: str | Alphabet) -> Alphabet:
    """Return an alphabet by its name; raise `ValueError` for another name."""
    if isinstance(alphabet, str) and alphabet not in ALPHABETS:
        raise ValueError(f"alphabet must be one of {list(ALPHABETS)}, got {alphabet!r}")
    return ALPHABETS[alphabet] if isinstance(alphabet, str) else alphabet


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
