"""Declarations of kinds of functions of which there are many: what all of a kind have in common is said here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nbm_xp.tape.node import ALONG_AXES_TAG, LINEAR_TAG, MATRICES_TAG, Memory, Operation, Rule
from nbm_xp.tape.registry import declare

__all__ = ["along_axes", "of_matrices", "published"]


def _of_kind(
    tag: str,
    name: str,
    infer: Callable[..., Any],
    rules: tuple[Rule, ...],
    *,
    linear: bool = False,
    memory: Memory = Memory.OWN,
    **facts: Any,
) -> Operation:
    tags = frozenset({tag, LINEAR_TAG} if linear else {tag})
    return declare(name, infer, rules, tags=tags, memory=memory, **facts)


along_axes = functools.partial(_of_kind, ALONG_AXES_TAG)
"""Declare a function that goes along the axes its option `axis` or `axes` names; other facts are of its `Operation`."""

of_matrices = functools.partial(_of_kind, MATRICES_TAG)
"""Declare a function of the matrices in the last two axes."""


def published(name: str, function: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """A function that was made for a name, by that name."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function
