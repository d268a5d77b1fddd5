"""What models show: public methods, documented; what they do is composed of the chapters beside this folder.

`Sampling` has a `Sampler` work, `Evaluating` an `Evaluator`.
"""

from __future__ import annotations

from .evaluating import Evaluating
from .sampling import Sampling

__all__ = ["Evaluating", "Sampling"]
