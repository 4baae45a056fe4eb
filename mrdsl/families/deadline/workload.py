"""From a spec's DAGs to numbered tasks: alike ones counted, groups named as a whole, every reference resolved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import repeat

from mrdsl.core.diagnostics import Diagnostic, Related, Span, error
from mrdsl.core.lazy import kept
from mrdsl.exchange.text import FormatError
from mrdsl.families.deadline.facts import Dag, DeadlineFacts, Task, imported
from mrdsl.spec.columns import Columns, column, parts_of
from mrdsl.spec.spec import Spec, requested_quantities


@dataclass
class Tasks:
    """Tasks of a spec, or of one DAG, by number; a counted group of alike tasks is one of them.

    ``weight`` is that of a single task. ``after`` holds numbers of tasks, and ``~g`` for the group ``groups[g]``, a
    tuple of the numbers of tasks that differ from each other. ``dag`` numbers the DAG of each task. ``members`` has the
    number of each name that the spec may mention, ``delays`` the allowable delay of each DAG.

    Every member of a group has a place in its DAG, counted from 0 in the order of the spec. ``places`` has that of each
    task, of a group its first member's. ``apart`` has, of a group, those of its members that are separate tasks.
    """

    names: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    durations: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    after: list[tuple[int, ...]] = field(default_factory=list)
    groups: list[tuple[int, ...]] = field(default_factory=list)
    dag: list[int] = field(default_factory=list)
    spans: list[Span | None] = field(default_factory=list)
    members: dict[str, int] = field(default_factory=dict)
    delays: list[float] = field(default_factory=list)
    dag_names: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    apart: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)


def read_tasks(spec: Spec) -> tuple[Tasks, list[Diagnostic]]:
    """Return all tasks of a spec and their errors; task names include the DAG's name if there are several DAGs.

    They are read once. The frozen spec caches them, and they are read-only.
    """
    return kept(spec, "_deadline_tasks", lambda: _read(spec))


def _read(spec: Spec) -> tuple[Tasks, list[Diagnostic]]:
    facts: DeadlineFacts = spec.facts
    tasks, problems = Tasks(), []
    singled = {quantity.argument for quantity in requested_quantities(spec)}
    for number, dag in enumerate(facts.dags):
        tasks.delays.append(dag.allowable_delay)
        tasks.dag_names.append(dag.name)
        prefix = f"{dag.name}." if len(facts.dags) > 1 else ""
        problems += _Builder(tasks, dag, number, prefix, singled).build()
    return tasks, problems


def tasks_of(spec: Spec) -> Tasks:
    """Return the tasks of a spec that has been checked."""
    return read_tasks(spec)[0]


class _Builder:
    """Adds one DAG's tasks to ``tasks``."""

    def __init__(self, tasks: Tasks, dag: Dag, number: int, prefix: str, singled: set[str]) -> None:
        self.tasks, self.dag, self.number, self.prefix = tasks, dag, number, prefix
        self.problems: list[Diagnostic] = []
        self.first = len(tasks)
        self.placed = 0
        self.numbers: dict[str, int] = {}
        self.groups: dict[str, int] = {}
        self.written: list[tuple[int, Sequence[str], str, Span | None]] = []
        self.parts = parts_of(dag.tasks)
        self.singled = {name[len(prefix) :] for name in singled if name.startswith(prefix)}
        for part in self.parts:
            for after in dict.fromkeys(map(tuple, _references(part))):
                self.singled.update(after)

    def build(self) -> list[Diagnostic]:
        self._import()
        for part in self.parts:
            if isinstance(part, Columns):
                self._add_group(part)
            else:
                for task in part:
                    if self._add(task.name, 1, task.duration, task.weight, task.span, self.placed):
                        self.written.append((len(self.tasks) - 1, task.after, task.name, task.span_of("after")))
                    self.placed += 1
        if len(self.tasks) == self.first and not self.problems:
            self.problems.append(
                error(
                    "missing-block",
                    f"dag {self.dag.name} has no task",
                    self.dag.span,
                    "add task NAME { duration = 60 s }",
                )
            )
        for number, names, of, span in self.written:
            self.tasks.after[number] = self._resolve(names, of, span)
        self.tasks.members.update({self.prefix + name: number for name, number in self.numbers.items()})
        return self.problems

    def _import(self) -> None:
        source = self.dag.source
        try:
            workflow = imported(self.dag.source)
        except FormatError as problem:
            assert source is not None
            self.problems.append(
                error("broken-workflow", f"{source.written} is not a workflow: {problem}", source.span, problem.hint)
            )
            return
        for name, duration in zip(workflow.names, workflow.durations, strict=True):
            self._add(name, 1, duration, 1.0, source.span if source else None, self.placed)
            self.placed += 1
        for number, parents in enumerate(workflow.parents):
            self.tasks.after[self.first + number] = tuple(self.first + parent for parent in parents)

    def _add(self, name: str, count: int, duration: float, weight: float, span: Span | None, place: int) -> bool:
        tasks = self.tasks
        if name in self.numbers:
            self.problems.append(
                error(
                    "duplicate",
                    f"`task {name}` is defined twice",
                    span,
                    "give each its own name",
                    Related("first defined here", tasks.spans[self.numbers[name]]),
                )
            )
            return False
        self.numbers[name] = len(tasks)
        tasks.names.append(self.prefix + name)
        tasks.counts.append(count)
        tasks.durations.append(duration)
        tasks.weights.append(weight)
        tasks.after.append(())
        tasks.dag.append(self.number)
        tasks.spans.append(span)
        tasks.places.append(place)
        return True

    def _add_group(self, part: Columns[Task]) -> None:
        """Add a generated group: one counted task if its members are alike, except those that something names."""
        durations, weights = column(part, "duration"), column(part, "weight")
        first, place = len(self.tasks), self.placed
        self.placed += len(part)
        named = [i for i, name in enumerate(part.names) if name in self.singled] if self.singled else []
        alike = bool(part.group) and bool((durations == durations[:1]).all() and (weights == weights[:1]).all())
        rows = [
            i
            for i in (named if alike else range(len(part)))
            if self._add(part.names[i], 1, float(durations[i]), float(weights[i]), part.span_at(i), place + i)
        ]
        left = len(part) - len(named)
        if (
            alike
            and left
            and self._add(part.group, left, float(durations[0]), float(weights[0]), part.span_at(0), place)
        ):
            rows.append(0)
            if named:
                self.tasks.apart[len(self.tasks) - 1] = tuple(place + i for i in named)
            for name in part.names:
                self.numbers.setdefault(name, len(self.tasks) - 1)
        numbers = tuple(range(first, len(self.tasks)))
        if part.group and len(numbers) > 1:
            self.groups[part.group] = len(self.tasks.groups)
            self.tasks.groups.append(numbers)
        after = list(_references(part))
        self.written += [
            (number, after[row], part.group or part.names[row], part.span_at(row))
            for number, row in zip(numbers, rows, strict=True)
        ]

    def _resolve(self, names: Sequence[str], of: str, span: Span | None) -> tuple[int, ...]:
        numbers: dict[int, None] = {}
        for name in names:
            if name in self.groups:
                numbers[~self.groups[name]] = None
            elif name in self.numbers:
                numbers[self.numbers[name]] = None
            else:
                self._unknown(name, of, span)
        return tuple(numbers)

    def _unknown(self, name: str, of: str, span: Span | None) -> None:
        known = [*self.groups, *self.numbers]
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "tasks here: " + ", ".join(known[:8])
        mistake = error(
            "unknown-name", f"task {of} runs after {name}, but dag {self.dag.name} has no such task", span, hint
        )
        if mistake not in self.problems:
            self.problems.append(mistake)


def _references(part: Sequence[Task]) -> Iterator[Sequence[str]]:
    """Yield the predecessors of each task of a part."""
    if not isinstance(part, Columns):
        yield from (task.after for task in part)
        return
    after = part.values.get("after", ())
    yield from (after.tolist() if hasattr(after, "dtype") else repeat(tuple(after), len(part)))
