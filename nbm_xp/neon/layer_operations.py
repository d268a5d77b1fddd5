"""The operations of layers: convolution, pooling, normalization, compound products, recurrent layers and look-ups."""

from __future__ import annotations

from .convolutions import Convolutions
from .poolings import Poolings
from .products import Products
from .regions import Regions
from .responses import Responses
from .unrolling import Unrolling

__all__ = ["LayerOperations"]


class LayerOperations(Convolutions, Poolings, Responses, Regions, Products, Unrolling):
    """A Backend's methods for layers."""
