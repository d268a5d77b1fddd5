"""How a dataset tells what is in it: by the names and units that xarray's pictures and other programs read.

Contract: energies are told in units of the couplings, and all else are plain numbers: the unit is "1".
"""

from __future__ import annotations

from typing import Final

__all__ = ["INVERSE_TEMPERATURE", "SWEEPS", "about"]

INVERSE_TEMPERATURE: Final = "inverse temperature"
SWEEPS: Final = "sweeps made"


def about(name: str) -> dict[str, str]:
    """The attributes of a variable.

    Examples
    --------
    >>> about("energy a unit")
    {'long_name': 'energy a unit', 'units': '1'}
    """
    return {"long_name": name, "units": "1"}
