"""Random DAGs for property tests."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

Tasks = dict[str, tuple[float, Sequence[str]]]


@st.composite
def dags(draw: st.DrawFn, most: int = 12) -> Tasks:
    """Up to ``most`` tasks, each after any of the earlier ones."""
    count = draw(st.integers(1, most))
    tasks: Tasks = {}
    for i in range(count):
        duration = draw(st.one_of(st.just(0.0), st.floats(0.01, 100.0)))
        names = list(tasks)
        after = draw(st.lists(st.sampled_from(names), unique=True, max_size=4)) if names else []
        tasks[f"t{i}"] = (duration, after)
    return tasks


def critical(tasks: Tasks) -> float:
    """The longest path of durations."""
    ends: dict[str, float] = {}
    for name, (duration, after) in tasks.items():
        ends[name] = duration + max((ends[other] for other in after), default=0.0)
    return max(ends.values())
