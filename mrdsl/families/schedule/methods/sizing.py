"""Number of slots that a job needs for its deadline, and the kind of their VMs (Vishal 2015, 3.5 and 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

from mrdsl.formulas import waves
from mrdsl.formulas.waves import SlotCounts, WaveProfile
from mrdsl.simulation.scheduling import Simulation

Sizing = str


def slots_for(profile: WaveProfile, time: float, sizing: Sizing) -> tuple[int, int]:
    """Return whole map and reduce slots for a completion within ``time`` by (3.15), at most the number of tasks.

    ``fixed_reduce``: a reduce slot per reduce task, map slots by (3.16). ``least_slots``: (3.17) and (3.18). If one of
    them exceeds its tasks, it is fixed there and the other is solved for from (3.15), which the thesis leaves out.
    """
    if sizing == "fixed_reduce":
        wanted = waves.slots_with_fixed_reduce(profile, time)
    else:
        wanted = _held_within_tasks(profile, time, waves.least_slots(profile, time))
    return (waves.whole_slots(wanted.map, profile.map_tasks), waves.whole_slots(wanted.reduce, profile.reduce_tasks))


def _held_within_tasks(profile: WaveProfile, time: float, wanted: SlotCounts) -> SlotCounts:
    a, b, c = waves.coefficients(profile)
    if not b or time - c <= 0.0:
        return wanted
    if wanted.map > profile.map_tasks:
        left = time - c - a / profile.map_tasks
        return SlotCounts(profile.map_tasks, waves.slots_within(b, left))
    if wanted.reduce > profile.reduce_tasks:
        left = time - c - b / profile.reduce_tasks
        return SlotCounts(waves.slots_within(a, left), profile.reduce_tasks)
    return wanted


@dataclass(frozen=True)
class InstanceTypes:
    """The instance type decision maker (4.2): which VMs to request, and the bid.

    ``kind`` is ``on_demand``, ``spot`` or ``hybrid``. The bid is the least one that outlasts the work with probability
    ``reliability``; hybrid takes on-demand VMs if that bid exceeds their price. The thesis does not define how to
    predict the minimum bid.
    """

    kind: str
    reliability: float

    def bid(self, sim: Simulation, length: float) -> float | None:
        """Return the bid for work of ``length`` seconds; None for on-demand VMs."""
        if self.kind == "on_demand" or sim.prices is None:
            return None
        bid = sim.prices.lasting_bid(sim.now, length, self.reliability)
        return None if self.kind == "hybrid" and bid > sim.machine.price else bid
