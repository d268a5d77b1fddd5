"""``python -m nbm_xp.keras2 script.py``: run an unmodified program for Keras 2.0.6 on this backend."""

from __future__ import annotations

from nbm_xp.compatibility import importing

from .client import install_as

if __name__ == "__main__":
    importing.main("nbm_xp.keras2", "2.0.6", install_as)
