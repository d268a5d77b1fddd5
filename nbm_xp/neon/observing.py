"""Histograms of buffers, timing, and device methods, for neon's callbacks and benchmarks.

Methods for several devices or for a compiler only validate their arguments.
"""

from __future__ import annotations

import time
from enum import IntEnum
from typing import Any

from nbm_xp.functions.joining import magnitude_counts

from .buffers import Buffer
from .creation import Creation
from .layers import value_of, whole


class Block(IntEnum):
    """Kinds of repeated computation between `Backend.begin` and `Backend.end`.

    Examples
    --------
    >>> Block.minibatch
    <Block.minibatch: 1>
    """

    epoch = 0
    minibatch = 1
    fprop = 2
    bprop = 3
    update = 4


def _check_block(block: Any) -> None:
    if block not in tuple(Block):
        raise ValueError(f"block must be one of {', '.join(map(str, Block))}, got {block!r}")


_MOST = 4096


class Observing(Creation):
    """A Backend's histograms of buffers, time marks, and methods for several devices."""

    def cleanup_backend(self) -> None:
        """Do nothing: a backend is freed with its last reference.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> Backend(library="cpu").cleanup_backend()
        """

    def begin(self, block: int, identifier: int) -> None:
        """Mark the start of a block of repeated computation; no effect on results.

        Parameters
        ----------
        block : Block
            Kind of block.
        identifier : int
            Number of the repetition.

        Raises
        ------
        ValueError
            If `block` is not a `Block`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend, Block
        >>> be = Backend(library="cpu")
        >>> be.begin(Block.epoch, 1)
        >>> be.end(Block.epoch, 1)
        """
        _check_block(block)

    def end(self, block: int, identifier: int) -> None:
        """Mark the end of a block of repeated computation; no effect on results.

        Parameters
        ----------
        block, identifier
            See `begin`.

        Raises
        ------
        ValueError
            If `block` is not a `Block`.
        """
        _check_block(block)

    def distribute_data(self, tensor: Any, layer_parallelism: str | None) -> None:
        """Do nothing: there is a single device.

        Parameters
        ----------
        tensor : Buffer
            The buffer to distribute.
        layer_parallelism : str or None
            Kind of parallelism.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.distribute_data(be.zeros((2, 2)), "Data")
        """

    def revert_tensor(self, tensor: Any) -> None:
        """Do nothing: `distribute_data` changes nothing.

        Parameters
        ----------
        tensor : Buffer
            The buffer to revert.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.revert_tensor(be.zeros((2, 2)))
        """

    def set_hist_buffers(self, hist_bins: int, hist_offset: int) -> None:
        """Set the bins of the histograms of `Buffer.hist`, and drop the histograms.

        Parameters
        ----------
        hist_bins : int
            Number of bins; each bin is a power of two.
        hist_offset : int
            Exponent of the first bin.

        Raises
        ------
        TypeError, ValueError
            If an argument is not an integer, or there are no bins.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> be.set_hist_buffers(3, -1)
        >>> be.array([0.0, 1.0, -1.1, 2.0, 99.0]).hist("weights").get()
        array([[1, 2, 1]], dtype=int32)
        """
        bins, offset = whole(hist_bins, "hist_bins"), whole(hist_offset, "hist_offset", -(2**31))
        self.hist_bins, self.hist_offset, self._counted = bins, offset, None

    def count_magnitudes(self, x: Buffer, tag: str) -> Buffer:
        """Count the magnitudes in a buffer into a histogram with a name.

        Parameters
        ----------
        x : Buffer
            The values, rounded to powers of two: ``hist_bins`` bins, starting at ``2 ** hist_offset``. The first bin
            also counts smaller magnitudes, including 0.
        tag : str
            Name of the histogram.

        Returns
        -------
        Buffer
            The int32 counts, of shape (1, hist_bins): a view of the result of `dump_hist_data`.

        Raises
        ------
        TypeError
            If `x` is not a buffer of numbers.
        ValueError
            If `tag` is new and there are already 4096 histograms since the last `dump_hist_data`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> int(be.count_magnitudes(be.ones((3, 4)), "ones").get().sum())
        12
        """
        values = value_of(self, x, "x")
        if self._counted is None:
            self._counted, self._tags = self.empty((_MOST, self.hist_bins), dtype="int32"), {}
        if tag not in self._tags and len(self._tags) == _MOST:
            raise ValueError(f"tag must be one of the {_MOST} that were counted, or call dump_hist_data; got {tag!r}")
        place = self._tags.setdefault(tag, len(self._tags))
        row = self._counted[place : place + 1]
        row.write(magnitude_counts(values, self.hist_bins, self.hist_offset))
        return row

    def dump_hist_data(self) -> tuple[Buffer, dict[str, int]]:
        """Return the histograms since the last call.

        Returns
        -------
        Buffer
            Counts, of shape (4096, hist_bins): a row for each histogram.
        dict of str to int
            The row of each histogram by name.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> _ = be.ones((3, 4)).hist("weights")
        >>> counts, rows = be.dump_hist_data()
        >>> int(counts[rows["weights"]].get().sum()), be.dump_hist_data()[1]
        (12, {})
        """
        counted, tags = self._counted, self._tags if self._counted is not None else {}
        self._counted = None
        return self.empty((_MOST, self.hist_bins), dtype="int32") if counted is None else counted, tags

    def init_mark(self) -> dict[str, Any]:
        """Create a time mark, for `record_mark`.

        Examples
        --------
        >>> from nbm_xp.neon import Backend
        >>> be = Backend(library="cpu")
        >>> begin, end = be.init_mark(), be.init_mark()
        >>> be.record_mark(begin)
        >>> be.record_mark(end)
        >>> be.get_time(begin, end) >= 0
        True
        """
        return {"time": 0.0}

    def record_mark(self, marker: dict[str, Any]) -> None:
        """Set a time mark to the current time of the host's clock.

        Parameters
        ----------
        marker : dict
            Result of `init_mark`.
        """
        marker["time"] = time.perf_counter()

    def synchronize_mark(self, marker: dict[str, Any]) -> None:
        """Do nothing: marks use the host's clock, and are complete once recorded.

        Parameters
        ----------
        marker : dict
            Result of `init_mark`.
        """

    def get_time(self, start: dict[str, Any], end: dict[str, Any]) -> float:
        """Return the time between two marks, in milliseconds.

        Parameters
        ----------
        start, end : dict
            Recorded marks.

        Returns
        -------
        float
        """
        return float((end["time"] - start["time"]) * 1000.0)
