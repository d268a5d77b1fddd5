"""Seeds of MRG31k3p, and the states made of them.

Contract: an invalid seed raises an error before anything is drawn. An integer seed is used in one of two ways. Theano's
``theano.sandbox.rng_mrg`` repeats it six times; because the recurrence is linear, the numbers of seed 2 are then twice
those of seed 1, modulo its moduli. `check_seed` does the same, to give the same numbers. `hashed_seed` hashes the
integer first, as NumPy's generators do, so that the numbers of different seeds are independent.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from typing import Any, Final

from nbm_xp.namespace import array_namespace, concrete_int, is_array, is_lazy
from nbm_xp.namespace.mrg31k3p.integers import M1, M2, State

_POOL, _WORD, _MASK = 4, 32, 2**32 - 1
_INIT_A, _MULTIPLIER_A = 0x43B0D7E5, 0x931E8875
_INIT_B, _MULTIPLIER_B = 0x8B51F9DD, 0x58F38DED
_LEFT, _RIGHT, _SHIFT = 0xCA01F9DD, 0x4973F715, 16
_WORDS: Final = 12  # six numbers of 64 bits


def check_seed(seed: object) -> State:
    """Return the state of a seed as Theano does, without hashing.

    Parameters
    ----------
    seed : int, six ints or SeedSequence
        One integer from 1 to ``M2 - 1``, which is repeated six times; or six integers, the first three below ``M1`` and
        not all 0, the last three below ``M2`` and not all 0. NumPy's integers and arrays of six are accepted too.

    Returns
    -------
    tuple of six ints

    Raises
    ------
    TypeError
        If `seed` is neither one integer nor six integers.
    ValueError
        If an integer is out of range.

    Examples
    --------
    >>> check_seed(234)
    (234, 234, 234, 234, 234, 234)
    >>> check_seed([12345, 1, 2, 3, 4, 5])
    (12345, 1, 2, 3, 4, 5)
    >>> check_seed(0)
    Traceback (most recent call last):
        ...
    ValueError: seed must be from 1 to 2147462578, got 0
    """
    found = _read(seed)
    if not isinstance(found, int):
        return found
    if not 0 < found < M2:
        raise ValueError(f"seed must be from 1 to {M2 - 1}, got {found}")
    return (found,) * 6


def hashed_seed(seed: object) -> State:
    """Return the state of a seed; a single integer is hashed.

    Parameters
    ----------
    seed : int, six ints or SeedSequence
        Non-negative integer of any size, hashed as by NumPy's ``SeedSequence``; otherwise as for `check_seed`.

    Returns
    -------
    tuple of six ints

    Raises
    ------
    TypeError
        If `seed` is neither one integer nor six integers.
    ValueError
        If an integer is out of range.

    Examples
    --------
    >>> hashed_seed(1)
    (1002614731, 1685340272, 625864485, 1759380271, 463923319, 1842024624)
    >>> hashed_seed((1, 2, 3, 4, 5, 6))
    (1, 2, 3, 4, 5, 6)
    """
    found = _read(seed)
    if not isinstance(found, int):
        return found
    if found < 0:
        raise ValueError(f"seed must be 0 or more, got {found}")
    return hashed([found >> shift & _MASK for shift in range(0, max(1, found.bit_length()), _WORD)])


def _read(seed: object) -> int | State:
    """Return a single integer unchanged, and anything else as a state."""
    if hasattr(seed, "generate_state"):
        return from_words(seed.generate_state(6, "uint64").tolist())
    if is_array(seed) and is_lazy(array_namespace(seed)):
        return concrete_int(seed)  # which raises: its `__index__` would compute it
    try:
        return operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        return _check_six(seed)


def _check_six(seed: object) -> State:
    """Validate the six integers of a seed."""
    expected = "seed must be one integer or six integers"
    if isinstance(seed, (str, bytes)) or not isinstance(seed, Iterable):
        raise TypeError(f"{expected}, got {seed!r}")
    try:
        values = [operator.index(value) for value in seed]
    except TypeError:
        raise TypeError(f"{expected}, got {seed!r}") from None
    if len(values) != 6:
        raise TypeError(f"{expected}, got {len(values)}: {seed!r}")
    for which, three, modulus in (("first", values[:3], M1), ("last", values[3:], M2)):
        if not all(0 <= value < modulus for value in three):
            raise ValueError(f"the {which} three integers of seed must be from 0 to {modulus - 1}, got {values}")
        if not any(three):
            raise ValueError(f"the {which} three integers of seed must not all be 0, got {values}")
    return tuple(values)


def hashed(entropy: Sequence[Any]) -> State:
    """Hash 32-bit words to a state, as NumPy's ``SeedSequence`` [1]_ hashes its entropy.

    Parameters
    ----------
    entropy : sequence of ints or arrays
        Words from 0 to 2**32 - 1; arrays are int64 without axes.

    Returns
    -------
    six ints, or six arrays
        State made of the first six 64-bit integers of the ``SeedSequence``; arrays if any word is an array.

    References
    ----------
    .. [1] NumPy documentation, ``numpy.random.SeedSequence``.

    Examples
    --------
    >>> hashed([1]) == hashed_seed(1)
    True
    """
    constant = _INIT_A

    def mixed(word: Any) -> Any:
        nonlocal constant
        word = word ^ constant
        constant = constant * _MULTIPLIER_A & _MASK
        word = word * constant & _MASK
        return word ^ word >> _SHIFT

    def joined(word: Any, other: Any) -> Any:
        word = (word * _LEFT & _MASK) - (other * _RIGHT & _MASK) & _MASK
        return word ^ word >> _SHIFT

    words = [*entropy, *(0,) * (_POOL - len(entropy))]
    pool = [mixed(word) for word in words[:_POOL]]
    for source in range(_POOL):
        for place in range(_POOL):
            if place != source:
                pool[place] = joined(pool[place], mixed(pool[source]))
    for word in words[_POOL:]:
        pool = [joined(kept, mixed(word)) for kept in pool]

    constant, generated = _INIT_B, []
    for word in islice(cycle(pool), _WORDS):
        word = word ^ constant
        constant = constant * _MULTIPLIER_B & _MASK
        word = word * constant & _MASK
        generated.append(word ^ word >> _SHIFT)
    return _state_of(list(zip(generated[1::2], generated[::2], strict=True)))


def from_words(words: Sequence[int]) -> State:
    """Return the state made of six 64-bit integers.

    Examples
    --------
    >>> from_words([M1 + 5, 2, 3, 0, 0, M2])
    (5, 2, 3, 0, 0, 1)
    """
    return _state_of([(word >> _WORD, word & _MASK) for word in words])


def _state_of(halves: Sequence[tuple[Any, Any]]) -> State:
    """Return the state made of the high and low halves of six 64-bit integers."""
    moduli = (M1, M1, M1, M2, M2, M2)
    a, b, c, d, e, f = ((high % m * (2**_WORD % m) + low) % m for (high, low), m in zip(halves, moduli, strict=True))
    return a, b, c + ((a + b + c) == 0), d, e, f + ((d + e + f) == 0)
