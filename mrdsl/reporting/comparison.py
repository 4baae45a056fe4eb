"""Two plans side by side: their goals, and every number that their tables have in common and that differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mrdsl.core.result import Result, Table

EQUAL = 1e-9
"""Relative difference up to which two numbers count as equal."""

Key = tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """One number of both plans: of which row and column of which table. None stands for a row that is not there."""

    table: str
    key: Key
    quantity: str
    first: float | None
    second: float | None

    @property
    def change(self) -> float | None:
        """Second less first."""
        return None if self.first is None or self.second is None else self.second - self.first

    @property
    def relative(self) -> float | None:
        """The change relative to the first number; None where that is 0."""
        return self.change / abs(self.first) if self.change is not None and self.first else None

    @property
    def equal(self) -> bool:
        if self.first is None or self.second is None:
            return self.first is self.second
        return abs(self.first - self.second) <= EQUAL * max(1.0, abs(self.first), abs(self.second))


@dataclass(frozen=True)
class Comparison:
    """Two results of one problem family; ``names`` tell them apart in heads of columns."""

    first: Result
    second: Result
    names: tuple[str, str]
    goal: Difference
    differences: tuple[Difference, ...]

    def tables(self) -> tuple[Table, ...]:
        """The goal, then the differing numbers of each table that both plans have."""
        unit = self.first.objective.unit
        head = f"{self.goal.quantity} [{unit}]" if unit else self.goal.quantity
        tables = [_table("Goal", [head], self.names, [self.goal])]
        for title in dict.fromkeys(one.table for one in self.differences):
            rows = [one for one in self.differences if one.table == title and not one.equal]
            if rows:
                tables.append(_table(title, (), self.names, rows))
        return tuple(tables)

    @property
    def equal(self) -> int:
        """How many of the numbers are the same in both plans; the tables leave them out."""
        return sum(one.equal for one in self.differences)

    def document(self) -> dict[str, Any]:
        """As JSON: every number of both plans, also those that are equal."""
        return {
            "format": 1,
            "problem": self.first.problem,
            "first": _side(self.first, self.names[0]),
            "second": _side(self.second, self.names[1]),
            "objective": {**_values(self.goal), "quantity": self.goal.quantity, "unit": self.first.objective.unit},
            "rows": [
                {"table": one.table, "key": list(one.key), "quantity": one.quantity, **_values(one)}
                for one in self.differences
            ],
        }


def compare(first: Result, second: Result, names: tuple[str, str] = ("first", "second")) -> Comparison:
    """Compares two results of one family. Raises ValueError where the families or the goals differ."""
    goals = [(one.problem, one.objective.quantity, one.objective.unit) for one in (first, second)]
    if goals[0] != goals[1]:
        raise ValueError(
            "problems cannot be compared that differ: `{}` with the goal `{}`{}, and `{}` with the goal `{}`{}".format(
                *(part for problem, quantity, unit in goals for part in (problem, quantity, f" in {unit}" * bool(unit)))
            )
        )
    goal = Difference("Goal", (), first.objective.quantity, first.objective.value, second.objective.value)
    return Comparison(first, second, names, goal, tuple(_differences(first, second)))


def _differences(first: Result, second: Result) -> Iterator[Difference]:
    """Row by row of the first plan's tables, with what only the second one has behind each table."""
    sides = [{table.title: table for table in (one.tables())} for one in (first, second)]
    for title in dict.fromkeys([*sides[0], *sides[1]]):
        numbers = [_numbers(side.get(title)) for side in sides]
        for place in dict.fromkeys([*numbers[0], *numbers[1]]):
            yield Difference(title, place[0], place[1], numbers[0].get(place), numbers[1].get(place))


def _numbers(table: Table | None) -> dict[tuple[Key, str], float | None]:
    """Every number of a table by its row's words (the second such row gets a ``#2``) and its column's head."""
    if table is None:
        return {}
    numbers: dict[tuple[Key, str], float | None] = {}
    seen: Counter[Key] = Counter()
    for row in table.rows:
        words = tuple(cell for cell in row if isinstance(cell, str))
        seen[words] += 1
        words = words if seen[words] == 1 else (*words, f"#{seen[words]}")
        for head, cell in zip(table.columns, row, strict=True):
            if not isinstance(cell, str):
                number = None if cell is None else float(cell)
                numbers[words, head] = None if number is not None and number != number else number
    return numbers


def _table(title: str, heads: Sequence[str], names: tuple[str, str], rows: Sequence[Difference]) -> Table:
    columns = ("of", "quantity", *names, "difference", "change [%]")
    body = []
    for one in rows:
        relative = None if one.relative is None else 100.0 * one.relative
        quantity = heads[0] if heads else one.quantity
        body.append((" / ".join(one.key), quantity, one.first, one.second, one.change, relative))
    if all(row[0] == "" for row in body):
        return Table(title, columns[1:], [row[1:] for row in body])
    if all(row[1] == "value" for row in body):
        return Table(title, ("quantity", *columns[2:]), [(row[0], *row[2:]) for row in body])
    return Table(title, columns, body)


def _side(result: Result, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "title": result.title,
        "solver": dict(result.solver),
        "termination": str(result.termination),
        "solution": str(result.solution),
    }


def _values(one: Difference) -> dict[str, float | None]:
    return {"first": one.first, "second": one.second, "difference": one.change, "change": one.relative}
