"""The tape: record functions of the array API standard as a graph, differentiate it, and run it on any library.

`Variable` and `placeholder` create its leaves; functions and operators of the standard extend it; `gradients`
differentiates it; `function` and `evaluate` run it.
"""

from __future__ import annotations

from nbm_xp.namespace import register_array_type
from nbm_xp.namespace.chains import threads
from nbm_xp.namespace.errors import name_errors
from nbm_xp.namespace.special import register_special
from nbm_xp.package import public_names

from . import namespace
from .composite import composite, operation, sigmoid, softplus
from .control import Until, ifelse, until
from .derivatives.jacobians import hessian, jacobian
from .derivatives.transforms import grad, hvp, jvp, value_and_grad, vjp
from .derivatives.vmapping import vmap
from .einsum import einsum
from .evaluation import evaluate
from .function import Function, function
from .gradients import gradients, stop_gradient
from .hints import look_up_by_identity
from .lengths import KnownLength, Length
from .loops.checkpoint import checkpoint
from .loops.scan import scan
from .operations import Joint, register_gradient, same_as_first
from .standard.shapes import integer_length
from .tensor import Tensor, as_tensor, is_tensor
from .variable import Variable, placeholder
from .visualize import visualize

register_array_type(Tensor, namespace, absorbing=True)
register_special(namespace, namespace.special)

__all__ = [
    "Function", "Joint", "KnownLength", "Length", "Tensor", "Until", "Variable", "as_tensor", "checkpoint",
    "composite", "einsum", "evaluate", "function", "grad", "gradients", "hessian", "hvp", "ifelse", "integer_length",
    "is_tensor", "jacobian", "jvp", "look_up_by_identity", "namespace", "operation", "placeholder",
    "register_gradient", "same_as_first", "scan", "sigmoid", "softplus", "stop_gradient", "threads", "until",
    "value_and_grad", "visualize", "vjp", "vmap",
]  # fmt: skip

name_errors(globals(), but=("is_tensor", "register_gradient"))

public_names(globals(), elsewhere=[namespace])
