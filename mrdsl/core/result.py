"""Results of solving: termination, solution, plan with its tables, and the check that no value is NaN or infinite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from mrdsl.core import lazy
from mrdsl.core.arguments import checked
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error, printable, shortened
from mrdsl.core.json_text import lacking, plain, same, unfinite
from mrdsl.core.rounding import PROVEN, ROUNDING, SAME_SUM
from mrdsl.core.tables import TITLE, Readable, Rows, Style, Table, cell_text, frame_of, table_text, wrapped
from mrdsl.core.units import show

if TYPE_CHECKING:
    from mrdsl.core.charts import Bar, Graph, Today


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


LEAST_VALUE = 1e-9
"""Least value to which a gap is relative, so that a value of 0 has a gap."""


def relative_gap(value: float | None, bound: float | None, fixed: float = 0.0) -> float | None:
    """Return ``|value - bound|`` relative to the larger of LEAST_VALUE and ``|value - fixed|``, or None if either is
    unknown.

    The difference keeps the last digits of a large ``fixed`` part: no gap is relative to less than those.
    """
    if value is None or bound is None:
        return None
    return abs(value - bound) / max(abs(value - fixed), LEAST_VALUE, ROUNDING * abs(fixed))


_STOPS = {
    Termination.OPTIMAL: "optimal",
    Termination.COMPLETED: "completed",
    Termination.INFEASIBLE: "infeasible: no plan meets all constraints",
    Termination.UNBOUNDED: "unbounded: the goal has no best value",
    Termination.TIME_LIMIT: "stopped at the time limit",
    Termination.NODE_LIMIT: "stopped at the node limit",
    Termination.INTERRUPTED: "interrupted",
    Termination.ERROR: "failed",
}


def status_text(
    termination: Termination,
    solution: SolutionStatus,
    objective: Objective,
    fixed: float,
    formulation: str | None,
    solver: Mapping[str, str | None],
) -> str:
    """Return one or two lines: the ending, the objective and its bound, the solver.

    ``fixed`` is the part of the objective that every plan has.
    """
    line = _STOPS[termination]
    if objective.value is not None:
        line += f": {objective.quantity} {value_text(objective)}{_proof(solution, objective, fixed)}"
    elif solution is SolutionStatus.NONE and termination not in (Termination.INFEASIBLE, Termination.UNBOUNDED):
        line += ", no plan"
    name = " ".join(filter(None, (solver.get("name"), solver.get("version"))))
    if not name:
        return f"{line}\n"
    form = f", formulation {formulation}" if formulation else ""
    source = f", declared in {solver['file']}" if solver.get("file") else ""
    return f"{line}\nsolved by {name}{form}{source}\n"


def value_text(objective: Objective) -> str:
    """Return the goal's value with its unit, and the time that it is the cost of."""
    period = f"for {show(objective.period, 'time')}" if objective.period is not None else ""
    return " ".join(filter(None, (cell_text(objective.value), objective.unit, period)))


def _proof(solution: SolutionStatus, objective: Objective, fixed: float) -> str:
    if objective.bound is None:
        return " (no bound is known)"
    bound = f"bound {cell_text(objective.bound)}, gap {_gap_text(objective.gap or 0.0)}"
    if fixed:
        bound += f" beside the {cell_text(fixed)} {objective.unit} of every plan"
    return f" ({'proven: ' if solution is SolutionStatus.OPTIMAL else ''}{bound})"


def _gap_text(gap: float) -> str:
    """Return a relative gap in percent; differences of rounding count as 0."""
    if gap <= SAME_SUM:
        return "0 %"
    return f"{gap * 100.0:.4g} %" if gap >= PROVEN else f"below {PROVEN * 100.0:.4f} %"


__all__ = [
    "CUT_SHORT",
    "LEAST_VALUE",
    "MONEY",
    "Amount",
    "Limits",
    "Objective",
    "Outcome",
    "Plan",
    "Result",
    "SolutionStatus",
    "Table",
    "Termination",
    "Trace",
    "finite",
    "frame_of",
    "lacking",
    "plain",
    "relative_gap",
    "result_text",
    "same",
    "unfinite",
]


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


