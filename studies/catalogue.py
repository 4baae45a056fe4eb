"""The reproductions of the papers by name, each with its options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mrdsl.core.lazy import lazy
from mrdsl.core.result import Table


@dataclass(frozen=True, eq=False)
class Study:
    """A study that one command runs: `python -m studies NAME`.

    Attributes:
        name: Name on the command line.
        doc: One line that says what the study finds.
        run: Function of the output folder and the options; writes plots and tables there and yields the tables.
        options: Default value and description of each keyword of `run`.
        draws: True if the study draws charts; it is then refused early if the chart libraries are missing.
        by_cases: True if `run` takes the keyword `mapper`, so that processes or Dask can share its cases.
    """

    name: str
    doc: str
    run: Callable[..., Iterable[Table]]
    options: Mapping[str, tuple[Any, str]] = field(default_factory=lambda: MappingProxyType({}))
    draws: bool = True
    by_cases: bool = False


_SMALL = {"small": (30, "how many instances of each of S1 to S5")}
_LARGE = {"large": (10, "how many instances of each of L1 to L5")}
_CONCURRENCY = {"concurrency": ("whole", "jobs at once: `whole`, or `fractional` as in the paper")}
ALL = (
    Study(
        "bounds-tables",
        "Tables 3 to 6 of paper 000 again: bounds against simulated times",
        lazy("studies.bounds_tables", "tables"),
        {
            "jobs": (10, "jobs per user of the slowest class in a trace"),
            "repeats": (5, "runs that a mean is taken of"),
            "rows": (10, "rows of each table"),
            "think": (0.1, "mean think time relative to the estimate"),
        },
    ),
    Study(
        "bounds-profiles",
        "Tables 3.1 and 3.2, Figures 3.3 to 3.8 of 003 again: waves predicted and drawn",
        lazy("studies.bounds_profiles", "profiles"),
        {"jobs": (10, "drawn jobs of each kind"), "seed": (1, "of the draws")},
    ),
    Study(
        "bounds-accuracy",
        "when to trust which estimate: random scenarios in ever looser settings",
        lazy("studies.bounds_accuracy", "accuracy"),
        {
            "scenarios": (30, "random scenarios"),
            "jobs": (10, "completed jobs per user"),
            "seed": (1, "of the scenarios"),
        },
    ),
    Study(
        "capacity-cases",
        "5.3 and 5.4 of paper 000 again: sizes, sharing, concurrency, tighter deadlines",
        lazy("studies.capacity_cases", "cases"),
        {
            "classes": ("20,100", "numbers of classes"),
            "instances": (2, "drawn instances of each"),
            "solver": ("direct", "who plans them"),
            "seed": (1, "of the instances"),
        },
        draws=False,
    ),
    Study(
        "capacity-honesty",
        "how often plans of `guarantee = p95` break it on held-out runs",
        lazy("studies.capacity_promised", "honesty"),
        {
            "scenarios": (100, "random scenarios"),
            "runs": (100, "held-out runs of each"),
            "seed": (1, "of the scenarios and of their searches"),
        },
        draws=False,
        by_cases=True,
    ),
    Study(
        "capacity-saving",
        "VMs by `guarantee = p95` beside those of the estimates, and beside an oracle",
        lazy("studies.capacity_promised", "saving"),
        {
            "promise": ("p95", "the percentile"),
            "runs": (60, "held-out runs of each plan"),
            "seed": (1, "of the searches"),
        },
        draws=False,
        by_cases=True,
    ),
    Study(
        "energy-comparison",
        "energy, cost and deadline of every method on the paper's 24 workloads (6.2.1 to 6.2.3)",
        lazy("studies.energy_comparison", "compare"),
        ({"scales": ("small,medium,large", "which workloads")}),
    ),
    Study(
        "energy-random",
        "how far apart drawn plans lie that keep their promises (Figure 2)",
        lazy("studies.energy_random", "random_plans"),
        {
            "scale": ("medium", "which workloads"),
            "plans": (200, "plans of each"),
            "tries": (5000, "draws of each at most"),
            "seed": (1, "of the draws"),
        },
        draws=False,
    ),
    Study(
        "energy-sensitivity",
        "Figures 9 and 10 of paper 002: what transfers take, and which method finds plans at tight promises",
        lazy("studies.methods", "energy_sensitivity"),
        {"workloads": ("*-small.mrspec", "files of workloads")},
        draws=False,
    ),
    Study(
        "hybrid-weights",
        "cost of every policy against the weight V, and against the acceptance at V = auto",
        lazy("studies.methods", "hybrid_weights"),
        {"seeds": ("1..3", "seeds of the arrivals")},
        draws=False,
    ),
    Study(
        "makespan-quality",
        "how far each method is from the proven optimum on small batches",
        lazy("studies.methods", "makespan_quality"),
        {"batches": (50, "number of batches")},
        draws=False,
    ),
    Study(
        "joint",
        "all studies of shared against partitioned clusters, beside the printed values",
        lazy("studies.joint_tables", "everything"),
        {**_SMALL, **_LARGE, **_CONCURRENCY},
    ),
    Study(
        "joint-sizes",
        "savings over the cluster's size (figure 3) and gain in utilization (table 6)",
        lazy("studies.joint_tables", "sizes"),
        {**_SMALL, **_LARGE, **_CONCURRENCY},
    ),
    Study(
        "joint-hours",
        "a day of S4: cost over the size (figure 4), hour by hour (figures 5 and 6)",
        lazy("studies.joint_tables", "hours"),
        {"number": (5, "which instance of S4"), **_CONCURRENCY},
    ),
    Study(
        "joint-integrality",
        "what whole VMs, or whole jobs at once, cost beyond fractional ones",
        lazy("studies.joint_tables", "integrality"),
        {**_SMALL, **_CONCURRENCY},
        draws=False,
    ),
    Study(
        "joint-instances",
        "writes S1 to S5 and L1 to L5 as spec files",
        lazy("studies.joint_instance_specs", "write_instances"),
        {"number": (1, "which instance of each")},
        draws=False,
    ),
    Study(
        "makespan-production",
        "A day of production batches on clusters of several sizes, with the thesis's 31 % and 34 % beside (5.7)",
        lazy("studies.makespan_production", "production"),
        (
            {
                "vms": ("25,50,100,150,200,300,400", "cluster sizes, in VMs of 2 map and 2 reduce slots"),
                "hours": (24, "batches, one of six jobs every hour"),
                "seed": (1, "seed of the draws and of the searches"),
                "rounds": (60, "rounds of the local search at slot level"),
            }
        ),
    ),
    Study(
        "timetable-days",
        "three days of jobs by each way to rent, beside a first-come-first-served cluster and a cluster for each job",
        lazy("studies.timetable_days", "days"),
        {
            "data": ("", "folder with the trace and the logs; default: beside the project"),
            "which": ("swim,spark,mapreduce", "the days; those of spark and mapreduce are drawn"),
            "runs": (400, "runs of a drawn day"),
            "seed": (1, "of the draws"),
        },
        draws=False,
    ),
    Study(
        "schedule-tables",
        "tables 4.1 to 4.4 of the thesis, printed values beside ours",
        lazy("studies.schedule_tables", "tables"),
        {
            "trace": ("", "SWIM trace; default: the Facebook day beside the project, else 200 jobs"),
            "runs": (5, "seeds to average over"),
        },
    ),
    Study(
        "schedule-promise",
        "cost against the share of jobs that may be late, frugal beside MDASA",
        lazy("studies.schedule_tables", "promise"),
        {"trace": ("", "SWIM trace; default as for schedule-tables"), "runs": (3, "seeds to average over")},
    ),
    Study(
        "schedule-gap",
        "each policy's cost above the offline optimum, on small random instances",
        lazy("studies.schedule_gap", "gaps"),
        {"instances": (8, "how many instances"), "seed": (1, "the seed that draws them")},
    ),
    Study(
        "schedule-run",
        "one run: its decisions as JSON lines, plots of price, fleet, backlog, lateness",
        lazy("studies.schedule_tables", "one_run"),
        {
            "spec": ("", "the spec; default: models/schedule/reference.mrspec"),
            "seed": (0, "the seed; default: the spec's own"),
        },
    ),
    Study(
        "hybrid-bridge",
        "the delays of a job's tasks (II.B) become queues of a hybrid cloud (III, IV)",
        lazy("studies.hybrid_bridge", "bridge"),
        {
            "spec": ("", "a spec of `deadline`; default: models/deadline/reference.mrspec"),
            "slot": (10.0, "seconds of a slot"),
            "jobs": (0.2, "jobs that arrive in a slot, on average"),
            "price": (0.05, "USD for a slot of a task outside"),
            "horizon": (3000, "slots of the run"),
            "seed": (1, "seed of the arrivals"),
        },
        draws=False,
    ),
    Study(
        "real-spark",
        "real Spark runs predicted from one run of each program, and plans for deadlines run for real",
        lazy("studies.real_spark", "real_spark"),
        {
            "programs": ("etl,branches,wide,iterative,skew,aqe", "names of programs"),
            "slots": ("4,8,12,16", "numbers of slots to predict and to run"),
            "profiled": (8, "slots of the run that is profiled"),
            "scale": (1.0, "multiple of the times of tasks"),
            "deadlines": (3, "deadlines of each program, at most three"),
            "python": ("", "interpreter with PySpark; by default the running one"),
        },
        draws=False,
    ),
    Study(
        "hybrid-regimes",
        "every policy over loads, queues, mixes, delays, acceptances and arrivals; where the calendar loses",
        lazy("studies.hybrid_regimes", "regimes"),
        {
            "sample": (200, "regimes of the 1,944 of the grid"),
            "drawn": (0, "regimes drawn between the ends of the axes instead, if any"),
            "horizon": (600, "slots per run"),
            "seed": (1, "seed of the sample and of the arrivals"),
        },
        draws=False,
    ),
)
STUDIES: Mapping[str, Study] = MappingProxyType({study.name: study for study in ALL})
