"""The tape: record the array API standard, differentiate what was recorded, and run it on any library.

`Variable` and `placeholder` start a graph; functions and operators of the standard extend it; `gradients`
differentiates it; `function` and `evaluate` run it.
"""

from __future__ import annotations

from nbm_xp.namespace import register_array_type

from . import namespace
from .checkpoint import checkpoint
from .composite import composite, operation, same_as_first
from .control import ifelse
from .drawing import visualize
from .evaluation import evaluate
from .function import Function, function, integer_length
from .gradients import gradients, register_gradient, stop_gradient
from .jacobians import hessian, jacobian
from .lengths import KnownLength, Length
from .node import Joint
from .operators import look_up_by_identity
from .pullback import vjp
from .scan import Until, scan, until
from .stable import sigmoid, softplus
from .tensor import Tensor, Variable, as_tensor, is_tensor, placeholder
from .transforms import grad, hvp, jvp, value_and_grad

register_array_type(Tensor, namespace, absorbing=True)

__all__ = [
    "Function", "Joint", "KnownLength", "Length", "Tensor", "Until", "Variable", "as_tensor", "checkpoint",
    "composite", "evaluate", "function", "grad", "gradients", "hessian", "hvp", "ifelse", "integer_length",
    "is_tensor", "jacobian", "jvp", "look_up_by_identity", "namespace", "operation", "placeholder", "register_gradient", "same_as_first",
    "scan", "sigmoid", "softplus", "stop_gradient", "until", "value_and_grad", "visualize", "vjp",
]  # fmt: skip
