"""Draws that a graph records, which draw anew whenever it runs: `RandomStreams`."""

from __future__ import annotations

from .random_streams import RandomStreams

__all__ = ["RandomStreams"]
