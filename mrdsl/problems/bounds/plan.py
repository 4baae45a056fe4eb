"""The plan of a bounds spec: completion times and slots per class, and what a simulation observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mrdsl.outcome import Bar, Plan, Table, plain
from mrdsl.performance.mapreduce import Floats

SHOWN = 50
"""How many classes the terminal shows."""
ESTIMATES = ("lower", "average", "upper", "waves")


@dataclass(frozen=True)
class Observed:
    """What was seen of one class: completed jobs, and their completion times in seconds.

    ``half_width`` is half the 95 % confidence interval of the mean, None where there is too little to tell.
    """

    jobs: int
    mean: float
    p50: float
    p95: float
    half_width: float | None


@dataclass(frozen=True, eq=False)
class BoundsPlan(Plan):
    """Arrays have one element per class; slots are those of one job, unrounded, times in seconds.

    ``jobs`` run side by side in each class. ``deadline`` is NaN where the class has none. ``observed`` is empty unless
    the plan was simulated.
    """

    names: Sequence[str]
    jobs: Floats
    map_slots: Floats
    reduce_slots: Floats
    completion: Mapping[str, Floats]
    deadline: Floats
    sizes: bool
    observed: Mapping[str, Observed] = field(default_factory=dict)
    timeline: tuple[Bar, ...] = ()

    @property
    def slots(self) -> float:
        """Map and reduce slots of all jobs of all classes."""
        return float(((self.map_slots + self.reduce_slots) * self.jobs).sum())

    def document(self) -> dict[str, Any]:
        """The object under ``plan`` in the JSON result."""
        classes = {name: self._class(index, name) for index, name in enumerate(self.names)}
        return {"classes": classes, "slots": plain(self.slots)} if self.sizes else {"classes": classes}

    def tables(self) -> tuple[Table, ...]:
        """Estimates and slots per class, and what was observed beside them."""
        head = ("class", "jobs", "map slots", "reduce slots", "lower [s]", "average [s]", "upper [s]", "waves [s]")
        rows = [(name, int(self.jobs[i]), float(self.map_slots[i]), float(self.reduce_slots[i]),
                 *(float(self.completion[each][i]) for each in ESTIMATES)) for i, name in enumerate(self.names[:SHOWN])]
        found = [Table("Completion of one job, on the slots of one job", head, rows)]
        if self.sizes:
            found.append(Table("Slots", ("map and reduce slots of all jobs",), [(self.slots,)]))
        if self.observed:
            head = ("class", "jobs seen", "mean [s]", "+- [s]", "p50 [s]", "p95 [s]", "upper / mean", "average / mean")
            found.append(Table("Simulated", head, [self._seen(i, n) for i, n in enumerate(self.names[:SHOWN])]))
        return tuple(found)

    def bars(self) -> tuple[Bar, ...]:
        """The tasks on their slots, where the plan was simulated."""
        return self.timeline

    def _class(self, index: int, name: str) -> dict[str, Any]:
        times = {each: plain(float(self.completion[each][index])) for each in ESTIMATES}
        seen = self.observed.get(name)
        if seen is not None:
            times |= {"mean": seen.mean, "p50": seen.p50, "p95": seen.p95, "half_width": seen.half_width}
        return {"completion": times, "map_slots": float(self.map_slots[index]),
                "reduce_slots": float(self.reduce_slots[index])}

    def _seen(self, index: int, name: str) -> tuple[Any, ...]:
        seen = self.observed[name]
        ratios = [float(self.completion[each][index]) / seen.mean for each in ("upper", "average")]
        return name, seen.jobs, seen.mean, seen.half_width, seen.p50, seen.p95, *ratios


def whole(slots: Floats) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Slots as a scheduler takes them: rounded up."""
    return np.ceil(slots * (1.0 - 1e-9)).astype(np.int64)
