"""What a plan of streams is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mrdsl.core.result import Plan, Table


@dataclass(frozen=True)
class StreamPlan(Plan):
    """Executors by topic; where it was run, the share of seconds in which a topic kept up."""

    executors: Mapping[str, float]
    kept_up: Mapping[str, float] = field(default_factory=dict)

    def tables(self) -> tuple[Table, ...]:
        """A row for each topic."""
        heads = ("topic", "executors", "kept up") if self.kept_up else ("topic", "executors")
        rows = [
            (topic, count, self.kept_up[topic]) if self.kept_up else (topic, count)
            for topic, count in self.executors.items()
        ]
        return (Table("Executors", heads, rows),)


def plans() -> tuple[type[Plan], ...]:
    """The classes of plans, so that saved ones can be read back."""
    return (StreamPlan,)
