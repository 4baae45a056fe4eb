"""Steps from one plan to the next for an operator, the smallest change first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from mrdsl.contracts.family import ADMIT, GIVE, PLACE, RENT, RENTAL, RUN, Family, Operated, Setting, kind_words
from mrdsl.core.charts import BarChart
from mrdsl.core.diagnostics import MrdslError, error, number_of, one_error
from mrdsl.core.result import Result, Table, value_text
from mrdsl.core.tables import Readable, cell_text
from mrdsl.families.diagnosis import find_family
from mrdsl.reporting.report_files import plain, table_markdown

SAME = 1e-6
"""Relative difference up to which two numbers are the same setting, as solvers round."""
SHOWN = 100
"""Changes that the text lists; JSON has all."""
MORE_AND_LESS = {
    RENT: ("rent", "release"),
    RENTAL: ("rent", "cancel"),
    RUN: ("turn on", "turn off"),
    GIVE: ("give", "take"),
    ADMIT: ("admit", "turn away"),
}


@dataclass(frozen=True)
class Change:
    """One step. ``before`` or ``after`` is None if that plan has no such setting."""

    setting: Setting
    before: float | str | None
    after: float | str | None

    @property
    def change(self) -> float | None:
        """The value after minus the value before, with 0 for missing settings; None for words."""
        if isinstance(self.before, str) or isinstance(self.after, str):
            return None
        return (self.after or 0.0) - (self.before or 0.0)

    @property
    def size(self) -> float:
        """The size for the order of changes, in its unit; 1 for a word."""
        return 1.0 if self.change is None else abs(self.change)

    @property
    def verb(self) -> str:
        """``rent``, ``release`` or ``cancel``, ``give`` or ``take``, ``set``, ``move``, ``start`` or ``stop``."""
        action = self.setting.action
        if action in MORE_AND_LESS:
            return MORE_AND_LESS[action][0 if (self.change or 0.0) > 0 else 1]
        if action == PLACE:
            return "start" if self.before is None else "stop" if self.after is None else "move"
        return "set" if self.after is not None else "drop"

    @property
    def text(self) -> str:
        """The change as an instruction."""
        told = _told(self)
        return f"in {self.setting.when}: {told}" if self.setting.when else told

    def document(self) -> dict[str, Any]:
        """Return the change as JSON."""
        named = {
            f.name: getattr(self.setting, f.name) for f in fields(self.setting) if f.name not in ("action", "value")
        }
        numbers = {"before": self.before, "after": self.after, "change": self.change}
        return {"action": self.verb, **named, **numbers, "text": self.text}


@dataclass(frozen=True)
class Difference(Readable):
    """The steps from the last plan to the current one, the smallest change first; ``note`` is the part that they leave
    open.
    """

    last: Result
    now: Result
    names: tuple[str, str]
    changes: tuple[Change, ...]
    note: str = ""

    def readable(self) -> tuple[str, ...]:
        """Return the changes as text, and a note on them."""
        return ("".join(f"{line}\n" for line in self.lines()) or "nothing to do\n", *([self.note] if self.note else []))

    def lines(self) -> Iterator[str]:
        """Yield the changes as text."""
        for change in self.changes[:SHOWN]:
            yield change.text
        if len(self.changes) > SHOWN:
            yield f"... and {len(self.changes) - SHOWN} more: --json has all"

    def _table(self, title: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Return the changes with their numbers."""
        table = self.table()
        return table.columns, table.rows

    @property
    def charts(self) -> tuple[BarChart, ...]:
        """The changed settings before and after."""
        shown = [c for c in self.changes if not isinstance(c.before or c.after, str)]
        last, now = self.names
        numbers = {last: [_number(c.before) for c in shown], now: [_number(c.after) for c in shown]}
        return (BarChart("Changed settings", tuple(c.setting.what for c in shown), numbers, horizontal=True),)

    def table(self) -> Table:
        """Return the changes with their numbers."""
        rows = [(c.text, c.setting.when, c.setting.what, c.before, c.after, c.change) for c in self.changes]
        return Table("To do", ("to do", "when", "what", "before", "after", "change"), rows)

    def to_markdown(self) -> str:
        """Return the changes as a table in Markdown, below the objective before and after."""
        before, after = (plain(value_text(one.objective)) for one in (self.last, self.now))
        count = len(self.changes)
        head = f"**{plain(self.now.objective.quantity)}: {before} → {after}**" if after else "**Changes**"
        changes = number_of(count, "change") if count else "nothing to do"
        rows = [(c.text, c.before, c.after) for c in self.changes]
        table = [table_markdown(Table("", ("to do", *self.names), rows))] if rows else []
        note = [plain(self.note)] if self.note else []
        return "\n\n".join([f"{head}, {changes}", *table, *note]) + "\n"

    def document(self) -> dict[str, Any]:
        """As JSON."""
        goals = [one.objective for one in (self.last, self.now)]
        return {
            "format": 1,
            "problem": self.now.problem,
            "last": self.names[0],
            "now": self.names[1],
            "objective": {
                "quantity": goals[1].quantity,
                "unit": goals[1].unit,
                "before": goals[0].value,
                "after": goals[1].value,
                "period": goals[1].period,
            },
            "note": self.note,
            "changes": [change.document() for change in self.changes],
        }


