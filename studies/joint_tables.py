"""The studies of Cano et al. on made-up days, beside the printed values: figures 3 to 6, table 6, cost of whole VMs.

Each study writes its SVG plots and a CSV file per table into the output folder and gives its tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from mrdsl.core.charts import LineChart, Series
from mrdsl.core.result import Table
from mrdsl.families.joint.workload import Floats, Workload, workload
from mrdsl.reporting.report_files import write_chart
from studies.joint_cluster_sizes import STEPS, Comparison, at_size, compare, vms_held
from studies.joint_instances import LARGE, SMALL, instance
from studies.joint_sizes import sweep
from studies.study_files import written

SAVINGS_AXES = ("cluster size / V_max [%]", "cheaper than partitioned [%]")
PRINTED_UTILIZATION = {
    "S1": 3.4340,
    "S2": 8.6620,
    "S3": 9.6922,
    "S4": 12.9158,
    "S5": 15.0597,
    "L1": 17.6642,
    "L2": 17.8778,
    "L3": 18.2546,
    "L4": 18.3204,
    "L5": 18.2197,
}
"""Table 6: the largest increase of utilization, in percent."""
PRINTED_SAVINGS = {"S1": 5.0, "S5": 25.0, "L1": 50.0, "L2": 50.0, "L3": 50.0, "L4": 50.0, "L5": 50.0}
"""What the text says of Figure 3: "up to"."""


def everything(output: Path, small: int = 30, large: int = 10, concurrency: str = "whole") -> Iterator[Table]:
    """All studies below, one after the other."""
    yield from sizes(output, small, large, concurrency)
    yield from hours(output, concurrency=concurrency)
    yield from integrality(output, small, concurrency)


def sizes(output: Path, small: int = 30, large: int = 10, concurrency: str = "whole") -> Iterator[Table]:
    """Figure 3: the relative cost difference over the cluster's size. Table 6: the largest gain in utilization.

    Averages over ``small`` instances of each of S1 to S5 and ``large`` of L1 to L5. The paper's utilization figures are
    the largest gain in any hour at V_min, in points: 15.06 % in S5 is a quarter of the services' share of the peak,
    60 % in its S4 example, and more than that no hour can gain. ``concurrency = fractional`` is the paper's reading,
    with fractional VMs; ``whole`` has whole jobs at once on whole VMs.
    """
    gains: list[tuple[str, Floats, Floats]] = []
    for title, families, count in (("3a", SMALL, small), ("3b", LARGE, large)):
        averages = {family: _averages(family, count, concurrency) for family in families}
        relative = next(iter(averages.values()))[0]
        _draw(
            output,
            f"figure_{title}",
            f"Figure {title}: savings of the shared cluster",
            SAVINGS_AXES,
            100 * relative,
            {family: 100 * saved for family, (_, saved, _) in averages.items()},
        )
        yield written(output, f"figure_{title}", _savings_table(title, averages))
        gains += [(family, saved, gain) for family, (_, saved, gain) in averages.items()]
    yield written(output, "table_6", _table_6(gains))


def _averages(family: str, count: int, concurrency: str) -> tuple[Floats, Floats, Floats]:
    """Size over V_max and savings per step, and the utilization gain at V_min: mean and largest hour."""
    runs = [compare(workload(instance(family, number, concurrency))) for number in range(1, count + 1)]
    relative = np.mean([run.sizes / run.without_rejections for run in runs], axis=0)
    savings = np.mean([run.savings for run in runs], axis=0)
    gains = np.mean([_gains(run) for run in runs], axis=0)
    return relative, savings, gains


def _gains(run: Comparison) -> tuple[float, float]:
    by_hour = (vms_held(run.shared)[-1] - vms_held(run.partitioned)[-1]) / run.sizes[-1]
    return float(by_hour.mean()), float(by_hour.max())


def _savings_table(title: str, averages: dict[str, tuple[Floats, Floats, Floats]]) -> Table:
    relative = next(iter(averages.values()))[0]
    rows = [
        (_percent(relative[step]), *(_percent(saved[step]) for _, saved, _ in averages.values()))
        for step in range(0, STEPS + 1, 4)
    ]
    columns = ("size / V_max [%]", *(f"{family} [%]" for family in averages))
    return Table(f"Figure {title}: how much cheaper the shared cluster is", columns, rows)


def _table_6(gains: Sequence[tuple[str, Floats, Floats]]) -> Table:
    rows = [
        (
            family,
            _percent(saved.max()),
            PRINTED_SAVINGS.get(family),
            _percent(gain[1]),
            PRINTED_UTILIZATION[family],
            _percent(gain[0]),
        )
        for family, saved, gain in gains
    ]
    return Table(
        "Largest savings, and table 6: gain in utilization at V_min",
        (
            "instances",
            "savings [%]",
            "printed: up to [%]",
            "gain, best hour [points]",
            "printed [%]",
            "gain, mean of the day [points]",
        ),
        rows,
    )


def hours(output: Path, number: int = 5, concurrency: str = "whole") -> Iterator[Table]:
    """Figures 4, 5 and 6: instance ``number`` of S4 over the size, and hour by hour at 85 % of V_max.

    At 90 % with whole jobs at once: the classes' least demand is more than 85 % of their largest then.

    The paper shows one instance, of 667 VMs split 269 to 398. By its reading number 30 comes closest in VMs (248 to
    392), number 2 in shares; number 5, the default, has 273 to 438. Which hours are dear is drawn, and differs from
    the paper's Figure 5.
    """
    work = workload(instance("S4", number, concurrency))
    yield from _figure_4(output, compare(work))
    yield same_budget(output, work)
    run = at_size(work, _share(work) / 100)
    yield from _figure_5(output, run)
    yield from _figure_6(output, run)


def _figure_4(output: Path, run: Comparison) -> Iterator[Table]:
    relative = 100 * run.sizes / run.without_rejections
    shown = relative >= 83
    shared, apart = run.shared.total.sum(axis=1), run.partitioned.total.sum(axis=1)
    _draw(
        output,
        "figure_4a",
        "Figure 4a: cost of a day, S4",
        ("cluster size / V_max [%]", "cost [EUR]"),
        relative[shown],
        {"partitioned": apart[shown], "shared": shared[shown]},
    )
    _draw(output, "figure_4b", "Figure 4b: savings, S4", SAVINGS_AXES, relative[shown], {"": 100 * run.savings[shown]})
    rows = [(relative[i], run.sizes[i], apart[i], shared[i], _percent(run.savings[i])) for i in np.flatnonzero(shown)]
    yield written(
        output,
        "figure_4",
        Table(
            "Figure 4: cost of a day over the cluster's size, S4",
            ("size / V_max [%]", "VMs", "partitioned [EUR]", "shared [EUR]", "savings [%]"),
            rows,
        ),
    )


def same_budget(output: Path, work: Workload) -> Table:
    """The smallest shared cluster that costs no more than a partitioned one of 93 % of V_max.

    It may be smaller than V_min, which holds the least demand of both parts in each part's worst hour.
    """
    partitioned_at_93 = float(at_size(work, 0.93).partitioned.total.sum())
    sizes = at_size(work, np.linspace(1.0, 0.5, 501))
    shared = sizes.shared.total.sum(axis=1)
    enough = (100 * sizes.sizes / sizes.without_rejections)[shared <= partitioned_at_93]
    return written(
        output,
        "budget",
        Table(
            "The same budget buys a smaller cluster when it is shared: what a partitioned one of 93 % of V_max costs",
            ("budget of a day [EUR]", "partitioned: size / V_max [%]", "shared: size / V_max [%]", "printed [%]"),
            [(partitioned_at_93, 93.0, float(enough.min()), 84.0)],
        ),
    )


def _figure_5(output: Path, run: Comparison) -> Iterator[Table]:
    work, split = run.work, run.work.classes
    apart = dict(zip(("a", "b"), run.by_part, strict=True))
    most = work.whole_vms(work.high) if work.whole else work.need_high
    needs = {"a": most[:, :split].sum(axis=1), "b": most[:, split:].sum(axis=1)}
    named = {
        "a": ("classes, their part", run.class_sizes[0]),
        "b": ("services, their part", run.service_sizes[0]),
        "c": ("shared cluster", run.sizes[0]),
    }
    apart["c"], needs["c"] = run.shared, needs["a"] + needs["b"]
    clock = np.arange(work.periods, dtype=float)
    for key, (name, size) in named.items():
        got, need = apart[key], needs[key]
        _draw(
            output,
            f"figure_5{key}_vms",
            f"Figure 5{key}: {name}",
            ("hour", "VMs"),
            clock,
            {"needed without rejections": need, "there are": np.full_like(clock, size)},
        )
        _draw(
            output,
            f"figure_5{key}_cost",
            f"Figure 5{key}: {name}",
            ("hour", "cost [EUR]"),
            clock,
            {"operation": got.operation[0], "penalties": got.penalties[0]},
        )
        rows = [
            (str(t), *row)
            for t, row in enumerate(zip(need, vms_held(got)[0], got.operation[0], got.penalties[0], strict=True))
        ]
        yield written(
            output,
            f"figure_5{key}",
            Table(
                f"Figure 5{key}: {name}, {size:.0f} VMs, S4 at {_share(work)} % of V_max",
                ("hour", "VMs without rejections", "VMs held", "operation [EUR]", "penalties [EUR]"),
                rows,
            ),
        )
    yield written(
        output,
        "s4_savings",
        Table(
            f"S4 at {_share(work)} % of V_max: savings of the shared cluster",
            ("savings [%]", "printed, at 85 % [%]"),
            [(_percent(run.savings[0]), 19.0)],
        ),
    )


def _figure_6(output: Path, run: Comparison) -> Iterator[Table]:
    clock = np.arange(run.work.periods, dtype=float)
    size = run.sizes[0]
    shared, apart = run.shared, run.partitioned
    kinds = {
        "a": ("classes", shared.class_vms, apart.class_vms),
        "b": ("services", shared.service_vms, apart.service_vms),
        "c": ("all", vms_held(shared), vms_held(apart)),
    }
    for key, (name, together, split) in kinds.items():
        _draw(
            output,
            f"figure_6{key}",
            f"Figure 6{key}: utilization by {name}",
            ("hour", "of all VMs [%]"),
            clock,
            {"partitioned": 100 * split[0] / size, "shared": 100 * together[0] / size},
        )
    rows = [
        (str(t), *(_percent(held[0, t] / size) for _, together, split in kinds.values() for held in (split, together)))
        for t in range(run.work.periods)
    ]
    columns = ("hour", *(f"{name}, {how} [%]" for name, *_ in kinds.values() for how in ("partitioned", "shared")))
    title = f"Figure 6: utilization, S4 at {_share(run.work)} % of V_max"
    yield written(output, "figure_6", Table(title, columns, rows))


def _share(work: Workload) -> int:
    """Of V_max, in percent, where hours are shown."""
    return 90 if work.whole else 85


def integrality(output: Path, small: int = 30, concurrency: str = "whole") -> Iterator[Table]:
    """What whole VMs cost beyond fractional ones (the paper: at most 4 %), shared clusters of S1 to S5.

    With ``concurrency = whole``: what whole jobs at once cost beyond the paper's shares of them, whole VMs both. Sizes
    from 1.1 V_max down to V_min, in whole VMs, as far as they hold the least demand.
    """
    what = "whole jobs at once" if concurrency == "whole" else "whole VMs"
    rows = []
    for family in SMALL:
        extra = [_extra(family, number, concurrency) for number in range(1, small + 1)]
        together = np.concatenate(extra)
        printed = None if concurrency == "whole" else 4.0
        rows.append((family, _percent(together.mean()), _percent(together.max()), printed, len(together)))
    yield written(
        output,
        "integrality",
        Table(
            f"What {what} cost beyond fractional ones",
            ("instances", "mean [%]", "largest [%]", "printed: at most [%]", "plans"),
            rows,
        ),
    )


def _extra(family: str, number: int, concurrency: str) -> Floats:
    as_printed, run = (compare(workload(instance(family, number, one))) for one in ("fractional", concurrency))
    whole_sizes = np.floor(run.sizes)
    fractional = sweep(as_printed.work, whole_sizes, relax=not run.work.whole).total.sum(axis=1)
    whole = sweep(run.work, whole_sizes, relax=False).total.sum(axis=1)
    extra: Floats = whole / fractional - 1.0
    return extra[~np.isnan(extra)]


def _percent(share: float) -> float:
    """In percent, to four digits: what sums of floats leave behind is no result."""
    return round(100.0 * float(share), 4) + 0.0


def _draw(output: Path, name: str, title: str, axes: tuple[str, str], x: Floats, lines: Mapping[str, Floats]) -> None:
    """Writes one SVG plot: ``lines`` by name, all over ``x``."""
    series = tuple(Series(one, x.tolist(), y.tolist()) for one, y in lines.items())
    write_chart(output / f"{name}.svg", LineChart(title, *axes, series, y_zero=True))
