"""Which functions name in their own bodies what is at fault in a call, and are not to be called through another one.

They cost so little on few elements that one more call would be felt.
"""

from __future__ import annotations

from . import bounds, comparison, elementwise, extremes, reductions

__all__ = ["THEMSELVES"]

THEMSELVES = frozenset({
    *bounds.__all__, *comparison.__all__, *elementwise.__all__, *extremes.__all__, *reductions.__all__,
    "hard_sigmoid", "sigmoid", "softplus", "softsign", "tanh",
    "backend", "epsilon", "floatx", "image_data_format", "image_dim_ordering", "intx", "learning_phase",
})  # fmt: skip
