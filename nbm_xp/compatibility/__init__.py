"""Support for old programs on current Python: their imports see modules as they used to be, other programs do not.

A client of one of the backend APIs is often older than the Python and NumPy that it runs on. `attend` gives the modules
of a package views of the few modules that have changed: `views` restores the old names and behaviour, `importing`
limits them to the package's own modules and runs whole programs, `amendments` changes Keras's own modules.
"""

from __future__ import annotations

from .importing import attend

__all__ = ["attend"]
