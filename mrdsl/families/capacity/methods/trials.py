"""Placements of classes tried in simulation: the same jobs on every placement, and nothing run twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mrdsl.core.whole_numbers import ceiling
from mrdsl.simulation.engine.scenario import Scenario, Seen, load_of, run_once
from mrdsl.simulation.planned import Held, groups_of, scenario_of
from mrdsl.simulation.sampling import stream
from mrdsl.simulation.settings import Settings
from mrdsl.spec.simulated_plan import Simulation

Times = Sequence[Sequence[float]]
"""The completion times of a class's jobs [s], run by run."""


@dataclass(frozen=True)
class Cell:
    """How a class is placed: so many jobs at once share so many whole map and reduce slots (those of stages first)."""

    jobs: int
    map: int
    reduce: int

    def vms(self, per_vm: tuple[int, int]) -> float:
        """The VMs that the slots take, as a fraction."""
        return self.map / max(1, per_vm[0]) + self.reduce / max(1, per_vm[1])


Placement = tuple[Cell, ...]
"""A cell for every class, in the order of the spec."""


def seed_of(seed: int, *place: object) -> int:
    """A seed of its own for one purpose of a search."""
    return int(stream(seed, "calibrated", *place).randint(0, 2**31 - 1))


@dataclass
class Trials:
    """Runs of placements with one seed. ``held`` says how each class is run; ``made`` counts the runs of classes.

    ``go_on`` is called before each run, and may raise. ``as_packed``: slots are on VMs as the plan has them.
    """

    held: Sequence[Held]
    rules: Simulation
    seed: int
    go_on: Callable[[], None] = lambda: None
    as_packed: bool = False
    made: int = 0
    seen: dict[tuple[object, ...], Seen] = field(default_factory=dict)

    def times(self, placement: Placement, index: int, runs: int) -> Times:
        """What ``runs`` runs show of a class's jobs; infinite times where jobs arrive faster than its slots work."""
        group = self._group(placement, index)
        scenario = scenario_of(group, self.rules, Settings())
        place = [each.name for each in group].index(self.held[index].name)
        if self.overload(placement, index) >= 1.0:
            return [(float("inf"),)] * runs
        key = tuple((each.name, each.users, each.slots) for each in group)
        return [self._run(key, scenario, run).times[place] for run in range(runs)]

    def overload(self, placement: Placement, index: int) -> float:
        """The work that random arrivals bring over what the slots of a class can do; see :func:`load_of`."""
        return max(load_of(scenario_of(self._group(placement, index), self.rules, Settings())))

    def _run(self, key: tuple[object, ...], scenario: Scenario, run: int) -> Seen:
        known = (*key, run)
        if known not in self.seen:
            self.go_on()
            self.made += 1
            self.seen[known] = run_once(scenario, self.seed, run)
        return self.seen[known]

    def _group(self, placement: Placement, index: int) -> tuple[Held, ...]:
        placed = [
            replace(
                each,
                users=cell.jobs,
                slots=(cell.map, cell.reduce),
                machines=each.machines if self.as_packed else (),
            )
            for each, cell in zip(self.held, placement, strict=True)
        ]
        name = self.held[index].name
        return next(group for group in groups_of(placed, self.rules) if any(each.name == name for each in group))


def quantile(times: Times, level: float) -> float:
    """The time within which the share ``level`` of all jobs ends: the least of which no fewer are seen."""
    values = np.sort(np.concatenate([np.asarray(run, dtype=np.float64) for run in times]))
    rank = int(ceiling(level * len(values)))
    return float(values[min(max(rank, 1), len(values)) - 1])
