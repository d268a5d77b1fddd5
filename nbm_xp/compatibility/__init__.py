"""Old programs on today's Python: what they import is given them as it was, and nobody else sees it.

A client of a surface is often older than the Python and the NumPy that it runs on. `attend` has the modules of such a
package see views of the few modules that changed: `views` says which names and meanings are given back, `numpy_then`
and `files_then` those that take more than a line; `importing` is how only the package's own modules see them. `scripts`
runs a whole program that way.
"""

from __future__ import annotations

from .importing import attend

__all__ = ["attend"]
