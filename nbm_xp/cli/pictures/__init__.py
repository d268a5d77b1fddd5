"""Pictures of machines: what they learned, their samples and estimates, as .png files written whole or not at all."""

from __future__ import annotations
