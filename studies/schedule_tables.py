"""Studies of the schedule family: the thesis's tables 4.1-4.4, the price of punctuality, the gap to the optimum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import mrdsl
from mrdsl.core.charts import BarChart, LineChart, Series
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.resources import resource
from mrdsl.core.result import Table
from mrdsl.core.units import HOUR
from mrdsl.families.schedule.simulate import SimulatedSchedule, mean_of, run_once
from mrdsl.reporting.report_files import write_chart
from mrdsl.spec.schema import Source
from mrdsl.spec.spec import Spec
from studies.schedule_runs import watch
from studies.shared_data import shared_folder

TRACE = "FB-2009_samples_24_times_1hr_0.tsv"

#: W1 (4 hours, 1,000 jobs) is not printed: the first four hours from a quarter past a whole hour with about as many.
W1 = (2.25 * HOUR, 6.25 * HOUR)
WORKLOADS: Mapping[str, tuple[float, float | None]] = {"W1": W1, "W2": (0.0, None)}

INSTANCES = {"on_demand": "OnDemand", "spot": "Spot", "hybrid": "Hybrid"}
ALGORITHMS = {"mdasa": "MDASA", "ndasa": "NDASA", "ep_edf": "epEDF", "ev_edf": "evEDF"}

#: The printed tables: late jobs in percent (4.1, 4.3) and cost in USD (4.2, 4.4), for W1 and W2.
PRINTED_LATE = {
    "on_demand": (4.4, 4.5),
    "spot": (49.0, 48.7),
    "hybrid": (17.7, 17.3),
    "mdasa": (18.7, 17.4),
    "ndasa": (18.9, 17.45),
    "ep_edf": (21.0, 22.26),
    "ev_edf": (24.6, 26.5),
}
PRINTED_COST = {
    "on_demand": (307, 2486),
    "spot": (272, 2300),
    "hybrid": (170, 1279),
    "mdasa": (170, 1279),
    "ndasa": (210, 1586),
    "ep_edf": (185, 1427),
    "ev_edf": (180, 1348),
}

SILENT = (
    ("the stretch of the trace that is W1", "02:15 to 06:15 of the day: 997 jobs (an hour of W2 is empty)"),
    ("how bytes become tasks and seconds", "the speeds and block sizes in models/schedule/thesis.mrspec"),
    ("map and reduce slots of an m3.medium", "one of each"),
    ("the spot price's model and how often it moves", "a mixture of three Gaussians, drawn anew every 5 minutes"),
    ("how the minimum bid is predicted", "the least bid that outlasts the phase's waves with probability 90%"),
    ("what an eviction loses and what it costs", "running tasks; the broken hour is free, as on EC2, or paid"),
    ("when an idle VM is given back", "at the end of its paid hour"),
    ("how long epEDF's epoch is, when evEDF's load is low", "10 s; 30% of the slots: near the printed late shares"),
    ("which sizing method the tables use", "least slots, (3.17) and (3.18); the other one is a row of its own"),
    ("how many runs were averaged", "the seeds that the study's option `runs` asks for"),
)


def tables(folder: Path, trace: str = "", runs: int = 5) -> Iterable[Table]:
    """Tables 4.1 to 4.4 with the printed values beside ours, rows of our own, and what the thesis leaves out.

    ``trace`` is the SWIM file; without it, the Facebook day where it lies beside the project, else the model's own
    200 jobs, which stand for both workloads then.
    """
    base = _base(trace)
    assert base.facts.arrivals is not None
    yield Table(
        "Workloads",
        ("file", "W1", "W2"),
        [
            (
                base.facts.arrivals.source.written,
                *(
                    f"{begin / HOUR:g} h to {end / HOUR:g} h" if end else "all of it"
                    for begin, end in _workloads(base).values()
                ),
            )
        ],
    )
    by_instances = {name: {"algorithm": "mdasa", "instances": name} for name in INSTANCES}
    by_algorithm: dict[str, dict[str, Any]] = {name: {"algorithm": name, "instances": "hybrid"} for name in ALGORITHMS}
    ours: dict[str, dict[str, Any]] = {
        "MDASA, idle slots as sized": {"algorithm": "mdasa", "idle": "sized"},
        "NDASA, as printed": {"algorithm": "ndasa", "request": "tasks"},
        "MDASA, as printed": {"algorithm": "mdasa", "request": "tasks"},
        "MDASA, broken hours paid": {"algorithm": "mdasa", "broken_period": "paid"},
        "MDASA, fixed reduce slots": {"algorithm": "mdasa", "sizing": "fixed_reduce"},
        "frugal, none late on purpose": {"algorithm": "frugal"},
        "frugal, 2% late": {"algorithm": "frugal", "tardy_share": 0.02},
        "frugal, 2% late, broken hours paid": {"algorithm": "frugal", "tardy_share": 0.02, "broken_period": "paid"},
    }
    every = {**by_instances, **by_algorithm, **ours}
    seen = {name: _over_workloads(base, items, runs) for name, items in every.items()}
    titles = {**INSTANCES, **ALGORITHMS, **{name: name for name in ours}}
    for late, cost, names in (("4.1", "4.2", by_instances), ("4.3", "4.4", {**by_algorithm, **ours})):
        yield _table(f"Table {late}: late jobs [%]", names, titles, seen, PRINTED_LATE, "tardy_share", 100.0)
        yield _table(f"Table {cost}: cost of the VMs [USD]", names, titles, seen, PRINTED_COST, "cost", 1.0)
    yield Table("Claims", ("claim of the thesis", "printed", "ours on W1", "ours on W2"), list(_claims(seen)))
    yield Table("What the thesis does not say", ("open", "chosen here"), SILENT)
    _draw_tables(folder, titles, seen)


def promise(folder: Path, trace: str = "", runs: int = 3) -> Iterable[Table]:
    """Cost against late jobs: frugal at several promises, MDASA and NDASA beside it, on demand and hybrid (W2)."""
    base = _base(trace)
    shares = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12)
    rows, lines = [], []
    for instances in ("on_demand", "hybrid"):
        points = []
        for share in shares:
            mean = _mean(_with(base, algorithm="frugal", tardy_share=share, instances=instances), runs)
            points.append((100 * mean.jobs.tardy_share, mean.cost.total))
            rows.append((f"frugal, at most {100 * share:g}%", INSTANCES[instances], *points[-1], mean.tardiness.mean))
        lines.append(Series(f"frugal {INSTANCES[instances]}", [x for x, _ in points], [y for _, y in points]))
        for algorithm in ("mdasa", "ndasa"):
            mean = _mean(_with(base, algorithm=algorithm, instances=instances), runs)
            point = (100 * mean.jobs.tardy_share, mean.cost.total)
            rows.append((ALGORITHMS[algorithm], INSTANCES[instances], *point, mean.tardiness.mean))
    chart = LineChart("What punctuality costs", "late jobs [%]", base.currency, tuple(lines), y_zero=True)
    write_chart(folder / "promise.svg", chart)
    yield Table("Cost against late jobs", ("policy", "instances", "late [%]", "cost", "late by, mean [s]"), rows)


def one_run(folder: Path, spec: str = "", seed: int = 0) -> Iterable[Table]:
    """One run of a spec (default: the reference): its decisions as JSON lines, plots of price, fleet and backlog."""
    loaded = mrdsl.load(Path(spec) if spec else resource("models") / "schedule" / "reference.mrspec")
    files = watch(loaded, seed or loaded.seed, folder)
    yield Table("Written", ("file",), [(str(file),) for file in files])


def _base(trace: str) -> Spec:
    spec = mrdsl.load(resource("models") / "schedule" / "thesis.mrspec")
    file = _trace(trace)
    if file is None:
        return spec
    arrivals = replace(spec.facts.arrivals, source=Source("swim", str(file), file.name))
    return replace(spec, facts=replace(spec.facts, arrivals=arrivals))


def _trace(trace: str) -> Path | None:
    if trace:
        if not Path(trace).is_file():
            raise MrdslError(
                [
                    error(
                        "missing-file",
                        f"there is no file `{trace}`",
                        None,
                        f"fetch {TRACE} from github.com/SWIMProjectUCB/SWIM",
                    )
                ]
            )
        return Path(trace)
    file = shared_folder() / "data" / "swim" / TRACE
    return file if file.is_file() else None


def _workloads(base: Spec) -> Mapping[str, tuple[float, float | None]]:
    assert base.facts.arrivals is not None
    whole = base.facts.arrivals.source.path.endswith(TRACE)
    return WORKLOADS if whole else {"W1": (0.0, None), "W2": (0.0, None)}


def _with(base: Spec, **items: Any) -> Spec:
    vm = base.facts.vms[0]
    if "broken_period" in items:
        vm = replace(vm, billing=replace(vm.paid_by, broken_period=items.pop("broken_period")))
    return replace(base, facts=replace(base.facts, vms=(vm,), policy=replace(base.facts.policy, **items)))


def _mean(spec: Spec, runs: int) -> SimulatedSchedule:
    return mean_of([run_once(spec, (spec.seed or 0) + i) for i in range(runs)])


def _over_workloads(base: Spec, items: Mapping[str, Any], runs: int) -> tuple[SimulatedSchedule, ...]:
    plans = []
    for begin, end in _workloads(base).values():
        arrivals = replace(base.facts.arrivals, begin=begin, end=end)
        plans.append(_mean(_with(replace(base, facts=replace(base.facts, arrivals=arrivals)), **items), runs))
    return tuple(plans)


def _table(
    title: str,
    names: Iterable[str],
    titles: Mapping[str, str],
    seen: Mapping[str, Sequence[SimulatedSchedule]],
    printed: Mapping[str, tuple[float, float]],
    quantity: str,
    factor: float,
) -> Table:
    rows = []
    for name in names:
        row: list[Any] = [titles[name]]
        for i, plan in enumerate(seen[name]):
            interval = plan.observed[quantity]
            half = None if interval.half_width is None else factor * interval.half_width
            row += [printed[name][i] if name in printed else None, factor * interval.mean, half]
        rows.append(row)
    heads = [f"{workload} {what}" for workload in ("W1", "W2") for what in ("printed", "ours", "± (95%)")]
    return Table(title, ("policy", *heads), rows)


def _claims(seen: Mapping[str, Sequence[SimulatedSchedule]]) -> Iterator[tuple[str, ...]]:
    def ratio(a: str, b: str, i: int) -> float:
        return seen[a][i].cost.total / seen[b][i].cost.total

    for claim, printed, a, b in (
        ("hybrid costs about half of on-demand", "0.55, 0.51", "hybrid", "on_demand"),
        ("spot costs little less than on-demand", "0.89, 0.93", "spot", "on_demand"),
        ("NDASA costs more than MDASA", "1.24, 1.24", "ndasa", "mdasa"),
        ("the same, lines 10 and 20 to the letter", "1.24, 1.24", "NDASA, as printed", "MDASA, as printed"),
    ):
        yield claim, printed, *(f"{ratio(a, b, i):.2f}" for i in (0, 1))
    yield (
        "MDASA costs least of the four",
        "yes, yes",
        *(_yes(min(ALGORITHMS, key=lambda name: seen[name][i].cost.total) == "mdasa") for i in (0, 1)),
    )
    yield (
        "MDASA has the fewest late jobs",
        "yes, yes",
        *(_yes(min(ALGORITHMS, key=lambda name: seen[name][i].jobs.tardy_share) == "mdasa") for i in (0, 1)),
    )
    yield (
        "on demand has the fewest late jobs, spot the most",
        "yes, yes",
        *(
            _yes(
                seen["on_demand"][i].jobs.tardy_share
                < seen["hybrid"][i].jobs.tardy_share
                < seen["spot"][i].jobs.tardy_share
            )
            for i in (0, 1)
        ),
    )


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _draw_tables(folder: Path, titles: Mapping[str, str], seen: Mapping[str, Sequence[SimulatedSchedule]]) -> None:
    names = list(seen)
    shown = tuple(titles[name] for name in names)
    for i, workload in enumerate(("W1", "W2")):
        printed = {
            "printed": [PRINTED_COST[n][i] if n in PRINTED_COST else float("nan") for n in names],
            "ours": [seen[n][i].cost.total for n in names],
        }
        write_chart(
            folder / f"cost_{workload}.svg", BarChart(f"Cost of the VMs, {workload}", shown, printed, "", "USD")
        )
        late = {
            "printed": [PRINTED_LATE[n][i] if n in PRINTED_LATE else float("nan") for n in names],
            "ours": [100 * seen[n][i].jobs.tardy_share for n in names],
        }
        write_chart(folder / f"late_{workload}.svg", BarChart(f"Late jobs, {workload}", shown, late, "", "%"))
