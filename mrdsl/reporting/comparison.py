"""Plans side by side: their goals, and every value that their tables have in common and that differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mrdsl.core.charts import BarChart
from mrdsl.core.result import Result, Table
from mrdsl.core.tables import Readable

SHOWN = 100
"""Rows that a table of a comparison shows."""

EQUAL = 1e-9
"""Relative difference up to which two numbers count as equal."""

ORDINALS = ("first", "second")

Key = tuple[str, ...]
Value = float | str | None


@dataclass(frozen=True)
class Difference:
    """One value of all plans, with its table, row and column: a number or a word. None is a missing row."""

    table: str
    key: Key
    quantity: str
    values: tuple[Value, ...]

    @property
    def first(self) -> Value:
        return self.values[0]

    @property
    def second(self) -> Value:
        return self.values[1]

    def change(self, index: int = 1) -> float | None:
        """Return the number of the plan at ``index`` less the first one's, or None if one is not a number."""
        first, other = self.values[0], self.values[index]
        return other - first if isinstance(first, float) and isinstance(other, float) else None

    def relative(self, index: int = 1) -> float | None:
        """Return the change relative to the first number, or None if that is 0."""
        first, change = self.values[0], self.change(index)
        return change / abs(first) if change is not None and isinstance(first, float) and first else None

    @property
    def equal(self) -> bool:
        return all(_equal(self.values[0], other) for other in self.values[1:])


def _equal(first: Value, other: Value) -> bool:
    if not isinstance(first, float) or not isinstance(other, float):
        return first == other
    return abs(first - other) <= EQUAL * max(1.0, abs(first), abs(other))


@dataclass(frozen=True)
class Comparison(Readable):
    """Two or more results of one problem family, with ``names`` for heads of columns."""

    results: tuple[Result, ...]
    names: tuple[str, ...]
    goal: Difference
    differences: tuple[Difference, ...]

    def tables(self) -> tuple[Table, ...]:
        """Return the goal, then the differing values of each table that the plans have."""
        unit = self.results[0].objective.unit
        head = f"{self.goal.quantity} [{unit}]" if unit else self.goal.quantity
        tables = [_table("Goal", [head], self.names, [self.goal])]
        for title in dict.fromkeys(one.table for one in self.differences):
            rows = [one for one in self.differences if one.table == title and not one.equal]
            if rows:
                tables.append(_table(title, (), self.names, rows))
        return tuple(tables)

    def readable(self) -> tuple[Table | str, ...]:
        """Return the tables, and the status of each plan."""
        states = (f"{name}: {result.status()}" for name, result in zip(self.names, self.results, strict=True))
        return (*self.tables(), "".join(states))

    @property
    def charts(self) -> tuple[BarChart, ...]:
        """The objective of each plan."""
        unit, values = self.results[0].objective.unit, [result.objective.value for result in self.results]
        label = f"{self.goal.quantity} [{unit}]" if unit else self.goal.quantity
        return (BarChart("Objective of each plan", self.names, {label: values}, y_label=label),)

    @property
    def equal(self) -> int:
        """The count of values that are the same in all plans; the tables leave them out."""
        return sum(one.equal for one in self.differences)

    def document(self) -> dict[str, Any]:
        """As JSON: every value of all plans, also those that are equal; of two, their difference too."""
        sides = [_side(result, name) for result, name in zip(self.results, self.names, strict=True)]
        unit = self.results[0].objective.unit
        return {
            "format": 1,
            "problem": self.results[0].problem,
            **({"first": sides[0], "second": sides[1]} if len(sides) == 2 else {}),
            "plans": sides,
            "objective": {**_values(self.goal), "quantity": self.goal.quantity, "unit": unit},
            "rows": [
                {"table": one.table, "key": list(one.key), "quantity": one.quantity, **_values(one)}
                for one in self.differences
            ],
        }


