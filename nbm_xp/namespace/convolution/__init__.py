"""Sums over sliding windows: convolution and pooling of arrays, the libraries' own kernels behind one door.

Contract: one definition that every kernel keeps to, in any number of spatial axes. Arrays are
(images, positions…, channels); a window starts at ``starts + position * strides`` and steps by `dilation`; what lies
outside the array is zero and never wins a maximum. Nothing here chooses a padding: that is arithmetic on `starts` and
`lengths`. Each function but the maximum is linear in each of its arrays, and the adjoint of another one. So is
``correlate(x, k)[n, o] = sum over i of x[n, starts + o * strides + i * dilation] @ k[i]``: its adjoints in `x` and in
`k` are `correlate_back` and `correlate_outer`.
"""

from __future__ import annotations

from .pooling import maxima, mean_windows, pick_maxima, place_maxima, spread_means, spread_windows, sum_windows
from .portable import correlate, correlate_back, correlate_outer, gather_windows, scatter_windows

__all__ = [
    "correlate", "correlate_back", "correlate_outer", "gather_windows", "maxima", "mean_windows", "pick_maxima",
    "place_maxima", "scatter_windows", "spread_means", "spread_windows", "sum_windows",
]  # fmt: skip
