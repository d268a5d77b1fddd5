"""`Backend`: neon's documented methods on one array library."""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace import backend as default_library
from nbm_xp.namespace import dtype_name, get_namespace, library_name
from nbm_xp.tape import Tensor
from nbm_xp.tape.dtypes import as_dtype, float32

from .buffers import Buffer
from .creation import Creation
from .execution import run
from .optrees import OpTree

__all__ = ["Backend"]


class Backend(Creation):
    """What neon's models compute with."""

    def __init__(
        self,
        rng_seed: Any = None,
        default_dtype: Any = float32,
        compat_mode: str | None = None,
        deterministic: bool | None = None,
        *,
        library: str | None = None,
    ) -> None:
        self.xp = get_namespace(default_library() if library is None else library)
        self.library = library_name(self.xp)
        self.default_dtype = default_dtype
        self.dtype = as_dtype(dtype_name(default_dtype))
        self.bsz = None
        self.compat_mode = compat_mode

    def assign_tree(self, out: Buffer, tree: Tensor) -> None:
        """Compute a tree into a buffer."""
        value, fresh = run(tree, self.xp)
        out.write(value, fresh=fresh)

    def execute(self, node: Any) -> Any:
        out = node.target
        self.assign_tree(out, node)
        return out
