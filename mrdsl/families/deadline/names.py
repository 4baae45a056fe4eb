"""The names by which a spec may mean a task, worked out without numbering the tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mrdsl.exchange.text import FormatError
from mrdsl.families.deadline.workflows import imported
from mrdsl.spec.columns import Columns, names_of, parts_of

if TYPE_CHECKING:
    from mrdsl.families.deadline.facts import Dag


def known_names(dags: Sequence[Dag]) -> Iterator[str]:
    """Every name by which ``subject to`` may mean a task: of written and read ones, of groups and of their members."""
    for dag in dags:
        prefix = f"{dag.name}." if len(dags) > 1 else ""
        for part in parts_of(dag.tasks):
            if isinstance(part, Columns):
                yield prefix + part.group
            yield from (prefix + name for name in names_of(part))
        try:
            yield from (prefix + name for name in imported(dag.source).names)
        except FormatError:
            continue
