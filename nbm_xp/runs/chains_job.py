"""What the runs of all machines on graphs have in common, however a graph is divided into blocks.

Contract: a block may be a segment ahead of its neighbours, never more; what it shows them stays on disk for as long as
one of them may need it, in files of its own for each segment, so that nobody who is late can change what others read.
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass
from typing import Any

from nbm_xp.graphs.diagnosis import labels_of
from nbm_xp.graphs.lazily import OVERLAP, finished
from nbm_xp.graphs.observers import ABOUT_OVERLAP
from nbm_xp.graphs.values import Values, values_of
from nbm_xp.machines.diagnostics import Report, report

from . import store
from .job import Checkpoint, Job, read_checkpoint, write_checkpoint
from .store import Stored

__all__ = ["SHOWN", "TOTALS", "ChainsJob"]

SHOWN, TOTALS = "shown", "totals"
_ABOUT = {"energy": "energy a unit", "magnetisation": "mean value of a unit", OVERLAP: ABOUT_OVERLAP}


@dataclass(frozen=True)
class ChainsJob(Job):
    """Chains that are to be sampled; it can be sent to workers and is a key.

    Attributes
    ----------
    units, rule
        See `GraphMachine`.
    betas : tuple of float
        Of each chain.
    burn_in, sweeps, every : int
        Chains are measured after ``burn_in + (i + 1) * every`` sweeps.
    observe : tuple of str
        What is measured.
    """

    units: Any
    rule: str
    betas: tuple[float, ...]
    burn_in: int
    sweeps: int
    every: int
    observe: tuple[str, ...]

    part = "blocks"
    hands_on = False

    @property
    def values(self) -> Values:
        """What a unit can be."""
        return values_of(self.units)

    @property
    def n_units(self) -> int:
        """How many there are."""
        raise NotImplementedError

    @property
    def seen(self) -> range:
        """After which sweeps chains are measured."""
        return range(self.burn_in + self.every, self.burn_in + self.sweeps + 1, self.every)

    @property
    def names(self) -> tuple[str, ...]:
        """What there is in the result besides states: nothing where no sweep is measured."""
        return self.observe if self.seen else ()

    # What the result is

    def state(self) -> Stored:
        """The last states."""
        raise NotImplementedError

    def totals(self) -> Any:
        """The sums over all units, of shape (chains, draws, sums), when all is done."""
        raise NotImplementedError

    def totals_of_pairs(self) -> Any:
        """The sums of products of two chains each, of shape (pairs, draws), when all is done."""
        raise NotImplementedError

    def arrays(self) -> dict[str, Stored]:
        """The last states, and what was measured."""
        found = {"state": self.state()}
        for name in self.names:
            along, chains = ("pair", len(self.betas) // 2) if name == OVERLAP else ("chain", len(self.betas))
            shape, attributes = (chains, len(self.seen)), {"long_name": _ABOUT[name], "coordinates": "sweep"}
            found[name] = Stored(name, (along, "draw"), shape, shape, "float64", attributes)
        return found

    def coordinates(self) -> dict[str, range]:
        """The numbers of chains and, if there are any, of draws, and how many sweeps went before each draw."""
        of_draws = {"draw": range(len(self.seen)), "sweep": self.seen} if self.names else {}
        return {"chain": range(len(self.betas))} | of_draws

    def finish(self, unfinished: pathlib.Path) -> Report:
        """Write what was measured, and how well it has mixed, when all blocks are done."""
        totals, arrays = self.totals() if set(self.names) - {OVERLAP} else None, self.arrays()
        series: dict[str, tuple[Any, Any]] = {}
        for name in self.names:
            if name == OVERLAP:
                values = self.totals_of_pairs() / self.n_units
            else:
                values = finished(self.values, self.n_units, name, totals)[0]
            store.write_chunk(unfinished, arrays[name], (0, 0), values)
            series[name] = values, labels_of(self.betas, arrays[name].dimensions[0])
        found = report(series)
        store.annotate(unfinished, found.attributes)
        return found

    # What lies on disk while it goes on

    def folders(self) -> list[pathlib.Path]:
        """The folders that tasks write to, besides that of blocks."""
        return [self.folder(SHOWN), self.folder(TOTALS)]

    def shown(self, block: int, done: int) -> tuple[Any, ...]:
        """What a block has shown after so many segments.

        Raises
        ------
        ValueError
            If it is not there.
        """
        held = read_checkpoint(self.folder(SHOWN), self.run, block, done=done)
        if held is None:
            raise ValueError(f"{self.folder(SHOWN)} is damaged: block {block} shows nothing of segment {done}")
        return held.arrays

    def keep_measured(self, block: int, totals: Any) -> None:
        """Write what was measured of a block, when it is done."""
        write_checkpoint(self.folder(TOTALS), self.run, block, Checkpoint(self.n_segments, (totals,)))

    def measured(self, block: int) -> Any:
        """What was measured of a block.

        Raises
        ------
        ValueError
            If it is not there.
        """
        held = read_checkpoint(self.folder(TOTALS), self.run, block, done=self.n_segments)
        if held is None:
            raise ValueError(f"{self.folder(TOTALS)} is damaged: it lacks block {block}")
        return held.arrays[0]
