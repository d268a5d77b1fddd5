"""Cases of the extension `fft`."""

from __future__ import annotations

from typing import Any

from tests.helpers.tables.case import Case, case, complex_values, plain, values

__all__ = ["CASES"]

FIELDS: dict[str, Any] = {"rtol": 1e-11}
FROM_REAL = ("ihfft", "rfft")
TO_REAL = ("hfft", "irfft")


def _one_axis() -> list[Case]:
    cases = []
    for name in ("fft", "ifft", *FROM_REAL, *TO_REAL):
        x = (values if name in FROM_REAL else complex_values)(3, 5)
        for norm in ("backward", "forward"):
            cases.append(plain(f"fft.{name}", x, norm=norm, fields=FIELDS))
        for n in (1, 4, 7, 8):
            cases.append(plain(f"fft.{name}", x, n=n, fields=FIELDS))
        cases += [
            plain(f"fft.{name}", x, axis=-2, n=6, norm="ortho", fields=FIELDS),
            plain(f"fft.{name}", x[0], fields=FIELDS),
            plain(f"fft.{name}", x[:0], label="empty", fields=FIELDS),
            plain(f"fft.{name}", x.astype("float32" if name in FROM_REAL else "complex64"), fields={"rtol": 1e-5}),
        ]
    cases += [plain(f"fft.{name}", values(3, 4), label="of real numbers", fields=FIELDS) for name in ("fft", "ifft")]
    return cases


def _several_axes() -> list[Case]:
    cases = []
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        x = (values if name == "rfftn" else complex_values)(3, 4, 5)
        cases += [
            plain(f"fft.{name}", x, fields=FIELDS),
            plain(f"fft.{name}", x, axes=(0, 2), norm="ortho", fields=FIELDS),
            plain(f"fft.{name}", x, s=(5, 6), axes=(0, 1), fields=FIELDS),
            plain(f"fft.{name}", x, s=(2, 3), axes=(-1, -2), fields=FIELDS),
            plain(f"fft.{name}", x, axes=(1,), fields=FIELDS),
            plain(f"fft.{name}", x.astype("float32" if name == "rfftn" else "complex64"), fields={"rtol": 1e-4}),
        ]
    cases += [plain(f"fft.{name}", values(3, 4), label="of real numbers", fields=FIELDS) for name in ("fftn", "ifftn")]
    return cases


def _others() -> list[Case]:
    cases = []
    for name in ("fftfreq", "rfftfreq"):
        for n in (1, 4, 5):
            cases.append(plain(f"fft.{name}", n, d=0.3, dtype="float64", fields={"unknown": False}))
        cases += [case(f"fft.{name}", lambda xp, x, f=name: getattr(xp.fft, f)(x.shape[0], dtype=x.dtype), values(5))]
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 0, (0, 1)):
            cases.append(plain(f"fft.{name}", values(4, 5), axes=axes))
        cases.append(plain(f"fft.{name}", complex_values(5)))
    return cases


CASES: list[Case] = [*_one_axis(), *_several_axes(), *_others()]
