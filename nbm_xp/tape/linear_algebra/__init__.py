"""The extension `linalg` of the array API standard."""

from . import decompositions, matrices
from .decompositions import *  # noqa: F403
from .matrices import *  # noqa: F403

__all__ = []
__all__ += decompositions.__all__ + matrices.__all__
