"""Pictures of machines, their samples and estimates, as .png files written completely or not at all."""

from __future__ import annotations
