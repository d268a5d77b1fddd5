"""``python -m nbm_xp.keras1 script.py``: run an unmodified program for Keras 1.0.3 on this backend."""

from __future__ import annotations

from nbm_xp.compatibility import importing

from .client import install_as

if __name__ == "__main__":
    importing.main("nbm_xp.keras1", "1.0.3", install_as)
