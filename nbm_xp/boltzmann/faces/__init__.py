"""What models show: public methods, documented; what they do is composed of the chapters beside this folder.

A face knows the model that it is of (`model`), and no other face: `Sampling` has a `Sampler` work, `Evaluating` an
`Evaluator`, `Learning` a `Trainer`.
"""

from __future__ import annotations

from .evaluating import Evaluating
from .learning import Learning
from .sampling import Sampling
from .transforming import Transforming

__all__ = ["Learning", "Sampling", "Transforming", "Evaluating"]
