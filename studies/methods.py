"""Comparisons of methods over specs and values of params, each a sweep for every spec and method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import mrdsl
from mrdsl.core.resources import resource
from mrdsl.core.result import Limits, Table
from studies.study_files import written

Row = Mapping[str, Any]
POLICIES = ("controller", "calendar", "threshold", "always-outsource")
WEIGHTS = {"V": "0.5,1,2,4,8,16,32", "acceptance": "0.8,0.85,0.9,0.95,1"}
BATCHES = (
    "exact",
    "fifo",
    "johnson",
    "genetic",
    "balanced-pools",
    "balanced-pools-genetic",
    "slot-search",
    "portfolio",
)
ENERGY = ("highs", "dsps", "mvps", "mrdsl-energy")
PROMISES = {
    "deadline": "120,161.5,203.1,244.6,286.1,327.7,369.2,410.7,452.3,493.8,535.3,576.9,618.4,659.9,701.5,743",
    "budget": "0.033,0.0448,0.0609,0.0827,0.112,0.153,0.207,0.282,0.382,0.519,0.706,0.958,1.3,1.77,2.4,3.26",
}
UNITS = {"deadline": "s", "budget": "cent"}


def runs(
    specs: Sequence[Path], methods: Sequence[str], over: Mapping[str, Any] | None = None, seeds: str = ""
) -> list[dict[str, Any]]:
    """Return a row for each run, with its spec and method."""
    limits = Limits(time=120.0)
    return [
        {"spec": spec.stem, "method": method, **row}
        for spec in specs
        for method in methods
        for row in mrdsl.sweep(spec, over, solver=method, seeds=seeds or (), limits=limits).table
    ]


def pivot(title: str, rows: Sequence[Row], head: str, column: str = "value", part: str = "method") -> Table:
    """Return means of a column, with a row for each value of `head` and a column for each value of `part`."""
    parts = dict.fromkeys(row[part] for row in rows)
    cells = []
    for value in dict.fromkeys(row[head] for row in rows):
        of_value = [row for row in rows if row[head] == value and row.get(column) is not None]
        found = ([row[column] for row in of_value if row[part] == each] for each in parts)
        cells.append((value, *(mean(numbers) if numbers else None for numbers in found)))
    return Table(title, (head, *(str(each) for each in parts)), cells)


def above(rows: Sequence[Row], same: Sequence[str], reference: str, column: str = "value") -> list[dict[str, Any]]:
    """Return the rows with their excess in percent of a column of the method `reference` for the same instance."""
    known = {tuple(row[name] for name in same): row.get(column) for row in rows if row["method"] == reference}
    found = []
    for row in rows:
        least = known.get(tuple(row[name] for name in same))
        excess = None if least is None or row.get("value") is None else 100.0 * (row["value"] / least - 1.0)
        found.append({**row, "above": excess})
    return found


def hybrid_weights(output: Path, seeds: str = "1..3") -> Iterator[Table]:
    """Yield the mean cost of each policy against the weight V, and against the acceptance at ``V = auto``."""
    spec = [resource("models") / "hybrid" / "weights.mrspec"]
    for param, values in WEIGHTS.items():
        rows = runs(spec, POLICIES, {param: values}, seeds)
        yield written(output, param, pivot(f"Average cost per slot against {param}", rows, param))


def makespan_quality(output: Path, batches: int = 50) -> Iterator[Table]:
    """Yield the makespans of each method on small batches, and their excess over the proven bound."""
    specs = sorted((resource("models") / "makespan" / "batches").glob("*.mrspec"))[:batches]
    rows = runs(specs, BATCHES)
    yield written(output, "makespans", pivot("Makespans, s", rows, "spec"))
    excess = above(rows, ("spec",), "exact", "bound")
    cells = []
    for method in BATCHES:
        of_method = [row["above"] for row in excess if row["method"] == method and row["above"] is not None]
        cells.append((method, mean(of_method), max(of_method)) if of_method else (method, None, None))
    yield written(output, "above", Table("Above the proven bound, %", ("method", "mean", "max"), cells))


def energy_sensitivity(output: Path, workloads: str = "*-small.mrspec") -> Iterator[Table]:
    """Yield Figures 9 and 10 of paper 002: the share of transfers, and points with a plan at tight promises."""
    specs = sorted((resource("models") / "energy").glob(workloads))
    loose = {"speed": "0.1 Gbit/s,1 Gbit/s,10 Gbit/s", "deadline": "3600000 s", "budget": "1000000 cent"}
    rows = runs(specs, ("highs",), loose)
    for part in ("shuffle", "placement"):
        name = f"plan.energy.{part}"
        shares = [{**row, "share": 100.0 * row[name] / row["plan.energy.total"]} for row in rows]
        speed = next(key for key in rows[0] if key.startswith("speed"))
        title = f"Figure 9: energy of the {part}, % of all energy"
        yield written(output, part, pivot(title, shares, "spec", "share", speed))
    for promise, numbers in PROMISES.items():
        unit = UNITS[promise]
        rows = runs(specs, ENERGY, {promise: ",".join(f"{number} {unit}" for number in numbers.split(","))})
        heads = (f"{promise} [{unit}]", "spec")
        counted = [{**row, "plans": 100.0 * (row["value"] is not None)} for row in rows]
        points = pivot(f"Figure 10, {promise}: points with a plan, %", counted, "spec", "plans")
        yield written(output, f"{promise}-points", points)
        excess = above(rows, heads, "highs")
        title = f"Figure 10, {promise}: energy above the optimum, mean %"
        yield written(output, f"{promise}-above", pivot(title, excess, heads[0], "above"))
