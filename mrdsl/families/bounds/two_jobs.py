"""Two jobs of one phase that start together on a work-conserving cluster: Propositions 2.2 and 2.3 of paper 000."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from mrdsl.core.result import Table, lacking
from mrdsl.core.tolerances import SAME_SUM
from mrdsl.families.bounds.facts import BoundsFacts, Cluster, is_fifo
from mrdsl.formulas import propositions
from mrdsl.formulas.mapreduce import Floats, Profile
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.stages import any_stages


@dataclass(frozen=True)
class TwoJobs:
    """Bounds in seconds: of the job that ends first, of the one that ends last (2.2), and of each by name (2.3).

    ``first_lower`` is None where a job has fewer tasks than its share of the slots, which 2.2 takes for granted.
    """

    first_lower: float | None = field(metadata=lacking("a job has fewer tasks than its share of the slots"))
    last_lower: float
    upper: Mapping[str, float]

    def table(self) -> Table:
        """The bounds on ends, and on each job."""
        rows = [
            ("the first end, at least (2.2)", self.first_lower),
            ("the last end, at least (2.2)", self.last_lower),
            *((f"{name}, at most (2.3)", value) for name, value in self.upper.items()),
        ]
        return Table("Two jobs that start together", ("what", "time [s]"), rows)


def two_jobs_of(facts: BoundsFacts, profile: Profile, slots: Floats) -> TwoJobs | None:
    """What the propositions say of a spec with two classes of one map-only job each; None of any other spec.

    ``slots`` are those of one job of each class, its share of all of them. Reduce phases, stages, several jobs of a
    class and clusters that do not lend idle slots, or serve one job after the other, are out of their range.
    """
    classes, cluster = facts.classes, facts.cluster or Cluster()
    plain = len(classes) == 2 and bool((column(classes, "jobs") == 1.0).all()) and bool(profile.map_only.all())
    if not plain or any_stages(classes) or is_fifo(facts) or cluster.work_conserving != "yes":
        return None
    total = float(slots.sum())
    share, work = slots / total, profile.map_tasks * profile.map_avg
    first, last = propositions.two_jobs_lower(work[0], share[0], work[1], total)
    upper = propositions.two_jobs_upper(profile.map_tasks, profile.map_avg, profile.map_max, share, work[::-1], total)
    fills = bool((profile.map_tasks >= slots * (1.0 - SAME_SUM)).all())
    names = [str(name) for name in names_of(classes)]
    bounds = dict(zip(names, np.asarray(upper).tolist(), strict=True))
    return TwoJobs(float(first) if fills else None, float(last), bounds)
