"""``python -m nbm_xp`` is the command nbm-xp."""

from __future__ import annotations

from nbm_xp.cli import main

if __name__ == "__main__":
    main()
