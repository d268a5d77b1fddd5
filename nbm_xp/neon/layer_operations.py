"""The operations of layers: convolution, pooling, compound products, recurrent layers and look-ups."""

from __future__ import annotations

from .convolutions import Convolutions
from .poolings import Poolings
from .products import Products
from .unrolling import Unrolling

__all__ = ["LayerOperations"]


class LayerOperations(Convolutions, Poolings, Products, Unrolling):
    """A Backend's methods for layers."""
