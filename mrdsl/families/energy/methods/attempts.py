"""What the steps of the energy pipelines hand on: jobs with the VMs dealt to them, and ways of placing their tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from mrdsl.contracts.pipeline import Draft
from mrdsl.families.energy.assignment import Share
from mrdsl.families.energy.cluster import Floats, Ints, JobData, Machines


@dataclass(frozen=True)
class Attempt:
    """One way of placing a job's tasks, as far as the steps have come.

    ``room`` is the time left for the map and the reduce phase together, s; ``map_room`` and ``reduce_room`` bound each
    phase by itself. ``map_order`` and ``reduce_order`` are VM numbers, the preferred first; ``maps`` and ``reduces``
    are tasks per VM, None until a step has placed them.
    """

    room: float = inf
    map_room: float = inf
    reduce_room: float = inf
    map_order: Ints | None = None
    reduce_order: Ints | None = None
    maps: Ints | None = None
    reduces: Ints | None = None

    @property
    def placed(self) -> bool:
        return self.maps is not None and self.reduces is not None


@dataclass(frozen=True)
class DealtJob:
    """One job: its data, the type of every VM dealt to it, the attempts, and the one that was kept."""

    job: JobData
    types: Ints
    attempts: tuple[Attempt, ...] = (Attempt(),)
    kept: Attempt | None = None

    def share(self, attempt: Attempt) -> Share:
        """The attempt's tasks per VM."""
        assert attempt.maps is not None
        assert attempt.reduces is not None
        return Share(self.types, attempt.maps, attempt.reduces)


@dataclass(frozen=True)
class Dealt:
    """The state between steps."""

    machines: Machines
    jobs: tuple[DealtJob, ...]


def each_job(draft: Draft, change: Callable[[Machines, DealtJob], DealtJob]) -> Draft:
    """The draft with every job's work changed."""
    dealt: Dealt = draft.state
    return replace(draft, state=replace(dealt, jobs=tuple(change(dealt.machines, own) for own in dealt.jobs)))


def each_attempt(draft: Draft, change: Callable[[Machines, DealtJob, Attempt], Sequence[Attempt]]) -> Draft:
    """The draft with every attempt replaced by those that ``change`` makes of it."""
    return each_job(
        draft,
        lambda machines, own: replace(
            own, attempts=tuple(new for attempt in own.attempts for new in change(machines, own, attempt))
        ),
    )


def per_vm(values: Floats, own: DealtJob) -> Floats:
    """A figure of VM types as one of VMs."""
    return values[own.types]
