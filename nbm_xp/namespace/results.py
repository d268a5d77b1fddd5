"""What functions of the standard give by name, where libraries, and the tape, have no class for it."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

__all__ = ["EigResult", "UniqueAll", "UniqueCounts", "UniqueInverse"]

A = TypeVar("A")


class EigResult(NamedTuple, Generic[A]):
    """The eigenvalues of square matrices, in no order, and the eigenvectors in columns."""

    eigenvalues: A
    eigenvectors: A


class UniqueAll(NamedTuple, Generic[A]):
    """What is known of the distinct elements of an array."""

    values: A
    indices: A
    inverse_indices: A
    counts: A


class UniqueCounts(NamedTuple, Generic[A]):
    """The distinct elements of an array, and how often each is there."""

    values: A
    counts: A


class UniqueInverse(NamedTuple, Generic[A]):
    """The distinct elements of an array, and which of them each element is."""

    values: A
    inverse_indices: A
