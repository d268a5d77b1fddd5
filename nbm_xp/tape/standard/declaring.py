"""Declarations of kinds of functions of which there are many: what all of a kind have in common is said here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbm_xp.tape.gradients import declare
from nbm_xp.tape.node import ALONG_AXES_TAG, LINEAR_TAG, MATRICES_TAG, Memory, Operation, Rule

__all__ = ["along_axes", "of_matrices"]


def along_axes(
    name: str,
    infer: Callable[..., Any],
    rules: tuple[Rule, ...],
    *,
    linear: bool = False,
    memory: Memory = Memory.OWN,
    **facts: Any,
) -> Operation:
    """Declare a function that goes along the axes its option `axis` or `axes` names; `facts` are of its `Operation`."""
    tags = frozenset({ALONG_AXES_TAG, LINEAR_TAG} if linear else {ALONG_AXES_TAG})
    return declare(Operation(name, infer, rules, tags=tags, memory=memory, **facts))


def of_matrices(
    name: str,
    infer: Callable[..., Any],
    rules: tuple[Rule, ...],
    *,
    linear: bool = False,
    memory: Memory = Memory.OWN,
    **facts: Any,
) -> Operation:
    """Declare a function of the matrices in the last two axes."""
    tags = frozenset({MATRICES_TAG, LINEAR_TAG} if linear else {MATRICES_TAG})
    return declare(Operation(name, infer, rules, tags=tags, memory=memory, **facts))
