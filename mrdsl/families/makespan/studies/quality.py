"""How far each makespan method is from the proven optimum, on small random batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from mrdsl.contracts.study import Bench
from mrdsl.core.result import Limits, Table, Termination
from mrdsl.core.tolerances import FEASIBILITY, ROUNDING
from mrdsl.families.makespan.facts import Cluster, Job, MakespanFacts, MapTasks, ReduceTasks
from mrdsl.reporting.study_tables import written
from mrdsl.spec.blocks import MapReduceSlots
from mrdsl.spec.spec import Spec

METHODS = (
    "fifo",
    "johnson",
    "genetic",
    "balanced-pools",
    "balanced-pools-genetic",
    "many-pools",
    "slot-search",
    "portfolio",
)
PROOFS = ("exact", "cp-sat")


def quality(folder: Path, bench: Bench, batches: int = 50, seed: int = 8, seconds: float = 120.0) -> Iterable[Table]:
    """Per batch the optimum, proven by HiGHS and, where it is installed, by CP-SAT, and what every method gives.

    Raises RuntimeError where two proofs disagree or a method beats one: that would be a fault of ours.
    """
    rows = []
    for index in range(batches):
        spec = small_batch(seed, index)
        bound, known, provers = _proven(bench, spec, seconds)
        values = [_value(bench, spec, method) for method in METHODS]
        if min(values) < bound - FEASIBILITY:
            raise RuntimeError(f"batch {index}: {min(values)} s is below the proven bound {bound} s")
        rows.append((index, len(spec.facts.jobs), bound, min(known, *values), ", ".join(provers), *values))
    columns = ("batch", "jobs", "proven bound [s]", "best known [s]", "proven by", *(f"{m} [s]" for m in METHODS))
    yield written(folder, "batches", Table("Makespans of small batches", columns, rows))
    yield written(folder, "quality", _summary(rows))


def small_batch(seed: int, index: int) -> Spec:
    """Three to five jobs on two to five slots of either kind; whole seconds, so that optima are whole too."""
    stream = np.random.RandomState([seed, index])
    map_slots, reduce_slots = (int(x) for x in stream.randint(2, 6, 2))
    jobs = tuple(
        Job(
            name=f"J{j + 1}",
            map=MapTasks(tasks=int(stream.randint(1, 3 * map_slots)), time=float(stream.randint(1, 20))),
            reduce=ReduceTasks(tasks=int(stream.randint(0, 2 * reduce_slots)), time=float(stream.randint(1, 20))),
        )
        for j in range(stream.randint(3, 6))
    )
    cluster = Cluster(slots=MapReduceSlots(map=map_slots, reduce=reduce_slots))
    return Spec(problem="makespan", facts=MakespanFacts(cluster=cluster, jobs=jobs), seed=index)


def _proven(bench: Bench, spec: Spec, seconds: float) -> tuple[float, float, list[str]]:
    """The best proven bound, the best makespan, and which methods proved it optimal."""
    available = [name for name in PROOFS if name != "cp-sat" or find_spec("ortools")]
    results = {name: bench.solve(spec, name, limits=Limits(time=seconds)) for name in available}
    optima = {n: r.objective.value for n, r in results.items() if r.termination is Termination.OPTIMAL}
    if len({round(value or 0.0, 6) for value in optima.values()}) > 1:
        raise RuntimeError(f"proofs disagree: {optima}")
    bounds = [r.objective.bound for r in results.values() if r.objective.bound is not None]
    values = [r.objective.value for r in results.values() if r.objective.value is not None]
    return max(bounds), min(values), list(optima)


def _value(bench: Bench, spec: Spec, method: str) -> float:
    value = bench.solve(spec, method).objective.value
    assert value is not None, "every method gives a plan"
    return value


def _summary(rows: list[tuple[object, ...]]) -> Table:
    first = 5
    bounds = np.array([row[2] for row in rows], dtype=float)
    ratios: Mapping[str, np.ndarray] = {
        method: np.array([row[first + k] for row in rows], dtype=float) / bounds for k, method in enumerate(METHODS)
    }
    proven = sum(1 for row in rows if row[4])
    table = [
        (method, round(100 * float(r.mean() - 1), 2), round(100 * float(r.max() - 1), 2), int((r < 1 + ROUNDING).sum()))
        for method, r in ratios.items()
    ]
    return Table(
        f"Above the proven bound ({proven} of {len(rows)} optima proven)",
        ("method", "mean [%]", "worst [%]", "optimal in"),
        table,
    )
