"""Promises kept in simulation: how often plans break them on runs that no search saw, and what they save.

Scenarios are ours: one class of jobs with few tasks, so that a hundred searches take minutes. Held-out runs have seeds
of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

import numpy as np

import mrdsl
from mrdsl.core.csv_text import csv_text
from mrdsl.core.result import Table
from mrdsl.core.units import HOUR
from mrdsl.core.writer import write_text
from mrdsl.families.capacity.facts import CapacityFacts, JobClass, VmType
from mrdsl.families.capacity.instance import instance_of
from mrdsl.families.capacity.methods.calibration import Cell, Trials
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.simulate import held_of, simulate_plan
from mrdsl.formulas import mapreduce
from mrdsl.simulation.sampling import stream
from mrdsl.simulation.settings import Settings
from mrdsl.simulation.verdicts import TAIL, share_bounds
from mrdsl.spec.blocks import GUARANTEES, MapPhase, OnDemand, ReducePhase, ShufflePhase, Simulation, Slots
from mrdsl.spec.schema import PERCENTILES, Range
from mrdsl.spec.spec import Goal, Spec
from studies.cases import Mapper, one_by_one

PRICE = 0.2 / HOUR
SLACK = (0.6, 1.4)
"""Deadlines, as multiples of what the average estimate gives a job with so many slots as tasks, shared by three."""
VARIABILITY = (("fixed", 1.0), ("uniform", 1.2), ("uniform", 2.0), ("exponential", 3.0))
"""Distributions of task times, with the longest over the average."""
LOADS = (2, 6, 18)
ORACLES = ((2, 1.2), (2, 2.0), (3, 1.2), (3, 2.0))
"""Jobs of a small class, and the longest time of its tasks over the average."""


def scenario(seed: int, number: int) -> Spec:
    """A random class: 8 to 30 map tasks, in two of three up to 6 reduce tasks, 2 to 8 jobs, p80, p90 or p95."""
    random = stream(seed, "promised", number)
    average, longest = float(random.uniform(5.0, 60.0)), float(random.uniform(1.05, 2.5))
    word = ("p80", "p90", "p95")[int(random.randint(3))]
    jobs = int(random.randint(2, 9))
    distribution = ("uniform", "uniform", "lognormal", "exponential")[int(random.randint(4))]
    reduces = int(random.randint(1, 7)) if random.random_sample() < 2.0 / 3.0 else 0
    node = a_class(int(random.randint(8, 31)), reduces, average, longest, jobs, distribution, word)
    return spec_of(with_deadline(node, float(random.uniform(*SLACK))), seed)


def a_class(
    maps: int, reduces: int, average: float, longest: float, jobs: int, distribution: str, word: str
) -> JobClass:
    """A class whose reduce tasks take as long as its map tasks, and fetch for a fifth of that."""
    fetch = average / 5.0
    return JobClass(
        name="jobs",
        map=MapPhase(tasks=maps, avg=average, max=longest * average),
        shuffle=ShufflePhase(first_max=fetch, avg=fetch, max=longest * fetch) if reduces else None,
        reduce=ReducePhase(tasks=reduces, avg=average, max=longest * average) if reduces else None,
        slots=Slots(map=2, reduce=1),
        jobs=Range(float(jobs), float(jobs)),
        deadline=HOUR,
        penalty=100.0,
        guarantee=word,
        distribution=distribution,
    )


def with_deadline(node: JobClass, slack: float) -> JobClass:
    """The class with a deadline: a multiple of the average estimate of a job with a third of a slot for each task."""
    instance = instance_of(spec_of(node, 0))
    most = instance.limits.map_most, instance.limits.reduce_most
    time = mapreduce.completion(instance.estimates["average"], np.array([3.0]), *most)
    return replace(node, deadline=slack * float(time[0]))


def spec_of(node: JobClass, seed: int) -> Spec:
    """The class on VMs on demand."""
    vm = VmType(name="vm", on_demand=OnDemand(price=PRICE))
    facts = CapacityFacts(estimates="paper", vms=(vm,), classes=(node,), whole="no")
    return Spec(problem="capacity", title="promised", facts=facts, goal=Goal("minimize", "cost"), seed=seed)


def held_out(spec: Spec, plan: CapacityPlan, runs: int) -> float:
    """The share of jobs in time in runs whose seed no search has."""
    seed = int(stream(spec.seed or 0, "held out").randint(0, 2**31 - 1))
    seen, _ = simulate_plan(spec, plan, Settings(runs, seed))
    kept = seen.observed["jobs"].kept
    assert kept is not None
    return kept.share


@dataclass(frozen=True)
class Outcome:
    """What was promised and shown of a scenario's plan, and what held-out runs showed.

    ``level`` is promised, ``low`` is what the runs of the search are sure of, ``share`` what held-out runs showed.
    ``vms`` beside those of the upper estimate, 0 where it has no plan; ``looks`` full evaluations.
    """

    scenario: int
    promise: str
    level: float
    low: float
    share: float
    vms: float
    upper: float
    looks: int


COLUMNS = tuple(each.name for each in fields(Outcome))
ROWS = "scenarios.csv"


@dataclass(frozen=True)
class Scenario:
    """One case of ``honesty``: a random scenario, searched, and its plan run."""

    seed: int
    number: int
    runs: int

    @property
    def name(self) -> str:
        """Its number."""
        return f"scenario {self.number}"

    def found(self) -> Outcome | None:
        """What was promised and shown; None where no plan was shown to keep it."""
        return _outcome(scenario(self.seed + self.number, self.number), self.number, self.runs)


def honesty(
    output: Path, scenarios: int = 100, runs: int = 100, seed: int = 1, mapper: Mapper = one_by_one
) -> Iterator[Table]:
    """How often plans break their promise on held-out runs, beside how often they may.

    ``scenarios.csv`` has a row for each scenario, from when it is known.
    """
    known: dict[int, Outcome] = {}
    found: list[Outcome] = []
    for number, outcome in mapper([Scenario(seed, number, runs) for number in range(scenarios)]):
        if outcome is not None:
            known[number] = outcome
            found = [known[each] for each in sorted(known)]
            write_text(output / ROWS, csv_text(COLUMNS, map(astuple, found)), force=len(found) > 1)
    names = sorted({each.promise for each in found})
    rows = [_counted(name, [each for each in found if each.promise == name]) for name in names]
    title = f"Broken on held-out runs, at most 5 % are stated; no plan shown: {scenarios - len(found)}"
    yield Table(title, HEADS, [*rows, _counted("all", found)])


HEADS = (
    "promise",
    "plans",
    "broken",
    "at least [%]",
    "at most [%]",
    "worst [points]",
    "below what was sure",
    "full evaluations",
    "VMs saved against upper [%]",
)


def _counted(name: str, found: Sequence[Outcome]) -> tuple[object, ...]:
    """A row: plans that broke their promise, bounds of their share at 97.5 % each, and what else was found."""
    if not found:
        return (name, 0, 0, *(0.0, 100.0, 0.0), 0, 0.0, 0.0)
    broken = sum(one.share < one.level for one in found)
    saved = [100.0 * (1.0 - one.vms / one.upper) for one in found if one.upper]
    return (
        name,
        len(found),
        broken,
        *(100.0 * bound for bound in share_bounds(broken / len(found), len(found), TAIL)),
        100.0 * min(one.share - one.level for one in found),
        sum(one.share < one.low for one in found),
        float(np.mean([one.looks for one in found])),
        float(np.mean(saved)) if saved else 0.0,
    )


def _outcome(spec: Spec, number: int, runs: int) -> Outcome | None:
    solved = mrdsl.solve(spec)
    plan = solved.plan
    if not isinstance(plan, CapacityPlan) or plan.calibration is None:
        return None
    (promise,) = plan.calibration.promises
    upper = (plan.calibration.formula_vms or 0.0) if plan.calibration.formula == "upper" else 0.0
    word = str(spec.facts.classes[0].guarantee)
    share, looks = held_out(spec, plan, runs), plan.calibration.looks
    return Outcome(number, word, promise.level, promise.low, share, _vms(plan), upper, looks)


def _vms(plan: CapacityPlan) -> float:
    return plan.on_demand + plan.reserved


@dataclass(frozen=True)
class Compared:
    """One case of ``saving``: a class planned by every estimate and by the percentile."""

    jobs: int
    distribution: str
    longest: float
    promise: str
    runs: int
    seed: int

    @property
    def name(self) -> str:
        """Its jobs and the times of its tasks."""
        return f"{self.jobs} jobs, {self.distribution} {self.longest:g}"

    def found(self) -> tuple[object, ...]:
        """Its row: VMs by each, and the share of jobs in time; None where there is no plan."""
        node = with_deadline(a_class(24, 6, 30.0, self.longest, self.jobs, self.distribution, self.promise), 1.0)
        spec = spec_of(node, self.seed)
        cells: list[float | None] = []
        for each in (*(spec_of(replace(node, guarantee=word), self.seed) for word in reversed(GUARANTEES)), spec):
            plan = _plan_of(each)
            cells += [None, None] if plan is None else [_vms(plan), 100.0 * held_out(each, plan, self.runs)]
        return (self.jobs, f"{self.distribution} {self.longest:g}", *cells)


def _plan_of(spec: Spec) -> CapacityPlan | None:
    plan = mrdsl.solve(spec).plan
    assert plan is None or isinstance(plan, CapacityPlan)
    return plan


@dataclass(frozen=True)
class Oracle:
    """One case of ``saving``: a small class on which every cluster is tried, on the held-out runs themselves."""

    jobs: int
    longest: float
    promise: str
    runs: int
    seed: int

    @property
    def name(self) -> str:
        """Its jobs and the longest of its tasks."""
        return f"oracle, {self.jobs} jobs, longest {self.longest:g}"

    def found(self) -> tuple[object, ...]:
        """Its row: VMs by the search and by the oracle; None where there is no plan, or no cluster."""
        node = a_class(10, 3, 30.0, self.longest, self.jobs, "uniform", self.promise)
        spec = spec_of(with_deadline(node, 1.0), self.seed)
        plan = _plan_of(spec)
        if plan is None:
            return (self.jobs, self.longest, None, None, None)
        least = least_cluster(spec, plan, PERCENTILES[self.promise] / 100.0, self.runs)
        if least is None:
            return (self.jobs, self.longest, _vms(plan), None, None)
        return (self.jobs, self.longest, _vms(plan), float(least), 100.0 * (_vms(plan) / least - 1.0))


def saving(
    output: Path, promise: str = "p95", runs: int = 60, seed: int = 1, mapper: Mapper = one_by_one
) -> Iterator[Table]:
    """VMs of the plan that keeps a percentile beside those of the estimates, and what share those keep."""
    compared = [Compared(jobs, *times, promise, runs, seed) for jobs in LOADS for times in VARIABILITY]
    heads = ["jobs", "task times"]
    for name in (*reversed(GUARANTEES), promise):
        heads += [f"{name} [VMs]", "in time [%]"]
    title = f"VMs by estimates and by {promise} in simulation, and the share of jobs in time"
    yield Table(title, tuple(heads), [row for _, row in sorted(mapper(compared))])
    oracles = [Oracle(jobs, longest, promise, runs, seed) for jobs, longest in ORACLES]
    heads = ["jobs", "longest over average", "calibrated [VMs]", "oracle [VMs]", "more [%]"]
    title = "Beside an oracle that tries every cluster on the held-out runs"
    yield Table(title, tuple(heads), [row for _, row in sorted(mapper(oracles))])


def least_cluster(spec: Spec, plan: CapacityPlan, level: float, runs: int) -> int | None:
    """The fewest whole VMs that keep a share of jobs in time in held-out runs, whatever they hold; None if none do."""
    facts: CapacityFacts = spec.facts
    node = facts.classes[0]
    trials = Trials(held_of(spec, plan), Simulation(), int(stream(spec.seed or 0, "held out").randint(0, 2**31 - 1)))
    assert node.slots is not None
    assert node.map is not None
    assert node.reduce is not None
    map_per_vm, reduce_per_vm = node.slots.map or 1, node.slots.reduce or 1
    jobs = int(node.jobs.high)
    most = -(-node.map.tasks * jobs // map_per_vm) - (-node.reduce.tasks * jobs // reduce_per_vm)
    for vms in range(1, most + 1):
        for reduces in range(jobs, min(vms * reduce_per_vm, node.reduce.tasks * jobs) + 1):
            maps = min(int((vms - reduces / reduce_per_vm) * map_per_vm), node.map.tasks * jobs)
            if maps >= jobs:
                times = np.concatenate(trials.times((Cell(jobs, maps, reduces),), 0, runs))
                if float((times <= node.deadline).mean()) >= level:
                    return vms
    return None
