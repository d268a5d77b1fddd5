"""The smallest and the largest of several lengths, what they broadcast to, and lengths put in the place of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .lengths import Atom, Length, Size, atom_length, operands_of, quotient, remainder

__all__ = ["broadcast_length", "maximum_length", "minimum_length", "substituted"]


def minimum_length(sizes: Iterable[Size]) -> Size:
    """The smallest of several lengths."""
    return _extreme("min", sizes, lambda one, other: _never_negative(other - one))


def maximum_length(sizes: Iterable[Size]) -> Size:
    """The largest of several lengths."""
    return _extreme("max", sizes, lambda one, other: _never_negative(one - other))


def broadcast_length(sizes: Iterable[Size]) -> Size:
    """The length that axes of these lengths broadcast to: the one that is not 1, if there is one."""
    distinct: dict[Size, None] = {}
    for size in sizes:
        inner = _only_atom("broadcast", size)
        distinct.update(dict.fromkeys([size] if inner is None else inner))
    distinct.pop(1, None)
    if len(distinct) > 1:
        return atom_length(("broadcast", frozenset(distinct)))
    return next(iter(distinct), 1)


def substituted(size: Size, replace: Callable[[Atom], Size]) -> Size:
    """A length with every axis and every value in it replaced by the length that `replace` gives for its atom."""

    def renewed(atom: Atom) -> Size:
        kind = atom[0]
        if kind in ("axis", "value"):
            return replace(atom)
        operands = [substituted(operand, replace) for operand in operands_of(atom)]
        if kind in ("//", "%"):
            return quotient(*operands) if kind == "//" else remainder(*operands)
        joined = {"min": minimum_length, "max": maximum_length, "broadcast": broadcast_length}[kind]
        return joined(operands)

    if not isinstance(size, Length):
        return size
    total: Size = 0
    for monomial, coefficient in size.terms.items():
        term: Size = coefficient
        for atom, power in monomial:
            factor = renewed(atom)
            for _ in range(power):
                term = term * factor
        total = total + term
    return total


def _only_atom(kind: str, size: Size) -> Iterable[Size] | None:
    """The operands of a length that is nothing but one atom of this kind, else None."""
    if isinstance(size, Length) and len(size.terms) == 1:
        ((monomial, coefficient),) = size.terms.items()
        if coefficient == 1 and len(monomial) == 1:
            ((atom, power),) = monomial
            if power == 1 and atom[0] == kind:
                return operands_of(atom)
    return None


def _extreme(kind: str, sizes: Iterable[Size], settles: Callable[[Size, Size], bool]) -> Size:
    """The lengths that may be the extreme one; those that are certain not to be are left out."""
    candidates: list[Size] = []
    for size in dict.fromkeys(sizes):
        if not any(settles(other, size) for other in candidates):
            candidates = [other for other in candidates if not settles(size, other)] + [size]
    return candidates[0] if len(candidates) == 1 else atom_length((kind, frozenset(candidates)))


def _never_negative(size: Size) -> bool:
    """Whether a length is certain to be 0 or more."""
    if isinstance(size, int):
        return size >= 0
    return all(
        coefficient >= 0 and all(_atom_never_negative(atom) or power % 2 == 0 for atom, power in monomial)
        for monomial, coefficient in size.terms.items()
    )


def _atom_never_negative(atom: Atom) -> bool:
    kind = atom[0]
    if kind in ("axis", "broadcast"):
        return True
    if kind == "value":
        return False
    signs = list(map(_never_negative, operands_of(atom)))
    return signs[1] if kind == "%" else any(signs) if kind == "max" else all(signs)
