"""Results of solving: termination, solution, plan with its tables, and the check that no value is NaN or infinite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from mrdsl.core import saving
from mrdsl.core.arguments import checked
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.core.rounding import ROUNDING

if TYPE_CHECKING:
    from mrdsl.core.charts import Bar, Graph


@dataclass(frozen=True)
class Table:
    """One table of a plan for a reader: ``rows`` of cells (str, int, float or None), units in the column heads."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the table as a pandas frame. Raises MrdslError ``missing-extra`` if pandas is not installed."""
        return frame_of(self.columns, self.rows)


def frame_of(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pandas.DataFrame:
    """Return rows and their column names as a pandas frame. Raises MrdslError ``missing-extra`` if pandas is not
    installed.
    """
    try:
        import pandas
    except ImportError:
        hint = "pip install pandas, or mrdsl with its extra `tables`"
        raise MrdslError(
            [error("missing-extra", "frames need pandas, which is not installed", None, hint)], 3
        ) from None
    return pandas.DataFrame([list(row) for row in rows], columns=list(columns))


class Termination(StrEnum):
    """The reason why the solver or pipeline stopped."""

    OPTIMAL = "optimal"
    COMPLETED = "completed"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time_limit"
    NODE_LIMIT = "node_limit"
    INTERRUPTED = "interrupted"
    ERROR = "error"


CUT_SHORT = (Termination.TIME_LIMIT, Termination.NODE_LIMIT, Termination.INTERRUPTED)
"""The ends of a search that was stopped before its own end."""


class SolutionStatus(StrEnum):
    """The state of the solution."""

    NONE = "none"
    FEASIBLE = "feasible"
    OPTIMAL = "optimal"


class Outcome(StrEnum):
    """The verdict of simulation runs on a constraint."""

    KEPT = "kept"
    BROKEN = "broken"
    UNDECIDED = "undecided"

    @property
    def shown(self) -> str:
        """The word for people: met, missed or inconclusive."""
        return {"kept": "met", "broken": "missed", "undecided": "inconclusive"}[self]


@dataclass(frozen=True)
class Limits:
    """Limits of a solve. None is the default of the method.

    Attributes:
        time: Time limit [s].
        gap: Relative gap at which a search ends.
        nodes: Branch-and-bound nodes.
        threads: Threads of the solver.
        seed: Seed of the solver.
    """

    time: float | None = None
    gap: float | None = None
    nodes: int | None = None
    threads: int | None = None
    seed: int | None = None


MONEY = "[money]"
"""Stands for the spec's currency in a plan's tables, which do not know it; :meth:`Result.tables` puts it in."""


@dataclass(frozen=True)
class Trace:
    """Events in order, for a CSV file; ``rows`` can be read once."""

    columns: tuple[str, ...]
    rows: Iterable[Sequence[Any]]


LACKS = "lacks"


def lacking(why: str) -> Mapping[str, str]:
    """Return the metadata of a field of a plan whose numbers are NaN if there is no value; ``why`` gives the reason."""
    return {LACKS: why}


@dataclass(frozen=True)
class Plan:
    """Base of the plans of all families. All numbers are SI and plain Python or numpy; every output is a view of it.

    All numbers are finite, except NaN in :func:`lacking` fields. ``on_trust`` names the parts that do not follow from
    the spec and the other numbers.
    """

    on_trust: ClassVar[tuple[str, ...]] = ()

    def document(self) -> dict[str, Any]:
        """Return the object under ``plan`` in the JSON result."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.metadata.get("document", True)}

    def tables(self) -> tuple[Table, ...]:
        """Return the tables for the terminal."""
        return ()

    def outcomes(self) -> Mapping[str, Outcome]:
        """Return the verdict of the runs on each constraint, by the name of its class or job; empty if there were no
        runs.
        """
        return {}

    def bars(self) -> tuple[Bar, ...]:
        """Return the bars of the Gantt chart; empty if the family has none."""
        return ()

    def graph(self, title: str) -> Graph | None:
        """Return the parts of the plan and their order, or None if the family has no graph."""
        return None

    def trace(self) -> Trace:
        """Return all events of the plan; by default the bars of its chart."""
        return Trace(
            ("lane", "label", "start [s]", "end [s]", "kind"),
            ((bar.lane, bar.label, bar.start, bar.end, bar.kind) for bar in self.bars()),
        )


@dataclass(frozen=True)
class Objective:
    """The objective, its value and its bound.

    ``gap`` is relative to ``value`` minus the part that every plan costs. ``period`` is the time [s] that a value in
    money pays for, if the spec chooses it.
    """

    sense: str
    quantity: str
    value: float | None
    unit: str
    bound: float | None
    gap: float | None
    period: float | None = None


@dataclass(frozen=True)
class Amount:
    """The value of a quantity that the spec names with ``let``, in an SI unit; None if it has no value."""

    value: float | None
    unit: str = ""


Q = TypeVar("Q", bound=Plan)
if TYPE_CHECKING:  # a default is known to type checkers before Python 3.13
    import pandas
    import typing_extensions

    P = typing_extensions.TypeVar("P", bound=Plan, default=Plan, covariant=True)
else:
    P = TypeVar("P", bound=Plan, covariant=True)


@dataclass(frozen=True)
class Result(Generic[P]):
    """Result of a spec: everything that `mrdsl solve --json` prints.

    Attributes:
        termination: Reason why the run ended.
        solution: OPTIMAL only if value and bound agree within the requested gap.
        plan: The plan; None without one.
        value: Objective of the plan, in its SI unit.
        bound: Proven bound on the objective of every plan.
        diagnostics: Warnings, notes and errors.
        size: Size of the largest term of the objective, to which tolerances are relative.
        fixed: Part of the objective that every plan has; gaps exclude it.
        problem: Name of the family.
        title: Title of the spec.
        formulation: Name of the formulation.
        solver: Name and version of the solver.
        seed: Seed of the spec.
        sense: `minimize`, `maximize` or `estimate`.
        quantity: Name of the objective.
        unit: Unit of the objective.
        period: Time that a cost covers [s].
        seconds: Time of each stage [s].
        currency: Currency of the spec.
        relaxed: Whole numbers can be fractions.
        quantities: Values of user-defined quantities.
        spec: The solved spec.
    """

    termination: Termination
    solution: SolutionStatus = SolutionStatus.NONE
    plan: P | None = None
    value: float | None = None
    bound: float | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    size: float = 0.0
    fixed: float = 0.0
    problem: str = ""
    title: str = ""
    formulation: str | None = None
    solver: Mapping[str, str | None] = field(default_factory=dict)
    seed: int | None = None
    sense: str = ""
    quantity: str = ""
    unit: str = ""
    period: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    currency: str = ""
    relaxed: bool = False
    quantities: Mapping[str, Amount] = field(default_factory=dict)
    spec: Any = field(default=None, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        """Return True if all fields but ``spec`` are the same; arrays by their elements, NaN as NaN."""
        return isinstance(other, Result) and same(self, other)

    @checked
    def to_json(self, folder: str | None = None) -> str:
        """Return the saved plan, as ``mrdsl solve -o`` writes it.

        Args:
            folder: The folder of the plan, for relative names of its input files; by default the names are absolute.

        Returns:
            JSON that ``Result.from_json`` reads.

        Raises:
            MrdslError: The result has no spec, because no command or function of mrdsl made it.
        """
        return saving.of_results().write(self, folder)

    @classmethod
    @checked
    def from_json(cls, text: str, name: str = "") -> Result:
        """Return the result in a saved plan; ``name`` is the file's, for messages. Raises MrdslError for any other
        text.
        """
        found: Result = saving.of_results().read(text, name)
        return found

    @checked
    def of(self, kind: type[Q]) -> Result[Q]:
        """Return this result with the type of a family for type checkers: ``solve(spec).of(CapacityPlan).plan``.

        Raises TypeError if there is a plan of another kind.
        """
        if self.plan is not None and not isinstance(self.plan, kind):
            raise TypeError(
                f"this is a plan of {self.problem or 'no family'}, {type(self.plan).__name__}, not {kind.__name__}"
            )
        return cast("Result[Q]", self)

    @property
    def objective(self) -> Objective:
        """The goal, its value, its bound and the gap between them."""
        gap = relative_gap(self.value, self.bound, self.fixed)
        return Objective(self.sense, self.quantity, self.value, self.unit, self.bound, gap, self.period)

    @checked
    def to_dataframe(self, title: str = "") -> pandas.DataFrame:
        """Return the table of the plan with that title, or the one with the most rows, as a pandas frame.

        Raises MrdslError ``unknown-name`` if there is no such table, and ``missing-extra`` if pandas is not installed.
        """
        tables = self.tables()
        found = max(
            (each for each in tables if title in ("", each.title)), key=lambda each: len(each.rows), default=None
        )
        if found is None:
            hint = "tables: " + (", ".join(each.title for each in tables) or "none, as there is no plan")
            raise MrdslError([error("unknown-name", f"the result has no table `{title}`", None, hint)])
        return found.to_dataframe()

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of the plan and of its user-defined quantities, in the currency of the spec; empty without
        a plan.
        """
        shown = f"[{self.currency}]" if self.currency else ""
        tables = [_in_currency(table, shown) for table in (self.plan.tables() if self.plan is not None else ())]
        if self.quantities:
            rows = [(name, each.value, each.unit) for name, each in self.quantities.items()]
            tables.append(Table("Quantities of its own", ("quantity", "value", "unit"), rows))
        return tuple(tables)


def _in_currency(table: Table, shown: str) -> Table:
    def put(cell: Any) -> Any:
        return cell.replace(MONEY, shown).rstrip() if isinstance(cell, str) and MONEY in cell else cell

    columns = tuple(put(head) for head in table.columns)
    return Table(table.title, columns, [tuple(put(cell) for cell in row) for row in table.rows])


LEAST_VALUE = 1e-9
"""What a gap is relative to at least, so that a value of 0 has one."""


def relative_gap(value: float | None, bound: float | None, fixed: float = 0.0) -> float | None:
    """Return ``|value - bound|`` relative to the larger of LEAST_VALUE and ``|value - fixed|``, or None if either is
    unknown.

    The difference keeps the last digits of a large ``fixed`` part: no gap is relative to less than those.
    """
    if value is None or bound is None:
        return None
    return abs(value - bound) / max(abs(value - fixed), LEAST_VALUE, ROUNDING * abs(fixed))


def plain(value: Any) -> Any:
    """Return a value as JSON knows it: dataclasses and mappings as objects, arrays as lists, NaN as null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.metadata.get("document", True)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "dtype"):
        return plain(value.tolist())
    if isinstance(value, float) and value != value:
        return None
    return value


_NUMBERLESS = frozenset((str, int, bool))
"""Types whose values are finite: a list of a hundred thousand names is passed over at once."""


def finite(result: Result, searched: bool = False) -> Result:
    """Return the result, or an error without a plan if its plan or value has a NaN or an infinity.

    A bound that is not finite is left out. ``searched``: the plan is known to be finite.
    """
    if result.bound is not None and not isfinite(result.bound):
        result = replace(result, bound=None)
    if result.plan is None:
        return result
    if result.value is not None and not isfinite(result.value):
        place = "its value"
    else:
        place = "" if searched else unfinite(result.plan)
    if not place:
        return result
    told = error(
        "broken-plan",
        f"the plan contains a value that is not a number: {place}",
        None,
        "this is a bug in the solver or in mrdsl: try another solver, and report the spec",
    )
    return Result(Termination.ERROR, diagnostics=(*result.diagnostics, told))


def unfinite(plan: Plan) -> str:
    """Return the path of the first NaN or infinity in a plan, or ""."""
    return next(_search(plan, ""), "")


def _search(value: Any, path: str, lacks: bool = False) -> Iterator[str]:
    if isinstance(value, float):
        if not (isfinite(value) or (lacks and value != value)):
            yield path
    elif hasattr(value, "dtype"):
        yield from _search_array(value, path, lacks)
    elif is_dataclass(value):
        kind: Any = type(value)
        for name, may_lack in _fields(kind):
            inner = getattr(value, name)
            if not isinstance(inner, str | int):
                yield from _search(inner, f"{path}.{name}" if path else name, may_lack)
    elif isinstance(value, Mapping):
        if _NUMBERLESS.issuperset(map(type, value.values())):
            return
        for key, inner in value.items():
            yield from _search(inner, f"{path}[{key!r}]", lacks)
    elif isinstance(value, list | tuple):
        if _NUMBERLESS.issuperset(map(type, value)):
            return
        for index, inner in enumerate(value):
            if not isinstance(inner, str | int):
                yield from _search(inner, f"{path}[{index}]", lacks)


@cache
def _fields(kind: Any) -> tuple[tuple[str, bool], ...]:
    return tuple((field.name, LACKS in field.metadata) for field in fields(kind))


def _search_array(value: Any, path: str, lacks: bool) -> Iterator[str]:
    import numpy as np

    if value.dtype.kind == "f" and not np.isfinite(value).all():
        wrong = np.isinf(value) if lacks else ~np.isfinite(value)
        if wrong.any():
            yield f"{path}{[int(i) for i in np.argwhere(wrong)[0]]}"


def same(first: Any, second: Any) -> bool:
    """Dataclasses field by field, mappings and sequences item by item, arrays by their elements, NaN as NaN.

    Fields that take no part in comparisons are left out, and functions: they are never saved.
    """
    if first is second:
        return True
    if is_dataclass(first) and not isinstance(first, type):
        return type(first) is type(second) and all(
            same(getattr(first, f.name), getattr(second, f.name)) for f in fields(first) if f.compare
        )
    if hasattr(first, "dtype") or hasattr(second, "dtype"):
        return _same_arrays(first, second)
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return list(first) == list(second) and all(same(first[key], second[key]) for key in first)
    if isinstance(first, Sequence) and isinstance(second, Sequence) and not isinstance(first, str):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, float) and isinstance(second, float) and first != first:
        return second != second
    return callable(first) or callable(second) or bool(first == second)


def _same_arrays(first: Any, second: Any) -> bool:
    import numpy as np

    one, other = np.asarray(first), np.asarray(second)
    numbers = one.dtype.kind == other.dtype.kind == "f"
    return bool(np.array_equal(one, other, equal_nan=numbers))
