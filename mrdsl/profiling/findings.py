"""Causes of long runs in logs: skew, memory, failed attempts, slow machines, and numbers of tasks.

Each finding has a figure, the threshold that it exceeds, the source of that threshold, and the slot time that it costs.
Thresholds are those of Dr. Elephant (`app-conf/HeuristicConf.xml`, and its branch with memory metrics), Sparklens, and
NVIDIA's AutoTuner for input partitions. Findings that cost less than a hundredth of a run's slot time are left out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from mrdsl.core.result import Table
from mrdsl.exchange.logs.records import AttemptEnd, MapReduceJob, SparkApplication, StageRun, TaskKind
from mrdsl.profiling.cluster import counts_of
from mrdsl.profiling.containers import containers_of
from mrdsl.profiling.gathering import Gathered
from mrdsl.profiling.losses import attempts_of

LEVELS = ("low", "moderate", "severe", "critical")
LEAST = 0.01
"""Of the slot time of a run: the cost of a finding, at least."""
_MINUTE = 60_000
_LONG = 150_000
"""Milliseconds of the longest task of a stage with skew, at least; and its part of the stage (Dr. Elephant)."""
_PART = 0.75
_FEW_MINUTES = 5 * _MINUTE
"""Milliseconds of a machine that is called slow, at least (Dr. Elephant)."""
_SMALL = 128 * 2**20
_HEAP, _RESERVED = 2048, 300
"""MiB of a heap that is compared with its peak, at least, and MiB that Spark reserves of it (Dr. Elephant)."""
_POLLED = 0.25
"""Of the time of tasks, the part over which memory was measured, at least."""


@dataclass(frozen=True)
class Rule:
    """A measured quantity, its thresholds from low to critical, their source, and the remedy."""

    what: str
    measure: str
    levels: tuple[float, ...]
    source: str
    advice: str


_ELEPHANT, _MEMORY = "Dr. Elephant", "Dr. Elephant, memory branch"
SKEW = Rule(
    "skew", "longest over median task time", (2, 4, 8, 16), _MEMORY, "split the large partitions, for example by AQE"
)
LONG = Rule("long tasks", "median task time [min]", (2.5, 5, 10, 15), _MEMORY, "use more partitions")
FEW = Rule("few tasks", "slots over tasks", (1,), "Sparklens (PRatio)", "use more partitions, or fewer slots")
SMALL = Rule(
    "small partitions",
    "128 MiB over the largest input of a task",
    (1,),
    "NVIDIA AutoTuner",
    "raise `spark.sql.files.maxPartitionBytes`",
)
SPILL = Rule(
    "spill",
    "spilled bytes over bytes of the stage",
    (0.01, 0.1, 0.25, 0.5),
    _MEMORY,
    "use more memory or more partitions",
)
GC = Rule("garbage collection", "GC time over run time", (0.08, 0.09, 0.10, 0.15), _MEMORY, "use more memory per task")
FAILED = Rule("failed attempts", "failed over all attempts", (0.05, 0.10, 0.15, 0.20), _MEMORY, "see their messages")
SLOW = Rule(
    "slow machine",
    "task time over that of the same stages elsewhere",
    (1.334, 1.778, 3.162, 10),
    f"{_ELEPHANT}, executors",
    "check the machine, or use `spark.speculation`",
)
UNUSED = Rule(
    "unused memory",
    "heap over its peak and 300 MiB",
    (1.25, 1.5, 2, 3),
    _MEMORY,
    "set `spark.executor.memory` to 1.2 times the peak",
)
RULES = (SKEW, LONG, FEW, SMALL, SPILL, GC, FAILED, SLOW, UNUSED)


@dataclass(frozen=True)
class Finding:
    """A figure of one run that exceeds a threshold; ``cost`` are slot-milliseconds, None if unknown."""

    rule: Rule
    place: str
    figure: float
    cost: float | None

    @property
    def level(self) -> int:
        """The number of thresholds that the figure reaches; 0 for none."""
        return bisect_right(self.rule.levels, self.figure)


@dataclass(frozen=True)
class _Part:
    """Successful tasks of one stage or phase of a run: their begins and ends [ms], and lost attempts."""

    place: str
    spans: Sequence[tuple[int, int]]
    failed: int
    failed_time: float
    hosts: Mapping[str, tuple[int, int]]

    @property
    def durations(self) -> list[int]:
        return [max(0, end - begin) for begin, end in self.spans]


def findings_of(run: MapReduceJob | SparkApplication) -> tuple[Finding, ...]:
    """Return the findings of one run that cost enough."""
    if isinstance(run, MapReduceJob):
        parts = [_phase(run, kind) for kind in TaskKind]
        more: list[Finding] = []
    else:
        staged = [(f"stage {number}", attempts) for number, attempts in attempts_of(run).items()]
        parts = [_stage(place, attempts) for place, attempts in staged]
        more = [found for place, attempts in staged for found in _of_metrics(place, attempts)]
        more += _unused_memory(run)
    parts = [part for part in parts if part.spans]
    slots = counts_of(span for part in parts for span in part.spans).most
    every = sum(sum(part.durations) + part.failed_time for part in parts)
    found = [each for part in parts for each in _of_tasks(part, slots)]
    found += [*more, *_small(run, slots), *_slow_machines(parts)]
    return tuple(each for each in found if each.level and (each.cost is None or each.cost >= LEAST * every > 0.0))


def _phase(job: MapReduceJob, kind: TaskKind) -> _Part:
    spans: list[tuple[int, int]] = []
    hosts: dict[str, tuple[int, int]] = {}
    failed, lost = 0, 0.0
    for each in job.attempts:
        if each.kind is not kind or each.start is None or each.finish is None or each.finish < each.start:
            continue
        held = each.finish - each.start
        if each.end is AttemptEnd.SUCCEEDED:
            spans.append((each.start, each.finish))
            before = hosts.get(each.host, (0, 0))
            hosts[each.host] = before[0] + 1, before[1] + held
        elif each.end is AttemptEnd.FAILED:
            failed, lost = failed + 1, lost + held
    hosts.pop("", None)
    return _Part(f"{kind} tasks", spans, failed, lost, hosts)


def _stage(place: str, attempts: Sequence[StageRun]) -> _Part:
    hosts: dict[str, tuple[int, int]] = {}
    for each in attempts:
        for host, (tasks, time) in each.hosts.items():
            before = hosts.get(host, (0, 0))
            hosts[host] = before[0] + tasks, before[1] + time
    spans = [span for each in attempts for span in zip(each.launches, each.finishes, strict=True)]
    failed, lost = sum(each.failed for each in attempts), sum(each.failed_time for each in attempts)
    return _Part(place, spans, failed, float(lost), hosts)


def _of_tasks(part: _Part, slots: int) -> Iterator[Finding]:
    """Yield what the times of tasks show: skew, long tasks, few tasks, failed attempts."""
    times = part.durations
    middle, longest = median(times), max(times)
    begin, end = min(begin for begin, _ in part.spans), max(end for _, end in part.spans)
    most = counts_of(part.spans).most
    idle = float(most * (end - begin) - sum(times))
    if middle > 0 and longest > _LONG and longest >= _PART * (end - begin):
        yield Finding(SKEW, part.place, longest / middle, idle)
    yield Finding(LONG, part.place, middle / _MINUTE, idle)
    if slots > len(times):
        yield Finding(FEW, part.place, slots / len(times), float((slots - len(times)) * (end - begin)))
    yield Finding(FAILED, part.place, part.failed / (part.failed + len(times)), part.failed_time)


def _of_metrics(place: str, attempts: Sequence[StageRun]) -> Iterator[Finding]:
    """Yield what executors report: garbage collection and spill."""
    run, collected = sum(each.run_time for each in attempts), sum(each.gc_time for each in attempts)
    if run:
        yield Finding(GC, place, collected / run, float(collected))
    sizes = ("input_bytes", "output_bytes", "shuffle_read", "shuffle_write")
    largest = max(sum(getattr(each, size) for each in attempts) for size in sizes)
    if spilled := sum(each.spilled for each in attempts):
        yield Finding(SPILL, place, spilled / largest if largest else 1.0, None)


def _unused_memory(run: SparkApplication) -> Iterator[Finding]:
    """Yield a heap that is far above its peak, if this was measured over most of the run."""
    found = containers_of(run)
    if found is not None and found.memory.heap > _HEAP and run.peaks.polled >= _POLLED:
        yield Finding(UNUSED, "executors", found.memory.heap / (run.peaks.heap / 2**20 + _RESERVED), None)


def _small(run: MapReduceJob | SparkApplication, slots: int) -> Iterator[Finding]:
    """Yield stages whose tasks all read little, and of which there are more than slots; the cost is their overhead."""
    for each in () if isinstance(run, MapReduceJob) else run.stages:
        if each.largest_input and len(each.launches) > slots and each.run_time:
            overhead = float(max(0, sum(each.durations) - each.run_time))
            yield Finding(SMALL, f"stage {each.stage}", _SMALL / each.largest_input, overhead)


def _slow_machines(parts: Sequence[_Part]) -> Iterator[Finding]:
    """Yield machines whose tasks take longer than those of the same stages on the others."""
    taken: dict[str, float] = {}
    expected: dict[str, float] = {}
    for part in parts:
        tasks = sum(count for count, _ in part.hosts.values())
        time = sum(held for _, held in part.hosts.values())
        for host, (own, held) in part.hosts.items():
            if tasks > own:
                taken[host] = taken.get(host, 0.0) + held
                expected[host] = expected.get(host, 0.0) + own * (time - held) / (tasks - own)
    for host, total in taken.items():
        if total >= _FEW_MINUTES and expected[host] > 0.0:
            yield Finding(SLOW, host, total / expected[host], total - expected[host])


def findings_table(gathered: Gathered) -> Table:
    """Return the findings in all runs of the classes, the most expensive ones first."""
    groups: dict[tuple[str, str, Rule], list[Finding]] = {}
    runs: list[tuple[MapReduceJob | SparkApplication, str]] = [(job, name) for job, _, name in gathered.jobs]
    for run, name in (*runs, *gathered.applications):
        for each in findings_of(run):
            groups.setdefault((name, each.place, each.rule), []).append(each)
    rows = []
    for (name, place, rule), found in groups.items():
        worst = max(found, key=lambda each: each.figure)
        costs = [each.cost for each in found if each.cost is not None]
        rows.append(
            (
                name,
                place,
                rule.what,
                len(found),
                rule.measure,
                worst.figure,
                rule.levels[worst.level - 1],
                LEVELS[worst.level - 1] if len(rule.levels) > 1 else "",
                sum(costs) / 3_600_000 if costs else None,
                rule.source,
                rule.advice,
            )
        )
    rows.sort(key=lambda row: (-(row[8] or 0.0), *row[:3]))
    columns = (
        *("class", "where", "what", "runs", "measure", "worst", "threshold", "level"),
        *("slot time [h]", "source", "advice"),
    )
    return Table("Findings", columns, rows)
