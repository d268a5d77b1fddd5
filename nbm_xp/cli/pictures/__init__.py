"""Pictures of machines: what they learnt, dream up and weigh, as .png files written whole or not at all."""

from __future__ import annotations
