"""The policy: what it decides when a phase begins, when tasks are lost, and when the moment it asked for has come."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from mrdsl.contracts.pipeline import Draft
from mrdsl.families.schedule.facts import ScheduleFacts
from mrdsl.families.schedule.methods.frugal import free_slots, phase_due, rent_slots, slots_for_rest, spread
from mrdsl.families.schedule.methods.policy import run_own, slots_for
from mrdsl.simulation.fleet import MAP
from mrdsl.simulation.scheduling import JobRun, Simulation


def run(draft: Draft, margin: float = 1.5) -> Draft:
    """The step: simulates the policy on the spec's jobs and machines."""
    return run_own(draft, partial(patient, margin=margin))


def patient(facts: ScheduleFacts, margin: float) -> Patient:
    """Make the policy for a run. A function of the module: under a time limit, a run has its own process."""
    return Patient(margin)


@dataclass(eq=False)
class Patient:
    """Tasks take idle slots at once; what is left waits until ``margin`` times its duration remains.

    Then VMs are rented on demand, as few as hold the slots that the rest of the time asks for.
    """

    margin: float
    waiting: list[JobRun] = field(default_factory=list)

    def ready(self, sim: Simulation, run: JobRun) -> None:
        """A phase of a job begins: a new job is sized, and its tasks wait for slots."""
        if run.phase == MAP:
            run.slots = slots_for(run.job.profile, run.job.due - sim.now - sim.machine.boot, "least_slots")
        self._take_idle(sim, run)

    def lost(self, sim: Simulation, run: JobRun) -> None:
        """An eviction has put tasks back."""
        self._take_idle(sim, run)

    def decide(self, sim: Simulation) -> None:
        """All that happens at this moment has happened: those who wait take what has fallen idle."""
        waiting, self.waiting = self.waiting, []
        for run in waiting:
            if run.waiting:
                self._take_idle(sim, run)

    def clock(self, sim: Simulation) -> None:
        """A moment that was asked for: who cannot wait any longer gets VMs."""
        self.decide(sim)

    def _take_idle(self, sim: Simulation, run: JobRun) -> None:
        lanes = free_slots(sim, run.phase, run.waiting)
        if lanes:
            spread(sim, run, lanes, min(run.waiting, sum(count for _, _, count in lanes)))
        if not run.waiting:
            return
        latest = phase_due(run) - self.margin * run.duration - sim.machine.boot
        if sim.now < latest:
            self.waiting.append(run)
            sim.call_at(latest)
            return
        spread(sim, run, rent_slots(sim, run.phase, slots_for_rest(sim, run), None), run.waiting)
