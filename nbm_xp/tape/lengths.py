"""Lengths of axes that are known only when a graph runs.

A `Length` is an integer polynomial over atoms: the axis of a leaf, the value of an integer scalar, a quotient, a
remainder, the smallest or largest of several lengths, the length to which they broadcast. Polynomials have a canonical
form, so that two lengths are equal exactly when their forms are; arithmetic returns a plain `int` if the result has no
unknowns. The lengths of a `Variable` are atoms with a current value: users see them as integers, but a graph recorded
with them remains correct when the variable is set to an array of another shape.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

from nbm_xp.namespace import floatx, is_array, recording_namespace

Size: TypeAlias = "int | Length"
Atom: TypeAlias = tuple[Any, ...]
Monomial: TypeAlias = frozenset[tuple[Atom, int]]
ONE: Monomial = frozenset()


Method: TypeAlias = "Callable[[Any, Any], Any]"


def _arithmetic(exact: Callable[[Size, Size], Size] | None, operate: Method) -> tuple[Method, Method]:
    """Return an operator and its reflection: exact for integers and lengths, otherwise recorded on scalar Tensors."""

    def _of(a: Any, b: Any) -> Any:
        if exact is not None and is_size(a) and is_size(b):
            return exact(a, b)
        if not (isinstance(a, (int, float, Length)) and isinstance(b, (int, float, Length))):
            return NotImplemented
        record = partial(recording_namespace().asarray, dtype=floatx())
        return operate(*(record(x) if isinstance(x, Length) else x for x in (a, b)))

    return _of, lambda self, other: _of(other, self)


def _comparison(compare: Callable[[int, int], bool]) -> Callable[[Any, object], bool]:
    def operate(self: Any, other: Any) -> bool:
        return compare(self.__index__(), int(other)) if is_size(other) else cast("bool", NotImplemented)

    return operate


class Length:
    """An integer that is known only when a graph runs.

    Lengths are entries of ``x.shape`` of a Tensor. They support ``+``, ``-``, ``*``, ``//``, ``%`` and comparisons with
    integers and each other, and are accepted wherever the tape's namespace takes an integer length.
    """

    __slots__ = ("_hash", "_nodes", "terms", "weight")
    terms: dict[Monomial, int]
    # Complexity of the expression: number of axes, values and operations.
    weight: int

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self.terms = terms
        self._hash = hash(frozenset(terms.items()))
        self._nodes: tuple[Any, ...] | None = None
        self.weight = sum(_weight(atom) * power for monomial in terms for atom, power in monomial)

    def __getstate__(self) -> dict[Monomial, int]:
        return self.terms

    def __setstate__(self, terms: dict[Monomial, int]) -> None:
        self.__init__(terms)  # type: ignore[misc]  # nodes hash differently in another process

    @property
    def hint(self) -> int | None:
        """Current value if it depends only on the shapes of variables, else None."""
        total = 0
        for monomial, coefficient in self.terms.items():
            for atom, power in monomial:
                value = _present(atom)
                if value is None:
                    return None
                coefficient *= value**power
            total += coefficient
        return total

    def nodes(self) -> Sequence[Any]:
        """Return the nodes on whose shapes or values the length depends."""
        if self._nodes is None:
            self._nodes = tuple(dict.fromkeys(_folded(self, lambda atom: (atom[1],), lambda number: (), _NODES)))
        return self._nodes

    def source(self, name: Callable[[Atom], str]) -> str:
        """Return Python source that computes the length; `name` returns the source of an axis or a value."""
        return cast("str", _folded(self, name, str, _SOURCES))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Length):
            return self.terms == other.terms
        if not isinstance(other, (int, float)):
            return NotImplemented
        hint = self.hint
        return hint is not None and hint == other

    def __index__(self) -> int:
        hint = self.hint
        if hint is None:
            raise TypeError(f"{self!r} is unknown until the graph runs; use it in a recorded expression instead")
        return hint

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __bool__(self) -> bool:
        hint = self.hint
        return True if hint is None else bool(hint)

    def __repr__(self) -> str:
        def atom_name(atom: Atom) -> str:
            label = getattr(atom[1], "name", None) or atom[1].op.name
            return f"{label}.shape[{atom[2]}]" if atom[0] == "axis" else str(label)

        return f"Length{self.source(atom_name)}"

    def __neg__(self) -> Size:
        return _multiply(self, -1)

    __add__, __radd__ = _arithmetic(lambda a, b: _add(a, b), operator.add)
    __sub__, __rsub__ = _arithmetic(lambda a, b: _add(a, _multiply(b, -1)), operator.sub)
    __mul__, __rmul__ = _arithmetic(lambda a, b: _multiply(a, b), operator.mul)
    __floordiv__, __rfloordiv__ = _arithmetic(lambda a, b: quotient(a, b), operator.floordiv)
    __mod__, __rmod__ = _arithmetic(lambda a, b: remainder(a, b), operator.mod)
    __truediv__, __rtruediv__ = _arithmetic(None, operator.truediv)
    __pow__, __rpow__ = _arithmetic(None, operator.pow)
    __lt__, __le__, __gt__, __ge__ = map(_comparison, (operator.lt, operator.le, operator.gt, operator.ge))


_NUMBERS = frozenset({bool, int, float, complex})


def is_number(value: object) -> bool:
    """Return whether a value is a Python number or a length, whose dtypes are weak, and not a library's scalar."""
    return type(value) in _NUMBERS or (isinstance(value, (int, float, complex, Length)) and not is_array(value))


