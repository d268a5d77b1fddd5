"""The documented functions, each once, over ``xp = array_namespace(...)``.

One body serves arrays of every library and, recorded, Tensors. Where two systems differ in what a name means, the
difference is a parameter, which their surfaces pass.
"""

from __future__ import annotations

from . import comparison, elementwise, extremes, reductions

__all__ = ["NAME_THEIR_ERRORS"]

NAME_THEIR_ERRORS = frozenset({
    *comparison.__all__, *elementwise.__all__, *extremes.__all__, *reductions.__all__,
    "hard_sigmoid", "sigmoid", "softplus", "softsign", "tanh",
    "backend", "epsilon", "floatx", "image_data_format", "image_dim_ordering", "intx", "learning_phase",
})  # fmt: skip
"""Functions whose own bodies name what is at fault in a call: one call more would be felt on few elements."""
