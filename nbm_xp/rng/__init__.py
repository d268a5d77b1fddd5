"""Random numbers of MRG31k3p: the same bits on every array library and for every chunking."""

from __future__ import annotations

from .draws import after, bernoulli, draw
from .generator import Generator
from .mrg31k3p import M1, M2, MAX_STREAMS, check_seed, fresh_seed, jump
from .random_streams import RandomStreams
from .uniforms import stream_count, substreams

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
    "fresh_seed",
    "jump",
    "stream_count",
    "substreams",
]