def compare(*results: Result, names: Sequence[str] = ()) -> Comparison:
    """Compare results of one family, by default named ``first``, ``second``, and then by their numbers.

    Raises ValueError if the families or the objectives differ, and for fewer than two.
    """
    if len(results) < 2:
        raise ValueError("one plan is compared with others: give two or more")
    goals = [(one.problem, one.objective.quantity, one.objective.unit) for one in results]
    other = next((goal for goal in goals if goal != goals[0]), None)
    if other is not None:
        raise ValueError(
            "problems cannot be compared that differ: `{}` with the goal `{}`{}, and `{}` with the goal `{}`{}".format(
                *(
                    part
                    for problem, quantity, unit in (goals[0], other)
                    for part in (problem, quantity, f" in {unit}" * bool(unit))
                )
            )
        )
    counted = (*ORDINALS, *(f"plan {number}" for number in range(len(ORDINALS) + 1, len(results) + 1)))
    values = tuple(one.objective.value for one in results)
    goal = Difference("Goal", (), results[0].objective.quantity, values)
    return Comparison(results, tuple(names or counted[: len(results)]), goal, tuple(_differences(results)))


def _differences(results: Sequence[Result]) -> Iterator[Difference]:
    """Yield the differences row by row of the first plan's tables; rows of only the others come after each table."""
    sides = [{table.title: table for table in (one.tables())} for one in results]
    for title in dict.fromkeys(title for side in sides for title in side):
        values = [_values_by_place(side.get(title)) for side in sides]
        for place in dict.fromkeys(place for side in values for place in side):
            yield Difference(title, place[0], place[1], tuple(side.get(place) for side in values))


def _values_by_place(table: Table | None) -> dict[tuple[Key, str], Value]:
    """Return the values of a table by the row's key (the second such row gets a ``#2``) and the column's head."""
    if table is None:
        return {}
    values: dict[tuple[Key, str], Value] = {}
    seen: Counter[Key] = Counter()
    for row in table.rows:
        keys = row[: table.keys] if table.keys else [cell for cell in row if isinstance(cell, str)]
        words = tuple(str(cell) for cell in keys if cell is not None)
        seen[words] += 1
        words = words if seen[words] == 1 else (*words, f"#{seen[words]}")
        for head, cell in zip(table.columns[table.keys :], row[table.keys :], strict=True):
            if not isinstance(cell, str):
                number = None if cell is None else float(cell)
                values[words, head] = None if number is not None and number != number else number
            elif table.keys:
                values[words, head] = cell
    return values


def _table(title: str, heads: Sequence[str], names: tuple[str, ...], rows: Sequence[Difference]) -> Table:
    """Of two plans the difference and the change; of more, each one's change from the first."""
    two = len(names) == 2
    changes = ("difference", "change [%]") if two else tuple(f"{name} [%]" for name in names[1:])
    columns = ("of", "quantity", *names, *changes)
    body: list[tuple[Any, ...]] = []
    for one in rows:
        quantity = heads[0] if heads else one.quantity
        relative = [_percent(one.relative(index)) for index in range(1, len(names))]
        body.append((" / ".join(one.key), quantity, *one.values, *((one.change(), *relative) if two else relative)))
    if all(row[0] == "" for row in body):
        return Table(title, columns[1:], [row[1:] for row in body], most=SHOWN)
    if all(row[1] == "value" for row in body):
        return Table(title, ("quantity", *columns[2:]), [(row[0], *row[2:]) for row in body], most=SHOWN)
    return Table(title, columns, body, most=SHOWN)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share


def _side(result: Result, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "title": result.title,
        "solver": dict(result.solver),
        "termination": str(result.termination),
        "solution": str(result.solution),
        "period": result.period,
    }


def _values(one: Difference) -> dict[str, Any]:
    if len(one.values) > 2:
        return {"values": list(one.values)}
    return {"first": one.first, "second": one.second, "difference": one.change(), "change": one.relative()}