def _number(value: float | str | None) -> float | None:
    return None if isinstance(value, str) else value


def diff(last: Result, now: Result, names: tuple[str, str] = ("last", "now")) -> Difference:
    """Return the steps of an operator from the plan ``last`` to the plan ``now``.

    Without a last plan there is a step for every setting. Raises MrdslError if the families differ
    (``different-problems``), if there is no new plan, and if a plan has no settings (``not-operated``).
    """
    if last.problem != now.problem:
        message = f"`{names[0]}` is {kind_words(last.problem)} plan, and `{names[1]}` {kind_words(now.problem)} one"
        raise one_error("different-problems", message, None, "compare plans of the same problem kind")
    before, after = (_operated(each) for each in (last, now))
    if not after.settings:
        raise MrdslError([_not_operated(now, after.note)])
    note = after.note if last.plan is not None else f"{names[0]} has no plan, so every setting is new"
    return Difference(last, now, names, tuple(_ordered(before.settings, after.settings)), note)


def _operated(result: Result) -> Operated:
    family: Family = find_family(result.spec)
    if family.operated is None:
        raise MrdslError([_not_operated(result, "")])
    return family.operated(result.spec, result.plan) if result.plan is not None else Operated(())


def _not_operated(result: Result, why: str) -> Any:
    message = f"`diff` does not apply to {kind_words(result.problem)} plan: it has no settings to change" + (
        f": {why}" if why else ""
    )
    return error("not-operated", message, None, "use `mrdsl compare` to list the differences of two plans")


def _ordered(before: Sequence[Setting], after: Sequence[Setting]) -> list[Change]:
    old, new = _by_place(before), _by_place(after)
    changes = []
    for key in dict.fromkeys((*new, *old)):
        was, is_now = old.get(key), new.get(key)
        setting = is_now or was
        assert setting is not None
        change = Change(setting, None if was is None else was.value, None if is_now is None else is_now.value)
        if not _same(change):
            changes.append(change)
    return sorted(changes, key=lambda change: change.size)


def _by_place(settings: Sequence[Setting]) -> Mapping[tuple[str, ...], Setting]:
    return {(each.action, each.when, each.what, each.unit): each for each in settings}


def _same(change: Change) -> bool:
    """Return True if a change has no effect: a missing count is 0, but a missing word or option is not."""
    counted = change.setting.action in MORE_AND_LESS
    if change.change is None or (not counted and None in (change.before, change.after)):
        return change.before == change.after
    return abs(change.change) <= SAME * max(1.0, abs(float(change.before or 0.0)), abs(float(change.after or 0.0)))


def _told(change: Change) -> str:
    setting, verb = change.setting, change.verb
    before, after = cell_text(change.before), cell_text(change.after)
    by = "" if change.change is None else cell_text(abs(change.change))
    unit = f" {_unit(setting.unit, by)}" if setting.unit else ""
    moved = f"({cell_text(change.before or 0.0)} to {cell_text(change.after or 0.0)})"
    match verb:
        case "rent" | "release" | "cancel" | "turn on" | "turn off":
            return f"{verb} {by} {_unit(setting.what, by)} {moved}"
        case "give":
            return f"give {setting.what} {by}{unit} more {moved}"
        case "take":
            return f"take {by}{unit} from {setting.what} {moved}"
        case "admit":
            return f"admit {by}{unit} more of {setting.what} {moved}"
        case "turn away":
            return f"turn away {by}{unit} of {setting.what} {moved}"
        case "move":
            return f"move {setting.what} from {before} to {after}"
        case "start":
            return f"start {setting.what} on {after}"
        case "stop":
            return f"stop {setting.what} on {before}"
        case "drop":
            return f"drop {setting.what}, which was {before}{unit}"
    return f"set {setting.what} to {after}{unit}" + ("" if change.before is None else f" (was {before})")


def _unit(unit: str, count: str) -> str:
    """Return the unit of one thing, where it is one: ``1 map slot``, ``1 VM``."""
    return unit.removesuffix("s") if count == "1" and unit.endswith(("VMs", "jobs", "runs", "slots", "tasks")) else unit