def kind_of_number(number: Any) -> type:
    """Return the Python number type (bool, int, float or complex) of a number; int for lengths."""
    return next((kind for kind in (bool, int, float, complex) if isinstance(number, kind)), int)


def axis_length(node: Any, axis: int) -> Length:
    """Return the symbolic length of one axis of a node."""
    return atom_length(("axis", node, axis))


def value_length(node: Any) -> Length:
    """Return the value of an integer scalar node as a length."""
    return atom_length(("value", node))


def product(sizes: Iterable[Size]) -> Size:
    """Return the product of lengths; 1 for none."""
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def known(size: Size) -> int | None:
    """Return the current integer value of a length, or None if it is unknown."""
    return size.hint if isinstance(size, Length) else size


def same_length(a: Size, b: Size) -> bool | None:
    """Return whether two lengths are equal; None if this is unknown until the graph runs."""
    if a is b or (type(a) is type(b) and a == b):
        return True
    known_a, known_b = known(a), known(b)
    return None if known_a is None or known_b is None else known_a == known_b


def same_shape(a: Sequence[Size], b: Sequence[Size]) -> bool:
    """Return whether two shapes are known to be equal."""
    return a == b or (len(a) == len(b) and all(same_length(m, n) is True for m, n in zip(a, b, strict=True)))


def _weight(atom: Atom) -> int:
    operands = () if atom[0] in ("axis", "value") else operands_of(atom)
    return 1 + sum(size.weight for size in operands if isinstance(size, Length))


def operands_of(atom: Atom) -> Iterable[Size]:
    """Return the operands of an atom other than an axis or a value."""
    return cast("Iterable[Size]", atom[1] if isinstance(atom[1], frozenset) else atom[1:])


def _present(atom: Atom) -> int | None:
    """Return the current value of an atom, or None if it depends on more than the shapes of variables."""
    if atom[0] == "axis":
        shape: tuple[int, ...] | None = atom[1].current_shape()
        return None if shape is None else shape[atom[2]]
    values = [] if atom[0] == "value" else list(map(known, operands_of(atom)))
    return None if not values or None in values else cast("int", _SIZES[atom[0]](*values))


def is_size(value: object) -> bool:
    """Return whether a value is an integer, but not a bool, or a Length."""
    return isinstance(value, Length) or (isinstance(value, int) and not isinstance(value, bool))