@dataclass(frozen=True)
class Plan(Readable):
    """Base of the plans of all families. All numbers are SI and plain Python or numpy; every output is a view of it.

    All numbers are finite, except NaN in :func:`lacking` fields. ``on_trust`` describes the fields that do not follow
    from the spec and the other numbers.
    """

    on_trust: ClassVar[Mapping[str, str]] = MappingProxyType({})
    planned: ClassVar[str] = ""
    """The title of the table of what the family plans, or its beginning."""
    compared_by_family: ClassVar[bool] = False
    """`verify` of the family also checks `subject to`, because comparisons hold in each part of the plan."""

    def document(self) -> dict[str, Any]:
        """Return the object under ``plan`` in the JSON result."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.metadata.get("document", True)}

    def on_spot(self) -> Mapping[str, float]:
        """Return the part of the VMs, or of the runs, of each class that is on spot; without classes that are not."""
        return {}

    def derived(self, spec: Any) -> Plan:
        """Return the plan with the parts that only describe its spec computed again; by default there are none."""
        return self

    def tables(self) -> tuple[Table, ...]:
        """Return the tables for the terminal."""
        return ()

    def to_dataframe(self, title: str = "") -> pandas.DataFrame:
        """Return the table whose title begins with a text, or that of what the family plans, as a pandas frame."""
        return super().to_dataframe(title or self.planned)

    def readable(self) -> tuple[Table, ...]:
        """Return the tables, with the currency left out."""
        return tuple(_in_currency(table, "") for table in self.tables())

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
class Result(Readable, Generic[P]):
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
        today: The observed cluster next to the plan, if the spec has one.
        spec: The solved spec.
    """

    termination: Termination
    solution: SolutionStatus = SolutionStatus.NONE
    plan: P | None = None
    value: float | None = None
    bound: float | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    size: float = field(default=0.0, compare=False)
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
    today: Today | None = None
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
        return lazy.of_results().write(self, folder)

    @classmethod
    @checked
    def from_json(cls, text: str, name: str = "") -> Result:
        """Return the result in a saved plan; ``name`` is the file's, for messages. Raises MrdslError for any other
        text.
        """
        found: Result = lazy.of_results().read(text, name)
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

    @checked
    def plan_of(self, kind: type[Q]) -> Q:
        """Return the plan with the type of a family for type checkers: ``solve(spec).plan_of(CapacityPlan)``.

        Raises:
            MrdslError: The result has no plan.
            TypeError: It is a plan of another family.
        """
        plan = self.of(kind).plan
        if plan is None:
            errors = [found for found in self.diagnostics if found.severity == "error"]
            nothing = error("no-plan", f"the result has no plan: {self.termination}", None, "call `mrdsl.why(result)`")
            raise MrdslError(errors or [nothing], 1)
        return plan

    @property
    def objective(self) -> Objective:
        """The goal, its value, its bound and the gap between them."""
        gap = relative_gap(self.value, self.bound, self.fixed)
        return Objective(self.sense, self.quantity, self.value, self.unit, self.bound, gap, self.period)

    @checked
    def to_dataframe(self, title: str = "") -> pandas.DataFrame:
        """Return the table whose title begins with a text, or that of what the family plans, as a pandas frame.

        Raises MrdslError ``unknown-name`` if there is no such table, and ``missing-extra`` if pandas is not installed.
        """
        return super().to_dataframe(title or (self.plan.planned if self.plan is not None else ""))

    @property
    def charts(self) -> Sequence[Any]:
        """The charts of the plan, as its report has them."""
        return lazy.of_pictures()(self)

    def status(self) -> str:
        """Return one or two lines: the ending, the objective and its bound, the solver."""
        return status_text(self.termination, self.solution, self.objective, self.fixed, self.formulation, self.solver)

    def readable(self) -> tuple[Table | str, ...]:
        """Return the title, the tables and the status."""
        return (f"{self.shown_title}\n", *self.tables(), self.status())

    @property
    def shown_title(self) -> str:
        """The title, or the family without one, in short."""
        return printable(shortened(self.title or self.problem, TITLE))

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of the plan and of its user-defined quantities, in the currency of the spec; empty without
        a plan.
        """
        shown = f"[{self.currency}]" if self.currency else ""
        tables = [_in_currency(table, shown) for table in (self.plan.tables() if self.plan is not None else ())]
        if self.plan is not None and (spot := self.plan.on_spot()):
            rows = [(name, 100.0 * part) for name, part in spot.items()]
            tables.append(Table("Classes on spot", ("class", "on spot [%]"), rows, most=20))
        if self.today is not None:
            tables.append(_in_currency(self.today.table(), shown))
        if self.quantities:
            own = [(name, each.value, each.unit) for name, each in self.quantities.items()]
            tables.append(Table("Quantities of its own", ("quantity", "value", "unit"), own))
        return tuple(tables)


def _in_currency(table: Table, shown: str) -> Table:
    def put(cell: Any) -> Any:
        return cell.replace(MONEY, shown).rstrip() if isinstance(cell, str) and MONEY in cell else cell

    columns = tuple(put(head) for head in table.columns)
    if isinstance(table.rows, Rows):  # long tables name the currency in their heads only
        return replace(table, columns=columns)
    return replace(table, columns=columns, rows=[tuple(put(cell) for cell in row) for row in table.rows])


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


def result_text(result: Result, width: int | None = None, bold: Style = str, ending: Style = str) -> str:
    """Return the whole result for a reader, styled for a terminal if ``bold`` and ``ending`` are given."""
    status = ending(wrapped(result.status().rstrip("\n"), width)) + "\n"
    tables = (table_text(table, width, bold) for table in result.tables())
    return "\n".join([f"{bold(result.shown_title)}\n", *tables, status])
