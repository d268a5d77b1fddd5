"""Random numbers of MRG31k3p: the same bits on every array library and for every chunking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbm_xp.namespace.mrg31k3p.integers import M1, M2, MAX_STREAMS, jump
from nbm_xp.package import public_names

from .draws import after, bernoulli, draw
from .generator import Generator
from .seeds import check_seed, hashed_seed
from .uniforms import stream_count, substreams

if TYPE_CHECKING:
    from .random_streams import RandomStreams

__all__ = [
    "M1",
    "M2",
    "MAX_STREAMS",
    "Generator",
    "RandomStreams",
    "after",
    "bernoulli",
    "check_seed",
    "draw",
    "hashed_seed",
    "jump",
    "stream_count",
    "substreams",
]

public_names(globals(), later={"RandomStreams": "random_streams"})
