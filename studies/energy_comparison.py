"""The comparison of 6.2.1 to 6.2.3 of Nabavinejad et al.: energy, cost and deadline of every method on 24 workloads.

Beside each of our percentages stands the paper's. They cannot agree to the digit: the paper prints no task times and no
energies, so the workloads' are made up (``models/energy``), and it does not say how MSPAN and EM choose machines. What
is comparable is who keeps which promise, and the size of the differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from mrdsl.core.charts import BarChart, GanttChart
from mrdsl.core.result import Table
from mrdsl.families.energy.plan import EnergyPlan, JobUse
from mrdsl.reporting.report_files import write_chart
from studies.energy_workloads import TITLES, WORKLOADS, bound, decide, excess, optimum, workload
from studies.study_files import write_csv

NAN = float("nan")


@dataclass(frozen=True)
class Case:
    """One workload: the proven optimum, the LP bound, and what each method decides (None: no placement)."""

    name: str
    scale: str
    optimum: JobUse
    bound: float
    methods: Mapping[str, JobUse | None]


Figure = Callable[[Case], float | None]


def _above_optimum(method: str) -> Figure:
    def figure(case: Case) -> float | None:
        use = case.methods[method]
        return None if use is None else 100.0 * (use.energy.total / case.optimum.energy.total - 1.0)

    return figure


def _below_mspan(method: str) -> Figure:
    def figure(case: Case) -> float | None:
        use, rival = case.methods[method], case.methods["mspan"]
        return None if use is None or rival is None else 100.0 * (1.0 - use.energy.total / rival.energy.total)

    return figure


def _over_budget(method: str) -> Figure:
    def figure(case: Case) -> float | None:
        use = case.methods[method]
        return None if use is None else excess(use.cost, use.budget)

    return figure


def _over_deadline(method: str) -> Figure:
    def figure(case: Case) -> float | None:
        use = case.methods[method]
        return None if use is None else excess(use.uptime, use.deadline)

    return figure


Printed = tuple[float | None, float | None]
"""Mean and largest percentage as the paper prints them."""

SECTIONS: tuple[tuple[str, Callable[[str], Figure], dict[str, dict[str, Printed]]], ...] = (
    (
        "6.2.1 energy above the optimum, %",
        _above_optimum,
        {
            "dsps": {"small": (4.6, None)},
            "mvps": {"small": (2.56, None)},
            "mrdsl-energy": {},
            "mspan": {},
            "em": {},
            "emrsa-1": {},
            "emrsaps": {},
        },
    ),
    (
        "6.2.1 energy saved against MSPAN, %",
        _below_mspan,
        {
            "dsps": {"small": (10.42, 20.56), "medium": (9.77, 15.1), "large": (11.33, 24.1)},
            "mvps": {"small": (12.08, 20.64), "medium": (11.48, 17.4), "large": (14.02, 24.22)},
            "mrdsl-energy": {},
        },
    ),
    (
        "6.2.2 cost above the budget, %",
        _over_budget,
        {
            "dsps": dict.fromkeys(("small", "medium", "large"), (0.0, 0.0)),
            "mvps": dict.fromkeys(("small", "medium", "large"), (0.0, 0.0)),
            "mrdsl-energy": {},
            "mspan": dict.fromkeys(("small", "medium", "large"), (0.0, 0.0)),
            "em": {"small": (17.9, 90.1), "medium": (13.78, 83.75), "large": (6.1, 60.91)},
            "emrsa-1": {"small": (36.33, 119.53), "medium": (52.21, 122.06), "large": (29.2, 79.14)},
            "emrsaps": {"small": (75.44, None)},
        },
    ),
    (
        "6.2.3 uptime above the deadline, %",
        _over_deadline,
        {
            "dsps": dict.fromkeys(("small", "medium", "large"), (0.0, 0.0)),
            "mvps": dict.fromkeys(("small", "medium", "large"), (0.0, 0.0)),
            "mrdsl-energy": {},
            "mspan": dict.fromkeys(("small", "medium", "large"), (0.0, 0.0)),
            "em": {"small": (8.92, 41.77), "medium": (91.53, 178.5), "large": (78.91, 190.43)},
            "emrsa-1": {},
            "emrsaps": dict.fromkeys(("small", "medium", "large"), (0.0, 0.0)),
        },
    ),
)


BY_APPLICATION = {
    "dsps": {"InvInd": 0.39, "Classif": 0.46, "SeqCou": 2.08},
    "mvps": {"Selfjoin": 0.43, "RanInvInd": 1.41, "SeqCou": 2.08},
}
"""6.2.1, small workloads: the applications whose energy above the optimum the paper names, %."""


def compare(output: Path, scales: str = "small,medium,large") -> Iterator[Table]:
    """Runs everything and gives one table per section; files: details.csv, charts per scale, Gantt charts."""
    wanted = [scale.strip() for scale in scales.split(",")]
    cases = [_case(name, scale, output) for scale in wanted for name in WORKLOADS]
    _write_details(output, cases)
    yield _optima(cases)
    for title, figure, printed in SECTIONS:
        rows = [
            _row(method, scale, figure(method), [case for case in cases if case.scale == scale], said.get(scale))
            for method, said in printed.items()
            for scale in wanted
        ]
        yield Table(title, ("method", "workloads", "placed", "mean", "paper", "largest", "paper's largest"), rows)
    if "small" in wanted:
        yield _by_application([case for case in cases if case.scale == "small"])
    for scale in wanted:
        _draw(output, scale, [case for case in cases if case.scale == scale])


def _case(name: str, scale: str, output: Path) -> Case:
    spec = workload(name, scale)
    best = optimum(spec)
    lowest = bound(spec)
    assert isinstance(best, EnergyPlan), f"{name}-{scale} has no plan"
    assert lowest is not None
    if scale == "small":
        write_chart(output / f"gantt-{name}.svg", GanttChart(f"{spec.title}: the optimum", best.bars()))
    (use,) = best.jobs.values()
    return Case(name, scale, use, lowest, {method: decide(spec, method) for method in TITLES})


def _by_application(cases: Iterable[Case]) -> Table:
    rows = []
    for case in cases:
        name = WORKLOADS[case.name]
        found = [(_above_optimum(method)(case), printed.get(name)) for method, printed in BY_APPLICATION.items()]
        rows.append((name, *(None if x is None else round(x, 2) for pair in found for x in pair)))
    heads = (
        "application",
        *(head for method in BY_APPLICATION for head in (TITLES[method], f"{TITLES[method]}, paper")),
    )
    return Table("6.2.1 energy above the optimum by application, small workloads, %", heads, rows)


def _optima(cases: Iterable[Case]) -> Table:
    rows = [
        (
            WORKLOADS[case.name],
            case.scale,
            case.optimum.energy.total,
            round(100 * (case.optimum.energy.total / case.bound - 1), 3),
            case.optimum.uptime / (case.optimum.deadline or NAN),
            case.optimum.cost / (case.optimum.budget or NAN),
        )
        for case in cases
    ]
    return Table(
        "Proven optima",
        ("workload", "scale", "energy [J]", "above the LP bound [%]", "of the deadline", "of the budget"),
        rows,
    )


def _row(method: str, scale: str, figure: Figure, cases: list[Case], said: Printed | None) -> tuple[object, ...]:
    figures = [value for case in cases if (value := figure(case)) is not None]
    average, largest = (round(mean(figures), 2), round(max(figures), 2)) if figures else (None, None)
    paper = said or (None, None)
    return (TITLES[method], scale, f"{len(figures)} of {len(cases)}", average, paper[0], largest, paper[1])


def _write_details(output: Path, cases: Iterable[Case]) -> None:
    rows = []
    for case in cases:
        for method, use in {"optimum": case.optimum, **case.methods}.items():
            cells = (
                (None,) * 4
                if use is None
                else (
                    use.energy.total,
                    use.uptime / (use.deadline or NAN),
                    use.cost / (use.budget or NAN),
                    use.energy.total / case.optimum.energy.total,
                )
            )
            rows.append((case.scale, WORKLOADS[case.name], TITLES.get(method, method), *cells))
    columns = (
        "scale",
        "workload",
        "method",
        "energy [J]",
        "uptime over deadline",
        "cost over budget",
        "energy over optimum",
    )
    write_csv(output / "details.csv", columns, rows)


def _draw(output: Path, scale: str, cases: list[Case]) -> None:
    """Figures 4, 6 and 7, each relative to the optimum or the promise."""
    groups = tuple(WORKLOADS[case.name] for case in cases)
    figures: dict[str, tuple[str, Callable[[JobUse, Case], float]]] = {
        "energy": ("energy over optimum", lambda use, case: use.energy.total / case.optimum.energy.total),
        "cost": ("cost over budget", lambda use, case: use.cost / (use.budget or NAN)),
        "deadline": ("uptime over deadline", lambda use, case: use.uptime / (use.deadline or NAN)),
    }
    for name, (label, value) in figures.items():
        series = {
            title: [NAN if (use := case.methods[method]) is None else value(use, case) for case in cases]
            for method, title in TITLES.items()
        }
        chart = BarChart(f"{label}, {scale} workloads", groups, series, "", label)
        write_chart(output / f"{name}-{scale}.svg", chart)
