"""Region-of-interest pooling and non-maximum suppression agree with element-by-element computations."""

import math
from typing import Any

import numpy as np
import pytest

from nbm_xp.neon import Backend
from tests.helpers.libraries import Library, computing

pytestmark = pytest.mark.at_night("jax")


def drawn(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def pooled(maps: np.ndarray, rois: np.ndarray, rows: int, columns: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Pool each cell separately."""
    channels, height, width, _ = maps.shape
    values, places = np.zeros((channels, rows, columns, len(rois))), np.full((channels, rows, columns, len(rois)), -1)
    for number, (image, *borders) in enumerate(rois):
        x0, y0, x1, y1 = (round(float(border) * scale) for border in borders)
        wide, high = max(x1 - x0 + 1, 1), max(y1 - y0 + 1, 1)
        for row in range(rows):
            above, below = y0 + row * high // rows, y0 + math.ceil((row + 1) * high / rows)
            for column in range(columns):
                left, right = x0 + column * wide // columns, x0 + math.ceil((column + 1) * wide / columns)
                ys = range(min(max(above, 0), height), min(max(below, 0), height))
                xs = range(min(max(left, 0), width), min(max(right, 0), width))
                for channel in range(channels):
                    found = [(maps[channel, y, x, int(image)], -y * width - x) for y in ys for x in xs]
                    if found:
                        values[channel, row, column, number], place = max(found)
                        places[channel, row, column, number] = -place
    return values, places


class TestRegions:
    ROIS = np.asarray([
        [0, 0, 0, 15, 11], [1, 2, 3, 9, 4], [0, 30, 2, 60, 9], [1, 5, 5, 3, 2], [1, 7, 9, 7, 9], [0, 100, 0, 120, 8],
    ], dtype=float)  # fmt: skip

    def test_values_places_and_gradient(self, library: Library) -> None:
        be = Backend(default_dtype="float64", library=library.name)
        be.bsz = 2
        maps = np.round(drawn(3, 7, 9, 2) * 2)  # with ties
        count, cells = len(self.ROIS), (3, 2)
        inputs, rois = be.array(maps.reshape(-1, 2)), be.array(self.ROIS)
        outputs, argmax, delta = be.ones((3 * 6, count)), be.zeros((3 * 6, count), dtype="int32"), be.ones((3 * 63, 2))
        be.roipooling_fprop(inputs, rois, outputs, argmax, count, 3, 7, 9, *cells, 0.5)
        errors = drawn(3 * 6, count, seed=3)
        be.roipooling_bprop(be.array(errors), rois, delta, argmax, count, 3, 7, 9, *cells, 0.5)
        values, places = pooled(maps, self.ROIS, *cells, 0.5)
        wanted = np.zeros((3, 63, 2))
        for (channel, row, column, number), place in np.ndenumerate(places):
            if place >= 0:
                error = errors.reshape(3, *cells, count)[channel, row, column, number]
                wanted[channel, place, int(self.ROIS[number, 0])] += error
        with computing():
            np.testing.assert_array_equal(outputs.get().reshape(values.shape), values)
            np.testing.assert_array_equal(argmax.get().reshape(places.shape), places)
            np.testing.assert_allclose(delta.get().reshape(wanted.shape), wanted, rtol=1e-12)

    def test_borders_are_those_of_exact_quotients(self) -> None:
        """If a row has as many elements as cells, each cell is one element, however the quotients round."""
        be = Backend(library="numpy")
        be.bsz = 1
        for length in (3, 7, 49, 103):
            row, outputs, at = be.array(np.arange(length)), be.zeros((length, 1)), be.zeros((length, 1), dtype="int32")
            be.roipooling_fprop(row, be.array([[0, 0, 0, length - 1, 0]]), outputs, at, 1, 1, 1, length, 1, length, 1.0)
            np.testing.assert_array_equal(outputs.get()[:, 0], np.arange(length))

    def test_boxes_that_overlap_a_better_one_are_dropped(self, library: Library) -> None:
        rng = np.random.default_rng(5)
        corner, score = rng.random((30, 2)) * 20, rng.random((30, 1))
        boxes = np.concatenate([corner, corner + rng.random((30, 2)) * 20, score], axis=1)

        def share(a: Any, b: Any) -> float:
            wide, high = (max(0.0, min(a[2 + k], b[2 + k]) - max(a[k], b[k]) + 1) for k in (0, 1))
            areas = [(box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (a, b)]
            return float(wide * high / (sum(areas) - wide * high))

        kept: list[int] = []
        for number in np.argsort(-boxes[:, 4]):
            if all(share(boxes[other], boxes[number]) <= 0.3 for other in kept):
                kept.append(int(number))
        be = Backend(default_dtype="float64", library=library.name)
        with computing():
            assert be.nms(be.array(boxes), 0.3) == kept and 1 < len(kept) < 30

    def test_regions_need_a_batch_and_boxes_five_columns(self) -> None:
        be: Any = Backend(library="numpy")
        outputs, at = be.ones((4, 1)), be.ones((4, 1), dtype="int32")
        with pytest.raises(ValueError, match="set the backend's bsz"):
            be.roipooling_fprop(be.ones((9, 1)), be.ones((1, 5)), outputs, at, 1, 1, 3, 3, 2, 2, 1.0)
        with pytest.raises(ValueError, match="boxes must have shape"):
            be.nms(be.ones((3, 4)), 0.5)
