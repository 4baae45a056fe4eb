"""What was seen of a class while a plan ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from mrdsl.core.result import Outcome, Table, plain
from mrdsl.simulation.kept import Kept, Verdict

if TYPE_CHECKING:
    from mrdsl.simulation.engine.scenario import Scenario, Seen
    from mrdsl.simulation.promises import Promised
    from mrdsl.simulation.settings import Settings
    from mrdsl.spec.simulated import Run


@dataclass(frozen=True)
class Observed:
    """Jobs of one class that ended after the warm-up, and the completion times in seconds of those not given up.

    ``failed`` were given up. ``half_width`` is half the 95 % confidence interval of the mean, None where there is too
    little to tell; all times are None where every job was given up. ``kept`` is the share of all jobs within the
    deadline, None where there is none, and ``utilisation`` the share of slot seconds at work, over the whole run; None
    where there are no slots.
    ``verdict`` is on what was promised of the class, None where nothing was.
    """

    jobs: int
    failed: int
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    half_width: float | None
    kept: Kept | None
    utilisation: float | None
    verdict: Verdict | None = None

    def beside(self) -> dict[str, Any]:
        """What stands in ``plan.classes.NAME``: ``kept`` where there is a deadline, ``verdict`` and ``observed``."""
        kept = {} if self.kept is None else {"kept": plain(self.kept)}
        verdict = {} if self.verdict is None else {"verdict": plain(self.verdict)}
        return {**kept, **verdict, "observed": self.document()}

    def document(self) -> dict[str, Any]:
        """The object under ``plan.classes.NAME.observed``."""
        return {
            "jobs": self.jobs,
            "failed": self.failed,
            "mean": self.mean,
            "p50": self.p50,
            "p95": self.p95,
            "p99": self.p99,
            "half_width": self.half_width,
            "utilisation": self.utilisation,
        }


@dataclass(frozen=True)
class Simulated:
    """How a plan was run: independent runs, the seed, completed jobs per user in each, and the share that was warm-up.

    ``what_if`` is what the command said in the place of the spec.
    """

    runs: int
    seed: int
    jobs_per_user: int
    warm_up: float
    what_if: Mapping[str, Any]


def simulated_as(rules: Run, settings: Settings) -> Simulated:
    """How a plan is run by the rules of a spec and what a command says."""
    jobs = settings.jobs or rules.jobs_per_user
    return Simulated(settings.runs, settings.seed, jobs, rules.warm_up, settings.what_if.said())


def observed_classes(
    scenario: Scenario,
    runs: Sequence[Seen],
    deadlines: Sequence[float | None],
    promises: Sequence[Promised | None],
) -> list[Observed | None]:
    """What runs of a scenario saw of each of its classes; ``utilisation`` is the class's part of all slot seconds."""
    slots = sum(machines.vms * machines.slots for machines in scenario.machines)
    span = sum(run.span for run in runs)
    found = []
    for place, (deadline, promise) in enumerate(zip(deadlines, promises, strict=True)):
        use = sum(run.busy[place] for run in runs) / (slots * span) if span > 0.0 else 0.0
        found.append(observed_of([run.times[place] for run in runs], deadline, use, promise))
    return found


def observed_of(
    runs: Sequence[Sequence[float]], deadline: float | None, utilisation: float | None, promise: Promised | None = None
) -> Observed | None:
    """What independent runs saw of a class, each after its warm-up, infinite for given-up jobs; None where none ran."""
    from mrdsl.simulation.statistics import kept_within, summarize

    jobs = sum(map(len, runs))
    if not jobs:
        return None
    kept = None if deadline is None else kept_within(runs, deadline)
    verdict = None if promise is None else promise.judged(runs)
    ended = [[time for time in run if isfinite(time)] for run in runs]
    failed = jobs - sum(map(len, ended))
    if failed == jobs:
        return Observed(jobs, failed, None, None, None, None, None, kept, utilisation, verdict)
    summary = summarize(ended)
    times = (summary.mean, summary.p50, summary.p95, summary.p99, summary.half_width)
    return Observed(jobs, failed, *times, kept, utilisation, verdict)


def outcomes_of(observed: Mapping[str, Observed], promising: Iterable[str]) -> dict[str, Outcome]:
    """The outcome of each class that promises something; of one that did not run it is undecided."""
    verdicts = {name: observed[name].verdict if name in observed else None for name in promising}
    return {name: Outcome.UNDECIDED if each is None else each.outcome for name, each in verdicts.items()}


def table_of(observed: Sequence[tuple[str, Observed]], what: str = "class") -> Table:
    """The classes that ran, or what else did, one a row."""
    head = (what, "jobs", "given up", "mean [s]", "+- [s]", "p50 [s]", "p95 [s]", "p99 [s]")
    rows = [
        (
            name,
            o.jobs,
            o.failed,
            *(o.mean, o.half_width, o.p50, o.p95, o.p99),
            *((o.kept.share, o.kept.low, o.kept.high) if o.kept is not None else (None, None, None)),
            o.utilisation,
            None if o.verdict is None else str(o.verdict.outcome),
        )
        for name, o in observed
    ]
    return Table("Simulated", (*head, "in time", "from", "to", "use of slots", "promise"), rows)
