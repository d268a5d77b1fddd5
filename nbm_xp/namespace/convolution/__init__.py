"""Sums over sliding windows: convolution and pooling of arrays, with kernels for individual libraries.

Contract: all kernels follow one definition, for any number of spatial axes. Arrays are (images, positions…, channels);
a window starts at ``starts + position * strides`` and its elements are `dilation` apart; elements outside the array
are zero in sums and ignored by maxima. Padding is expressed by `starts` and `lengths`. Each function except the maximum
is linear in each of its arrays, and the adjoint of another one: with
``correlate(x, k)[n, o] = sum over i of x[n, starts + o * strides + i * dilation] @ k[i]``, the adjoints with respect to
`x` and `k` are `correlate_back` and `correlate_outer`.
"""

from __future__ import annotations

from .pooling import maxima, mean_windows, pick_maxima, place_maxima, spread_means, spread_windows, sum_windows
from .portable import correlate, correlate_back, correlate_outer, gather_windows, scatter_windows

__all__ = [
    "correlate", "correlate_back", "correlate_outer", "gather_windows", "maxima", "mean_windows", "pick_maxima",
    "place_maxima", "scatter_windows", "spread_means", "spread_windows", "sum_windows",
]  # fmt: skip
