"""NVIDIA's runtime compiler, an ordinary library that needs no driver and no device: CUDA's text in, PTX out.

The wheel nvidia-cuda-nvrtc-cu12 (dependency group `cuda-text`) brings it. Where that is not installed, tests skip;
where it is, the library must load.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
from typing import Any

__all__ = ["PACKAGE", "compiled", "is_installed"]

PACKAGE = "nvidia-cuda-nvrtc-cu12"


def is_installed() -> bool:
    """Whether the wheel is there; it may still not load."""
    return bool(list(importlib.metadata.distributions(name=PACKAGE)))


@functools.cache
def _library() -> Any:
    files = importlib.metadata.files(PACKAGE) or []
    (place,) = [file.locate() for file in files if file.name.startswith("libnvrtc.so.")]
    return ctypes.CDLL(str(place))


def _asked(name: str, *arguments: Any) -> None:
    code = getattr(_library(), name)(*arguments)
    if code:
        _library().nvrtcGetErrorString.restype = ctypes.c_char_p
        raise RuntimeError(f"{name}: {_library().nvrtcGetErrorString(code).decode()}")


def _text(program: Any, what: str) -> str:
    size = ctypes.c_size_t()
    _asked(f"nvrtcGet{what}Size", program, ctypes.byref(size))
    room = ctypes.create_string_buffer(size.value)
    _asked(f"nvrtcGet{what}", program, room)
    return room.value.decode()


def compiled(text: str, *options: str) -> tuple[str, str]:
    """Compile a text.

    Returns
    -------
    log : str
        What the compiler said.
    ptx : str
        Empty where it refused the text.
    """
    program = ctypes.c_void_p()
    _asked("nvrtcCreateProgram", ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    try:
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        code = _library().nvrtcCompileProgram(program, len(options), given)
        return _text(program, "ProgramLog").strip(), "" if code else _text(program, "PTX")
    finally:
        _asked("nvrtcDestroyProgram", ctypes.byref(program))