def atom_length(atom: Atom) -> Length:
    """Return the length that consists of one atom."""
    return Length({frozenset([(atom, 1)]): 1})


def _terms(size: Size) -> dict[Monomial, int]:
    return size.terms if isinstance(size, Length) else {ONE: size}


def _from_terms(terms: dict[Monomial, int]) -> Size:
    terms = {monomial: coefficient for monomial, coefficient in terms.items() if coefficient}
    return Length(terms) if any(monomial for monomial in terms) else terms.get(ONE, 0)


def _add(a: Size, b: Size) -> Size:
    terms = Counter(_terms(a))
    terms.update(_terms(b))
    return _from_terms(terms)


def _multiply(a: Size, b: Size) -> Size:
    terms: Counter[Monomial] = Counter()
    for left, p in _terms(a).items():
        for right, q in _terms(b).items():
            powers = Counter(dict(left))
            powers.update(dict(right))
            terms[frozenset(powers.items())] += p * q
    return _from_terms(terms)


def _exact_quotient(a: Size, b: Size) -> Size | None:
    """Return the quotient if the divisor is a single monomial that divides every term, else None."""
    if b == 0 or len(_terms(b)) != 1:
        return None
    ((monomial, coefficient),) = _terms(b).items()
    quotient: dict[Monomial, int] = {}
    for term, p in _terms(a).items():
        powers = Counter(dict(term))
        powers.subtract(dict(monomial))
        if p and (p % coefficient or any(power < 0 for power in powers.values())):
            return None
        quotient[frozenset((atom, power) for atom, power in powers.items() if power)] = p // coefficient
    return _from_terms(quotient)


def quotient(a: Size, b: Size) -> Size:
    """Return ``a // b``, as a polynomial if the division is exact."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    quotient = _exact_quotient(a, b)
    return atom_length(("//", a, b)) if quotient is None else quotient


def remainder(a: Size, b: Size) -> Size:
    """Return ``a % b``; 0 if the division is exact."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    return atom_length(("%", a, b)) if _exact_quotient(a, b) is None else 0


def minimum_length(sizes: Iterable[Size]) -> Size:
    """Return the smallest of several lengths."""
    return _extreme("min", sizes, lambda one, other: _never_negative(other - one))


def maximum_length(sizes: Iterable[Size]) -> Size:
    """Return the largest of several lengths."""
    return _extreme("max", sizes, lambda one, other: _never_negative(one - other))


def broadcast_length(sizes: Iterable[Size]) -> Size:
    """Return the length to which axes of these lengths broadcast: the one that is not 1, if any."""
    distinct: dict[Size, None] = {}
    for size in sizes:
        inner = _only_atom("broadcast", size)
        distinct.update(dict.fromkeys([size] if inner is None else inner))
    distinct.pop(1, None)
    if all(isinstance(size, int) for size in distinct):
        return 0 if 0 in distinct else max(distinct, default=1)
    return atom_length(("broadcast", frozenset(distinct))) if len(distinct) > 1 else next(iter(distinct))


def substituted(size: Size, replace: Callable[[Atom], Size]) -> Size:
    """Replace every axis and value in a length by the length that `replace` returns for its atom."""
    return cast("Size", _folded(size, replace, int, _SIZES))


def _folded(
    size: Size, leaf: Callable[[Atom], Any], number: Callable[[int], Any], kinds: Mapping[str, Callable[..., Any]]
) -> Any:
    """Evaluate a length bottom-up: `leaf` for axes and values, `number` for integers, `kinds` for operations."""
    if not isinstance(size, Length):
        return number(size)

    def of_atom(atom: Atom) -> Any:
        if atom[0] in ("axis", "value"):
            return leaf(atom)
        return kinds[atom[0]](*(_folded(operand, leaf, number, kinds) for operand in operands_of(atom)))

    return kinds["+"](
        *(
            kinds["*"](number(coefficient), *(of_atom(atom) for atom, power in monomial for _ in range(power)))
            for monomial, coefficient in size.terms.items()
        )
    )


