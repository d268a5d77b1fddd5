"""The recurrence of MRG31k3p in exact integers, as an oracle for the cases that step a state on."""

from collections.abc import Sequence

# (modulus, the coefficients with which the two components' next value is made of their last three)
COMPONENTS = ((2**31 - 1, (0, 2**22, 2**7 + 1)), (2**31 - 21069, (2**15, 0, 2**15 + 1)))


def product(a: list[list[int]], b: list[list[int]], modulus: int) -> list[list[int]]:
    return [[sum(x * y for x, y in zip(r, c, strict=True)) % modulus for c in zip(*b, strict=True)] for r in a]


def advanced(state: Sequence[int], steps: int) -> list[int]:
    """The six integers of a state after so many steps, by squaring the transition matrices."""
    after: list[int] = []
    for half, (modulus, coefficients) in enumerate(COMPONENTS):
        base = [list(coefficients), [1, 0, 0], [0, 1, 0]]
        column = [[value] for value in state[3 * half : 3 * half + 3]]
        remaining = steps
        while remaining:
            if remaining % 2:
                column = product(base, column, modulus)
            base = product(base, base, modulus)
            remaining //= 2
        after += [value for (value,) in column]
    return after
