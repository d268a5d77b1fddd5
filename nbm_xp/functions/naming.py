"""The functions of a surface, whose errors name the function or the argument at fault, as the surface calls them."""

from __future__ import annotations

import inspect
from typing import Any

from nbm_xp.namespace.refusals import naming

from . import comparison, elementwise, extremes, reductions

__all__ = ["name_errors"]

THEMSELVES = frozenset({
    *comparison.__all__, *elementwise.__all__, *extremes.__all__, *reductions.__all__,
    "hard_sigmoid", "sigmoid", "softplus", "softsign", "tanh",
})  # fmt: skip
"""What costs so little on few elements that another call would be felt: these functions name what is at fault in their
own bodies, as do those of the configuration."""


def name_errors(surface: dict[str, Any]) -> None:
    """Let the functions of a surface, given as the names of its module, name what is at fault."""
    for name in surface["__all__"]:
        value = surface[name]
        if inspect.isfunction(value) and name not in THEMSELVES and not value.__module__.startswith("nbm_xp.namespace"):
            surface[name] = naming(value, surface["__name__"])