# Functions that compute the operations of lengths, as lengths or integers.
_SIZES: dict[str, Callable[..., Size]] = {
    "+": lambda *terms: sum(terms),
    "*": lambda *factors: product(factors),
    "//": quotient,
    "%": remainder,
    "min": lambda *sizes: minimum_length(sizes),
    "max": lambda *sizes: maximum_length(sizes),
    "broadcast": lambda *sizes: broadcast_length(sizes),
}
_NODES = dict.fromkeys(_SIZES, lambda *parts: tuple(itertools.chain(*parts)))
# Functions that return the Python source of the operations.
_SOURCES: dict[str, Callable[..., str]] = {
    "+": lambda *terms: f"({' + '.join(terms)})",
    "*": lambda first, *rest: " * ".join([first] * (first != "1" or not rest) + sorted(rest)),
    "//": "({} // {})".format,
    "%": "({} % {})".format,
    "min": lambda *sizes: f"min({', '.join(sorted(sizes))})",
    "max": lambda *sizes: f"max({', '.join(sorted(sizes))})",
    "broadcast": lambda *sizes: "(max({0}) if min({0}) else 0)".format(", ".join(sorted(sizes))),
}


def _only_atom(kind: str, size: Size) -> Iterable[Size] | None:
    """Return the operands of a length that consists of one atom of this kind, else None."""
    if isinstance(size, Length) and len(size.terms) == 1:
        ((monomial, coefficient),) = size.terms.items()
        if coefficient == 1 and len(monomial) == 1:
            ((atom, power),) = monomial
            if power == 1 and atom[0] == kind:
                return operands_of(atom)
    return None


def _extreme(kind: str, sizes: Iterable[Size], settles: Callable[[Size, Size], bool]) -> Size:
    """Return the extreme of several lengths, without those that are known not to be extreme."""
    candidates: list[Size] = []
    for size in dict.fromkeys(sizes):
        if not any(settles(other, size) for other in candidates):
            candidates = [other for other in candidates if not settles(size, other)] + [size]
    return candidates[0] if len(candidates) == 1 else atom_length((kind, frozenset(candidates)))


def _never_negative(size: Size) -> bool:
    """Return whether a length is known to be non-negative."""
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


class KnownLength(int):
    """The length of a Variable's axis: an int with the current value, linked to the symbolic length.

    Python's arithmetic treats it as an int. A graph recorded with it remains correct when the variable is set to an
    array of another shape.
    """

    length: Length

    def __new__(cls, length: Length) -> KnownLength:
        """Create an int with the current value of the length."""
        made = super().__new__(cls, length.__index__())
        made.length = length
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return int, (int(self),)


def _public(left: Any, right: Any, operate: Callable[[Any, Any], Any]) -> Any:
    """Apply an operator to public lengths: symbolically if both are integers, else as Python does."""
    plain = operate(*(int(side) if type(side) is KnownLength else side for side in (left, right)))
    if type(plain) is not int or not (is_size(left) and is_size(right)):
        return plain
    return public_length(operate(as_length(left), as_length(right)))


def _operators(operate: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return lambda self, other: _public(self, other, operate), lambda self, other: _public(other, self, operate)


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    for _side, _operator in zip(("", "r"), _operators(getattr(operator, _name)), strict=True):
        setattr(KnownLength, f"__{_side}{_name}__", _operator)


def as_length(size: Any) -> Any:
    """Convert a `KnownLength` to its symbolic length for recording; return other values unchanged."""
    return size.length if type(size) is KnownLength else size


def public_length(size: Size) -> Size:
    """Convert a length to its public form: a `KnownLength` if its current value is known."""
    if isinstance(size, Length) and size.hint is not None:
        return KnownLength(size)
    return size
