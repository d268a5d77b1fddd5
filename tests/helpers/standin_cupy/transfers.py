"""The guard against hidden transfers: in the package, only what says so may copy from the device to the host."""

from __future__ import annotations

import importlib.util
import sys

__all__ = ["OPEN", "HiddenTransferError", "transfer"]

PACKAGE = (importlib.util.find_spec("nbm_xp").origin or "").removesuffix("__init__.py")  # type: ignore[union-attr]
OPEN = {
    ("namespace/compat/cupy.py", "to_numpy"): "it says so",
    ("namespace/conversion.py", "concrete_int"): "it says so",
    ("functions/control.py", "print_tensor"): "what is printed is asked for",
    ("namespace/compat/cupy.py", "build"): "the installed CuPy is tried once, when its namespace is made",
}
"""Functions of the package that may copy, and why."""


class HiddenTransferError(AssertionError):
    """A copy from the device to the host that nobody asked for."""


def transfer(how: str) -> None:
    """Note a copy to the host: refused where the nearest frame of the package's is none of the open functions.

    What calls from outside the package (a test, Dask, the command line) may copy what it likes.
    """
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(PACKAGE) and frame.f_code.co_name != "<genexpr>":
            place = file.removeprefix(PACKAGE), frame.f_code.co_name
            if place not in OPEN:
                where = f"{place[0]}:{frame.f_lineno}, {place[1]}"
                raise HiddenTransferError(f"{how} copies from the device to the host, in {where}")
            return
        if "/tests/helpers/standin_cupy/" not in file and "/array_api_compat/" not in file:
            return
        frame = frame.f_back
