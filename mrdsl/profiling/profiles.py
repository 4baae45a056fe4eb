"""Profiles from logs: reading, grouping, summing up, and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.core.arguments import checked
from mrdsl.core.charts import BarChart
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Severity, error, has_errors, one_error
from mrdsl.core.lazy import lazy
from mrdsl.core.tables import Readable, Table
from mrdsl.exchange.logs.formats import Telling
from mrdsl.exchange.logs.reading import find_logs, read_logs
from mrdsl.exchange.logs.records import MapReduceJob, Run, SparkApplication
from mrdsl.profiling.classes import MAX, P95, JobClass, LeftOut, Taught
from mrdsl.profiling.cluster import Cluster
from mrdsl.profiling.family_texts import schedule_text, spec_text
from mrdsl.profiling.gathering import Gathered, class_name, clustered, gather, grouper, known_features
from mrdsl.profiling.losses import lost_tasks, submissions
from mrdsl.profiling.spec_text import Price, parse_price
from mrdsl.profiling.stage_classes import StageClass

if TYPE_CHECKING:
    from mrdsl.profiling.replay import Replayed
    from mrdsl.profiling.split import Split
    from mrdsl.spec.spec import Spec

SORT_COUNTS_AS = ("reduce", "shuffle")
LEAST_SHARE = 0.8
"""Of the slot time of all runs, the share that classes stand for without a warning."""
Watch = Callable[[int], AbstractContextManager[Callable[[int], None] | None]]
"""Of how many bytes lie there, a context whose value is called with how many of them were read."""


_report = lazy("mrdsl.profiling.report", "report")
_class_table = lazy("mrdsl.profiling.report", "class_table")


@dataclass(frozen=True)
class Profiles(Readable):
    """The profiles of a folder of logs: classes of MapReduce jobs and of Spark applications, the cluster, omitted jobs.

    ``runs`` are all jobs and applications that were read. ``price`` is the cost of one VM, None if not given.
    ``silhouette`` is the separation of clusters (-1 to 1), None without clusters. ``lost`` is the number of lines,
    events, objects and files that were broken or cut, ``taught`` the method for classes. ``barren`` logs contain no job
    or application.
    """

    gathered: Gathered
    runs: tuple[Run, ...] = field(repr=False)
    diagnostics: tuple[Diagnostic, ...]
    logs: int
    price: Price | None = None
    silhouette: float | None = None
    lost: int = 0
    taught: Taught = field(default=Taught(), repr=False)
    barren: int = 0

    @property
    def classes(self) -> tuple[JobClass, ...]:
        """The classes of MapReduce jobs."""
        return self.gathered.classes

    @property
    def stage_classes(self) -> tuple[StageClass, ...]:
        """The classes of Spark applications."""
        return self.gathered.stage_classes

    @property
    def jobs(self) -> tuple[MapReduceJob, ...]:
        """Every job of MapReduce that was read."""
        return tuple(run for run in self.runs if isinstance(run, MapReduceJob))

    @property
    def applications(self) -> tuple[SparkApplication, ...]:
        """Every application of Spark that was read."""
        return tuple(run for run in self.runs if isinstance(run, SparkApplication))

    @property
    def cluster(self) -> Cluster:
        """The cluster as it was."""
        return self.gathered.cluster

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Runs that make no profile, and why."""
        return self.gathered.left_out

    @checked
    def split(self, share: float, seed: int = 0) -> Split:
        """Return the predictions of the first ``share`` of the time for the rest, with the logs of the rest."""
        from mrdsl.profiling.split import split

        return split(self.gathered.jobs, self.gathered.usable, share, seed, self.taught)

    def replay(self) -> tuple[Replayed, ...]:
        """Return each Spark run in the engine with its own task times, delays and executors, but damaged ones."""
        from mrdsl.profiling.replay import replayed

        found = map(replayed, self.applications)
        return tuple(each for each in found if each is not None)

    def _table(self, title: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Return one row a class, as the table that ``classes from`` reads, or the table of the report."""
        if title:
            return super()._table(title)
        columns, rows = _class_table(self.classes)
        return columns, list(rows)

    def readable(self) -> Iterable[Table]:
        """Return the tables that ``mrdsl profile`` prints."""
        tables: Iterable[Table] = _report(self)
        return tables

    @property
    def charts(self) -> tuple[BarChart, ...]:
        """The average task times of the classes of MapReduce jobs."""
        means: dict[str, list[float | None]] = {
            "map": [each.map.average for each in self.classes],
            "reduce": [each.reduce.average if each.reduce is not None else None for each in self.classes],
        }
        return (BarChart("Average task times", tuple(each.name for each in self.classes), means, y_label="time [s]"),)

    @checked
    def to_spec(self, family: str | None = None, title: str = "From logs") -> Spec:
        """Return the spec that :meth:`to_mrspec` writes. Raises ValueError."""
        from mrdsl.language.loading import load_text

        spec = load_text(self.to_mrspec(family, title)).spec
        assert spec is not None, "what profiles write is a spec"
        return spec

    @checked
    def to_mrspec(
        self,
        family: str | None = None,
        title: str = "From logs",
        *,
        samples: str | None = None,
        on: Mapping[str, Profiles] | None = None,
    ) -> str:
        """Return a commented spec for the classes, with the numbers of the logs and params to fill in.

        Without ``family`` it is a timetable if the runs start at different times and do not all overlap, otherwise a
        spec of capacity.
        ``samples`` is a folder of the files of :func:`mrdsl.profiling.report.sample_files`, as the spec names it.
        ``on`` has the profiles of other machine types for classes of the same names, by type, for a spec of capacity.
        Raises ValueError for a family that these logs do not serve.
        """
        from mrdsl.language.formatting import format_text

        others = {name: profiles.gathered for name, profiles in (on or {}).items()}
        text, _ = format_text(spec_text(self.gathered, family, title, self.price, samples, others), "<profiles>")
        assert text is not None, "what profiles write parses"
        return text

    @checked
    def to_schedule(self, table: str, title: str = "From logs") -> str:
        """Return a commented spec of the schedule family, whose jobs are read from ``table``. Raises ValueError."""
        from mrdsl.language.formatting import format_text

        text, _ = format_text(schedule_text(self.gathered, table, title, self.price), "<profiles>")
        assert text is not None, "what profiles write parses"
        return text


def profile(
    paths: Sequence[str | Path],
    *,
    by: str = "name",
    classes: int | None = None,
    cluster: bool = False,
    seed: int = 0,
    longest: str = MAX,
    sort: str = "reduce",
    price: str | None = None,
    watch: Watch | None = None,
    allow_outside: bool = False,
    strict: bool = False,
) -> Profiles:
    """Return profiles of the jobs in logs: see :func:`mrdsl.api.profile`."""
    _check(longest, sort, classes)
    cost = None if price is None else _price(price)
    telling = Telling()
    logs = find_logs(paths, telling, allow_outside)
    with nullcontext() if watch is None else watch(sum(log.size for log in logs)) as progress:
        runs = submissions(read_logs(logs, telling, progress=progress))
    messages = telling.diagnostics()
    if not runs:
        raise MrdslError(
            messages or [error("no-logs", "there is no log to read", None, "name a file, a folder or a glob")]
        )
    cluster = cluster or classes is not None
    names, silhouette = _names(runs, by, classes, cluster, seed)
    gathered = gather(zip(runs, names, strict=True), longest=longest, sort_counts_as=sort)
    losses = _losses(gathered, strict)
    if strict and has_errors(losses):
        raise MrdslError([*messages, *losses])
    warnings = tuple(
        replace(d, severity=Severity.WARNING) if d.severity is Severity.ERROR else d for d in (*messages, *losses)
    )
    taught = Taught(longest, sort, (lambda jobs: _clusters(jobs, classes, seed)[0]) if cluster else None)
    return Profiles(gathered, runs, warnings, len(logs), cost, silhouette, telling.lost, taught, telling.barren)


def _losses(gathered: Gathered, strict: bool) -> tuple[Diagnostic, ...]:
    """Return the messages about events that logs lost: scaled where that is sound, otherwise an error if ``strict``."""
    telling = Telling()
    for each, _ in gathered.applications:
        if losses := lost_tasks(each):
            read, tasks = (sum(getattr(loss, name) for loss in losses) for name in ("read", "tasks"))
            worst = min(losses, key=lambda loss: loss.read / loss.tasks)
            message = (
                f"{tasks - read:,} of {tasks:,} ends of tasks are lost in {len(losses)} stages; "
                f"stage {worst.stage} has {worst.read:,} of {worst.tasks:,}"
            )
            hint = "their number is known, their times are taken from the others; see the report"
            telling.warn("lost-events", message, each.source, 1, hint)
    for left in gathered.left_out:
        if left.damaged:
            tell = telling.fail if strict else telling.warn
            hint = (
                "copy the log again" if not strict else "copy the log again, or run without `--strict` to leave it out"
            )
            tell("lost-events", f"{left.job or 'this application'} is left out: {left.reason}", left.source, 1, hint)
    share = gathered.share([*gathered.classes, *gathered.stage_classes])
    if gathered.runs and share < LEAST_SHARE:
        message = f"the classes stand for {share:.0%} of the slot time of all runs, so a plan for them is too small"
        hint = "the table `Left out` has the reasons; group the runs otherwise, with `--by` or `--cluster`"
        sources = [each.source for each in gathered.left_out] + [each.source for each, _ in gathered.applications]
        telling.warn("partial-classes", message, sources[0], 1, hint)
    return telling.diagnostics()


def _price(text: str) -> Price:
    try:
        return parse_price(text)
    except ValueError as problem:
        hint = 'write an amount, a currency and a time: --price "0.20 USD/h"'
        raise one_error("wrong-option", str(problem), None, hint) from None


def _check(longest: str, sort: str, classes: int | None) -> None:
    wrong = []
    if longest not in (MAX, P95):
        wrong.append(
            error("wrong-option", f"`{longest}` is not a way to take a maximum", None, f"write {MAX} or {P95}")
        )
    if sort not in SORT_COUNTS_AS:
        wrong.append(error("wrong-option", f"`{sort}` is not a phase for sorting", None, "write reduce or shuffle"))
    if classes is not None and not 1 <= classes <= 1000:
        wrong.append(
            error("wrong-option", f"`--classes` must be between 1 and 1,000, got {classes}", None, "ask for 1 to 1,000")
        )
    if wrong:
        raise MrdslError(wrong)


def _names(
    runs: Sequence[Run], by: str, classes: int | None, cluster: bool, seed: int
) -> tuple[list[str], float | None]:
    """Return the class of every run; applications of Spark never share one with jobs of MapReduce."""
    try:
        group = grouper(by)
    except ValueError as problem:
        raise one_error("wrong-option", str(problem), None, "write --by name, queue, user or tasks") from None
    if cluster:
        return _clusters(runs, classes, seed)
    names = [class_name(group(run)) for run in runs]
    of_jobs = {name for run, name in zip(runs, names, strict=True) if isinstance(run, MapReduceJob)}
    names = [
        f"{name}_spark" if name in of_jobs and isinstance(run, SparkApplication) else name
        for run, name in zip(runs, names, strict=True)
    ]
    return names, None


def _clusters(runs: Sequence[Run], classes: int | None, seed: int) -> tuple[list[str], float | None]:
    """Return jobs of MapReduce and applications of Spark each among themselves; the silhouette is the worse of both."""
    names, silhouettes = [""] * len(runs), []
    jobs = [place for place, run in enumerate(runs) if isinstance(run, MapReduceJob)]
    applications = [place for place, run in enumerate(runs) if isinstance(run, SparkApplication)]
    for places, suffix in ((jobs, ""), (applications, "_spark" if jobs else "")):
        if not places:
            continue
        try:
            labels, silhouette = clustered(known_features([runs[place] for place in places]), classes, seed)
        except ImportError:
            hint = "pip install scikit-learn, or use --by"
            missing = error("missing-extra", "grouping jobs into classes needs scikit-learn", None, hint)
            raise MrdslError([missing], 3) from None
        for place, label in zip(places, labels, strict=True):
            names[place] = f"class_{label + 1}{suffix}"
        silhouettes += [] if silhouette is None else [silhouette]
    return names, min(silhouettes, default=None)
