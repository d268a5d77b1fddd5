"""`until`: the condition that ends a scan."""

from __future__ import annotations

from typing import Any

from ..tensor import as_tensor

__all__ = ["Until", "until"]


class Until:
    """A condition that ends a scan; made by `until`."""

    __slots__ = ("condition",)

    def __init__(self, condition: Any) -> None:
        self.condition = as_tensor(condition)
        if self.condition.ndim:
            raise TypeError(f"condition must be a scalar, got shape {self.condition.shape}")


def until(condition: Any) -> Until:
    """End a scan after the step in which a condition holds.

    Parameters
    ----------
    condition : Tensor
        A scalar, returned by the step beside its outputs.

    Returns
    -------
    Until

    Examples
    --------
    >>> from nbm_xp.tape import Variable, scan, until
    >>> doubled, _ = scan(lambda x: (2 * x, until(2 * x > 50.0)), outputs_info=Variable(1.0), n_steps=30)
    >>> float(doubled[-1])
    64.0
    """
    return Until(condition)
