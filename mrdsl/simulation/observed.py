"""Observations of runs that plans keep: times of each class, the share in time, and the verdict on its promise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mrdsl.core.result import Outcome, Table, plain

if TYPE_CHECKING:
    from mrdsl.simulation.settings import Settings
    from mrdsl.spec.simulated import Run


@dataclass(frozen=True)
class Kept:
    """The share of jobs within a limit, and its 95 % confidence interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Verdict:
    """The observed value ``seen``, the promised one ``wanted``, and bounds below and above with ``confidence`` each.

    ``what`` is ``share`` of jobs on time, with the minimum ``wanted``, or ``mean`` time in seconds, with that maximum;
    ``high`` is None if no upper bound is known, and all are None if some job never ended. ``jobs`` were observed in
    ``runs``. ``enough`` is the number of such runs that would decide if they show the same; None if these decide, or
    none would.
    """

    outcome: Outcome
    what: str
    wanted: float
    seen: float | None
    low: float | None
    high: float | None
    confidence: float
    runs: int
    jobs: int
    enough: int | None = None


@dataclass(frozen=True)
class Observed:
    """Jobs of one class that ended after the warm-up, and the completion times [s] of those not given up.

    ``failed`` were given up. ``half_width`` is half the 95 % confidence interval of the mean, None for too few jobs;
    all times are None if every job was given up. ``kept`` is the share of all jobs within the deadline, None without
    one. ``utilisation`` is the share of busy slot seconds over the whole run, None without slots. ``verdict`` is on the
    promise of the class, None without one.
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
        """Return the entries of ``plan.classes.NAME``: ``kept`` if there is a deadline, ``verdict`` and
        ``observed``.
        """
        kept = {} if self.kept is None else {"kept": plain(self.kept)}
        verdict = {} if self.verdict is None else {"verdict": plain(self.verdict)}
        return {**kept, **verdict, "observed": self.document()}

    def document(self) -> dict[str, Any]:
        """Return the object under ``plan.classes.NAME.observed``."""
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
    """The settings of the runs of a plan: their number, the seed, completed jobs per user in each, and the warm-up
    share.

    ``what_if`` are the options of the command that override the spec.
    """

    runs: int
    seed: int
    jobs_per_user: int
    warm_up: float
    what_if: Mapping[str, Any]


def simulated_as(rules: Run, settings: Settings) -> Simulated:
    """Return the settings of runs by the rules of a spec and the options of a command."""
    jobs = settings.jobs or rules.jobs_per_user
    return Simulated(settings.runs, settings.seed, jobs, rules.warm_up, settings.what_if.said())


def outcomes_of(observed: Mapping[str, Observed], promising: Iterable[str]) -> dict[str, Outcome]:
    """Return the outcome of each class that promises something; of one that did not run it is undecided."""
    verdicts = {name: observed[name].verdict if name in observed else None for name in promising}
    return {name: Outcome.UNDECIDED if each is None else each.outcome for name, each in verdicts.items()}


def table_of(observed: Iterable[tuple[str, Observed]], what: str = "class", most: int | None = None) -> Table:
    """Return a table of the classes, or other items, that ran, one per row; a reader is shown ``most``."""
    head = (what, "jobs", "given up", "mean [s]", "+- [s]", "p50 [s]", "p95 [s]", "p99 [s]")
    rows = [
        (
            name,
            o.jobs,
            o.failed,
            *(o.mean, o.half_width, o.p50, o.p95, o.p99),
            *((o.kept.share, o.kept.low, o.kept.high) if o.kept is not None else (None, None, None)),
            o.utilisation,
            None if o.verdict is None else o.verdict.outcome.shown,
        )
        for name, o in observed
    ]
    return Table("Simulated", (*head, "on time", "from", "to", "use of slots", "verdict"), rows, most=most)
