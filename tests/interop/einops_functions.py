"""Cases of einops, through `einops.array_api`."""

from __future__ import annotations

from typing import Any

import einops.array_api as einops
from einops.einops import _reconstruct_from_shape

from tests.helpers.tables.case import values
from tests.interop import Foreign, foreign

__all__ = ["CASES"]

X = values(2, 4, 6)


def _uncached(function: Any, x: Any, *args: Any, **options: Any) -> Any:
    """Call a function of einops without its cache by shapes: lengths of a Variable equal those of another one."""
    _reconstruct_from_shape.cache_clear()
    return function(x, *args, **options)


def _packed(x: Any, y: Any) -> Any:
    packed, shapes = einops.pack([x, y], "b *")
    first, second = einops.unpack(packed * 2.0, shapes, "b *")
    return first, second


CASES: list[Foreign] = [
    foreign("rearrange", lambda x: _uncached(einops.rearrange, x, "b (h p) w -> b w p h", p=2), X),
    foreign("reduce-mean", lambda x: _uncached(einops.reduce, x, "b (h 2) (w 3) -> b h w", "mean"), X),
    foreign("reduce-max", lambda x: _uncached(einops.reduce, x, "b h w -> b w", "max"), X),
    foreign("reduce-prod", lambda x: _uncached(einops.reduce, x, "b h w -> w", "prod"), X),
    foreign("repeat", lambda x: _uncached(einops.repeat, x, "b h w -> b (h r) w", r=3), X),
    foreign("pack-unpack", _packed, X, values(2, 5)),
]
