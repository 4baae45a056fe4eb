"""Observations of runs that plans keep: times of each class, the share in time, and the verdict on its promise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    """``seen`` beside what was promised, ``wanted``, and what lies below and above it with ``confidence`` each.

    ``what`` says of what: ``share`` of jobs in time, of which ``wanted`` is the least, or ``mean`` time in seconds, of
    which it is the most: ``high`` is None where nothing is known above, and all are where some job never ended.
    ``jobs`` were seen in ``runs``. ``enough`` is how many such runs would tell if they show what these did; None where
    these do, and where none would.
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


def outcomes_of(observed: Mapping[str, Observed], promising: Iterable[str]) -> dict[str, Outcome]:
    """Return the outcome of each class that promises something; of one that did not run it is undecided."""
    verdicts = {name: observed[name].verdict if name in observed else None for name in promising}
    return {name: Outcome.UNDECIDED if each is None else each.outcome for name, each in verdicts.items()}


def table_of(observed: Sequence[tuple[str, Observed]], what: str = "class") -> Table:
    """Return the classes that ran, or what else did, one a row."""
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
