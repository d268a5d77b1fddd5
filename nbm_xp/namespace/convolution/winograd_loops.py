"""The sums of `winograd`, compiled: each runs along memory, over all tiles of a row at once.

Elements of a row lie in two halves, the even columns and then the odd ones, so that the four columns of all tiles are
four stretches of memory. It is imported only when a convolution is wide enough; what is compiled is kept on disk.
"""

from __future__ import annotations

from typing import Any

from nbm_xp.namespace.compiled_loops import compiled_loop

__all__ = ["join", "split_results", "split_tiles"]


@compiled_loop
def _difference(a: Any, b: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        out[i] = a[i] - b[i]


@compiled_loop
def _sum(a: Any, b: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        out[i] = a[i] + b[i]


@compiled_loop
def _copy(a: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        out[i] = a[i]


@compiled_loop
def _negative(a: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        out[i] = -a[i]


@compiled_loop
def _sum_of_three(a: Any, b: Any, c: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        out[i] = a[i] + b[i] + c[i]


@compiled_loop
def _less_two(a: Any, b: Any, c: Any, out: Any) -> None:
    for i in range(out.shape[0]):
        out[i] = a[i] - b[i] - c[i]


@compiled_loop
def split_tiles(rows: Any, parts: Any, tiles: Any, channels: int) -> None:
    """The 16 sums of each tile of 4 × 4 elements, from images of rows in halves; the tiles overlap by two."""
    half, width, high = rows.shape[2] // 2, tiles.shape[2], rows.shape[1] // 2 - 1
    for t in range(tiles.shape[1]):
        image, i = rows[t // high], t % high
        a, b, c, d = image[2 * i], image[2 * i + 1], image[2 * i + 2], image[2 * i + 3]
        _difference(a, c, parts[0])
        _sum(b, c, parts[1])
        _difference(c, b, parts[2])
        _difference(b, d, parts[3])
        for p in range(4):
            a, b = parts[p, :width], parts[p, half : half + width]
            c, d = parts[p, channels : channels + width], parts[p, half + channels : half + channels + width]
            _difference(a, c, tiles[4 * p, t])
            _sum(b, c, tiles[4 * p + 1, t])
            _difference(c, b, tiles[4 * p + 2, t])
            _difference(b, d, tiles[4 * p + 3, t])


@compiled_loop
def split_results(rows: Any, parts: Any, results: Any) -> None:
    """The 16 sums of each 2 × 2 results, from rows in halves: the adjoint of `join`."""
    width = results.shape[2]
    for i in range(results.shape[1]):
        a, b = rows[2 * i], rows[2 * i + 1]
        _copy(a, parts[0])
        _sum(a, b, parts[1])
        _difference(a, b, parts[2])
        _negative(b, parts[3])
        for p in range(4):
            a, b = parts[p, :width], parts[p, width : 2 * width]
            _copy(a, results[4 * p, i])
            _sum(a, b, results[4 * p + 1, i])
            _difference(a, b, results[4 * p + 2, i])
            _negative(b, results[4 * p + 3, i])


@compiled_loop
def join(products: Any, parts: Any, out: Any) -> None:
    """The 2 × 2 results of each tile from its 16 products; those beyond an image are left out."""
    images, height, width, filters = out.shape
    high, across = products.shape[1] // images, parts.shape[1] // filters
    cells = parts.reshape(8, across, filters)
    for t in range(products.shape[1]):
        image, i = out[t // high], t % high
        for p in range(4):
            a, b, c, d = products[p, t], products[4 + p, t], products[8 + p, t], products[12 + p, t]
            _sum_of_three(a, b, c, parts[p])
            _less_two(b, c, d, parts[4 + p])
        for q in range(2):
            if 2 * i + q >= height:
                continue
            for j in range(across):
                for k in range(filters):
                    image[2 * i + q, 2 * j, k] = cells[4 * q, j, k] + cells[4 * q + 1, j, k] + cells[4 * q + 2, j, k]
                if 2 * j + 1 < width:
                    for k in range(filters):
                        image[2 * i + q, 2 * j + 1, k] = (
                            cells[4 * q + 1, j, k] - cells[4 * q + 2, j, k] - cells[4 * q + 3, j, k]
                        )
