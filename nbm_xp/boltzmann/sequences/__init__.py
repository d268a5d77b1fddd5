"""Aligned sequences of proteins, RNA and DNA: FASTA files, sequence weights, frequencies, contact prediction.

A sequence is a row of whole numbers, the indices of its letters in an alphabet; index 0 is the gap. Machines with
categorical visible units take such rows.
"""

from __future__ import annotations

from nbm_xp.machines.alphabets import ALPHABETS, DNA, PROTEIN, RNA, Alphabet
from nbm_xp.package import public_names

from .alignments import Alignment, read_fasta, write_fasta
from .contacts import average_product_correction, contact_scores, effective_couplings, zero_sum
from .statistics import (
    connected_correlations,
    identity_groups,
    pair_frequencies,
    pearson,
    sequence_weights,
    site_frequencies,
    site_pairs,
)

__all__ = [
    "ALPHABETS", "DNA", "PROTEIN", "RNA", "Alignment", "Alphabet", "average_product_correction",
    "connected_correlations", "contact_scores", "effective_couplings", "identity_groups",
    "pair_frequencies", "pearson", "read_fasta", "sequence_weights", "site_frequencies",
    "site_pairs", "write_fasta", "zero_sum",
]  # fmt: skip

public_names(globals())
