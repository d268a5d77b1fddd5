"""Digests of long draws, which `check-bits` compares machines, libraries and kernels by.

Contract: a row is a distribution, its parameters and a dtype. Its digest for ``n`` numbers is the first 32 hexadecimal
digits of the SHA-256 of their little-endian bytes, in C order. They are the first ``n`` numbers that `Generator(SEED)`
gives in draws of `AT_ONCE` elements, which are whole steps of its streams, so that the draws together are one long
draw.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, TypeAlias

from nbm_xp.namespace import to_numpy
from nbm_xp.namespace.mrg31k3p.integers import MAX_STREAMS
from nbm_xp.rng import Generator
from nbm_xp.rng.distributions import DISTRIBUTIONS

SEED: Final = 2026

# Number of elements of a draw: an even number of steps, as normal numbers need.
AT_ONCE: Final = 256 * MAX_STREAMS

# Numbers of elements for which digests are recorded.
LENGTHS: Final = (10**6, 10**7, 10**8, 10**9)

FILE: Final = pathlib.Path(__file__).with_name("digests.json")

Row: TypeAlias = tuple[str, tuple[Any, ...], dict[str, Any], tuple[str, ...]]

_REAL_DTYPES = ("float16", "float32", "float64")

# Real numbers: a method of `Generator` and its parameters before the size.
REAL: Final[dict[str, tuple[str, tuple[Any, ...]]]] = {
    "random": ("random", ()),
    "standard_normal": ("standard_normal", ()),
    "standard_exponential": ("standard_exponential", ()),
    "gamma, small shape": ("gamma", (0.2, 1.5)),
    "standard_gamma": ("standard_gamma", (2.5,)),
    "noncentral_chisquare, few": ("noncentral_chisquare", (0.5, 1.5)),
    "pareto, beyond": ("pareto", (0.01,)),
    "dirichlet": ("dirichlet", ([0.5, 0.0, 2.5],)),
    "multivariate_normal": ("multivariate_normal", ([0.5, 1.5], [[2.0, 1.0], [1.0, 3.0]])),
    **{name: (name, found.example) for name, found in DISTRIBUTIONS.items() if found.kind != "count"},
}

_INTEGERS: Final[dict[str, tuple[str, tuple[Any, ...]]]] = {
    "integers, two outputs": ("integers", (-(2**40), 2**60)),
    "integers, three outputs": ("integers", (-(2**63), 2**63)),
    "binomial, few": ("binomial", (5, 0.3)),
    "binomial, searched": ("binomial", (40, 0.1)),
    "binomial, many": ("binomial", (10**6, 0.7)),
    "poisson, small": ("poisson", (3.5,)),
    "poisson, large": ("poisson", (60.5,)),
    "multinomial": ("multinomial", (30, [0.25, 0.25, 0.5])),
    "categorical": ("categorical", ([0.25, 0.25, 0.5],)),
    "multivariate_hypergeometric": ("multivariate_hypergeometric", ([9, 5, 7], 11)),
    **{
        name: (name, found.example)
        for name, found in DISTRIBUTIONS.items()
        if found.kind == "count" and name not in ("binomial", "poisson")
    },
}

_OTHER: Final[dict[str, Row]] = {
    "random, 31 bits": ("random", (), {"bits": 31}, ("float64",)),
    "bernoulli": ("bernoulli", (0.3,), {}, ("float32", "bool")),
    "integers": ("integers", (-3, 12), {}, ("int64", "int32", "int8")),
    "integers, uint64": ("integers", (0, 2**64), {}, ("uint64",)),
    "integers, int8": ("integers", (-128, 127), {"endpoint": True}, ("int8",)),
    **{name: (*found, {}, ("int64",)) for name, found in _INTEGERS.items()},
}

# All draws: a method, its parameters before the size, its keywords, and the recorded dtypes.
DRAWS: Final[dict[str, Row]] = {name: (*found, {}, _REAL_DTYPES) for name, found in REAL.items()} | _OTHER

ROWS: Final = [(name, dtype) for name, (*_, dtypes) in DRAWS.items() for dtype in dtypes]


def draw(generator: Generator, name: str, size: Any, dtype: str | None = None, **more: Any) -> Any:
    """Make one of `DRAWS`, by default in its first dtype."""
    method, parameters, keywords, dtypes = DRAWS[name]
    return getattr(generator, method)(*parameters, size=size, dtype=dtype or dtypes[0], **keywords, **more)


def digests(
    name: str, dtype: str, lengths: tuple[int, ...], library: str | None = None, threads: int | None = 1
) -> Iterator[tuple[int, str]]:
    """Draw a row and yield its digest for each length, as soon as it is known.

    Parameters
    ----------
    name, dtype : str
        Name of the draw in `DRAWS`, and its dtype.
    lengths : ints
        Numbers of elements, in ascending order.
    library, threads
        See `Generator`.

    Yields
    ------
    int, str
        Length and digest.

    Examples
    --------
    >>> [(n, found == recorded()["normal/float64"][n]) for n, found in digests("normal", "float64", (10**6,))]
    [(1000000, True)]
    """
    generator, digest = Generator(SEED, library, threads=threads), hashlib.sha256()
    ahead: Any = ()
    done = 0
    for length in lengths:
        while done < length:
            if not len(ahead):
                drawn = to_numpy(draw(generator, name, min(AT_ONCE, lengths[-1] - done), dtype)).reshape(-1)
                ahead = drawn.astype(drawn.dtype.newbyteorder("<"), copy=False)
            taken, ahead = ahead[: length - done], ahead[length - done :]
            digest.update(taken.data)
            done += taken.shape[0]
        yield length, digest.hexdigest()[:32]


@cache
def recorded() -> dict[str, dict[int, str]]:
    """Return the recorded digests, by ``name/dtype`` and length."""
    rows = json.loads(FILE.read_text(encoding="utf-8"))
    return {row: {int(n): digest for n, digest in found.items()} for row, found in rows.items()}
