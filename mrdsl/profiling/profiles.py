"""Logs in, profiles out: what is read, grouped, summed up and told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from mrdsl.core.diagnostics import Diagnostic, MrdslError, Severity, error
from mrdsl.exchange.logs.reading import find_logs, read_logs
from mrdsl.exchange.logs.records import MapReduceJob, SparkApplication
from mrdsl.exchange.logs.telling import Telling
from mrdsl.profiling.classes import MAX, P95, Cluster, Gathered, JobClass, LeftOut, features, gather
from mrdsl.profiling.grouping import clustered, grouper
from mrdsl.profiling.spec_text import spec_text

SORT_COUNTS_AS = ("reduce", "shuffle")


@dataclass(frozen=True)
class Profiles:
    """What a folder of logs says: classes of MapReduce jobs, applications of Spark, the cluster, what was left out.

    ``silhouette`` says how well clusters are apart (-1 to 1), None where jobs were not clustered.
    """

    gathered: Gathered
    applications: tuple[SparkApplication, ...]
    diagnostics: tuple[Diagnostic, ...]
    logs: int
    silhouette: float | None = None
    every_job: tuple[MapReduceJob, ...] = field(default=(), repr=False)

    @property
    def classes(self) -> tuple[JobClass, ...]:
        """The classes of MapReduce jobs."""
        return self.gathered.classes

    @property
    def cluster(self) -> Cluster:
        """The cluster as it was."""
        return self.gathered.cluster

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Jobs that make no profile, and why."""
        return self.gathered.left_out

    def to_mrspec(self, family: str = "capacity", title: str = "From logs") -> str:
        """A commented spec for the classes, numbers of the logs in it and params to fill in. Raises ValueError."""
        from mrdsl.language.formatting import format_text

        text, _ = format_text(spec_text(self.gathered, family, title), "<profiles>")
        assert text is not None, "what profiles write parses"
        return text


def _unwatched(_: int) -> AbstractContextManager[None]:
    return nullcontext()


def profile(
    paths: Sequence[str | Path],
    *,
    by: str = "name",
    classes: int | None = None,
    cluster: bool = False,
    seed: int = 0,
    longest: str = MAX,
    sort: str = "reduce",
    watch: Callable[[int], AbstractContextManager[Callable[[int], None] | None]] = _unwatched,
) -> Profiles:
    """Profiles of the jobs in logs: files, folders, globs, ``-`` for standard input.

    ``by`` is ``name``, ``queue``, ``user`` or a regular expression; ``cluster`` groups by k-means instead, into
    ``classes`` or as many as set themselves apart. ``longest`` is ``max`` or ``p95``, ``sort`` whether sorting counts
    as ``reduce`` or ``shuffle``. ``watch`` takes the bytes that lie there and gives what is called with those read.
    What cannot be read is told in the result. Raises MrdslError where nothing could be saved, or an option is wrong.
    """
    _check(longest, sort, classes)
    telling = Telling()
    jobs: list[MapReduceJob] = []
    applications: list[SparkApplication] = []
    logs = find_logs(paths, telling)
    with watch(sum(log.size for log in logs)) as progress:
        for run in read_logs(logs, telling, progress=progress):
            if isinstance(run, MapReduceJob):
                jobs.append(run)
            else:
                applications.append(run)
    found = telling.diagnostics()
    if not jobs and not applications:
        raise MrdslError(
            found or [error("no-logs", "there is no log to read", None, "name a file, a folder or a glob")]
        )
    names, silhouette = _names(jobs, by, classes, cluster or classes is not None, seed)
    gathered = gather(zip(jobs, names, strict=True), longest=longest, sort_counts_as=sort)
    told = tuple(replace(d, severity=Severity.WARNING) if d.severity is Severity.ERROR else d for d in found)
    return Profiles(gathered, tuple(applications), told, len(logs), silhouette, tuple(jobs))


def _check(longest: str, sort: str, classes: int | None) -> None:
    wrong = []
    if longest not in (MAX, P95):
        wrong.append(error("wrong-option", f"`{longest}` is no way to take a maximum", None, f"write {MAX} or {P95}"))
    if sort not in SORT_COUNTS_AS:
        wrong.append(
            error("wrong-option", f"`{sort}` is no phase that sorting counts as", None, "write reduce or shuffle")
        )
    if classes is not None and not 1 <= classes <= 1000:
        wrong.append(error("wrong-option", f"{classes} is no number of classes", None, "ask for 1 to 1,000"))
    if wrong:
        raise MrdslError(wrong)


def _names(
    jobs: Sequence[MapReduceJob], by: str, classes: int | None, cluster: bool, seed: int
) -> tuple[list[str], float | None]:
    if not cluster or not jobs:
        try:
            group = grouper(by)
        except ValueError as problem:
            raise MrdslError([error("wrong-option", str(problem), None, "write --by name, queue, user")]) from None
        return [group(job) for job in jobs], None
    try:
        labels, silhouette = clustered(features(jobs), classes, seed)
    except ImportError:
        message = "grouping jobs into classes needs scikit-learn"
        raise MrdslError([error("missing-extra", message, None, "pip install scikit-learn, or use --by")], 3) from None
    return [f"class_{label + 1}" for label in labels], silhouette
