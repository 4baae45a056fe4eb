"""Mistakes in makespan specs: each at its own place, with what to write instead; and odd batches that are right."""

from __future__ import annotations

import pytest

import mrdsl
from mrdsl.language.loading import load_text
from mrdsl.solving.registry import methods_of

CLUSTER = "problem makespan\ncluster { slots { map = 4, reduce = 3 } }\n"
GOAL = "\nminimize makespan\n"
METHODS = sorted({*methods_of("makespan")} - {"cp-sat"})
"""All but the one that needs an extra."""

BAD = [
    (
        "cluster-of-0",
        "problem makespan\ncluster { slots { map = 0, reduce = 3 } }\njob A { map { tasks = 1, time = 1 s } }",
        [("out-of-range", 2, 25, "at least 1")],
    ),
    ("no-jobs", CLUSTER, [("missing-block", 1, 1, "the batch is empty")]),
    ("no-map", CLUSTER + "job A { reduce { tasks = 1, time = 1 s } }", [("missing-block", 3, 1, "lacks `map")]),
    ("no-time", CLUSTER + "job A { map { tasks = 3 } }", [("missing-item", 3, 9, "the map phase of A lacks `time`")]),
    ("zero-time", CLUSTER + "job A { map { tasks = 3, time = 0 s } }", [("out-of-range", 3, 33, "above 0 s")]),
    ("zero-tasks", CLUSTER + "job A { map { tasks = 0, time = 1 s } }", [("out-of-range", 3, 23, "at least 1")]),
    (
        "both",
        CLUSTER + "job A { map { tasks = 3, time = 1 s, max = 2 s } }",
        [("time-and-profile", 3, 38, "both `time` and `max`")],
    ),
    (
        "half-a-profile",
        CLUSTER + "job A { map { tasks = 3, avg = 1 s } }",
        [("missing-item", 3, 9, "the map phase of A lacks `max`")],
    ),
    (
        "max-below-avg",
        CLUSTER + "job A { map { tasks = 3, avg = 3 s, max = 2 s } }",
        [("max-below-avg", 3, 37, "above `max`, ")],
    ),
    (
        "min-above-avg",
        CLUSTER + "job A { map { tasks = 3, avg = 3 s, max = 4 s, min = 3.5 s } }",
        [("min-above-avg", 3, 48, "above `avg`, ")],
    ),
    (
        "shuffle-beside-time",
        CLUSTER + "job A { map { tasks = 3, time = 3 s }, shuffle { first_max = 1 s, avg = 1 s, "
        "max = 1 s }, reduce { tasks = 1, time = 2 s } }",
        [("time-and-profile", 3, 40, "a shuffle")],
    ),
    (
        "idle-shuffle",
        CLUSTER + "job A { map { tasks = 3, time = 3 s }, shuffle { first_max = 1 s, avg = 1 s, max = 1 s } }",
        [("unused", 3, 40, "no reduce tasks")],
    ),
    (
        "same-name",
        CLUSTER + "job c { map { tasks = 3, time = 3 s } }\nclass c { map { tasks = 3, time = 3 s } }",
        [("duplicate", 4, 1, "makes a job c")],
    ),
    ("wrong-unit", CLUSTER + "job A { map { tasks = 3, time = 3 GB } }", [("wrong-unit", 3, 33, "")]),
    ("no-cluster", "problem makespan\njob A { map { tasks = 3, time = 3 s } }", [("missing-block", 1, 1, "cluster")]),
]


@pytest.mark.parametrize(("text", "wanted"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_each_mistake_is_told_where_it_is(text: str, wanted: list[tuple[str, int, int, str]]) -> None:
    found = load_text(text + GOAL).diagnostics
    assert [d.code for d in found] == [code for code, *_ in wanted]
    for diagnostic, (_, line, column, words) in zip(found, wanted, strict=True):
        assert diagnostic.span is not None
        assert (diagnostic.span.line, diagnostic.span.column) == (line, column)
        assert words in diagnostic.message
        assert diagnostic.hint


def test_all_mistakes_are_told_in_one_run() -> None:
    text = CLUSTER + "job A { map { tasks = 3 } }\njob B { map { tasks = 3, avg = 3 s, max = 2 s } }"
    assert [d.code for d in load_text(text + GOAL).diagnostics] == ["missing-item", "max-below-avg"]


# 7 maps of 2 s on 4 slots are 2 waves; 4 reduces of 5 s on 3 slots are 2 waves.
@pytest.mark.parametrize(
    ("job", "seconds"),
    [
        ("map { tasks = 7, time = 2 s }", 4.0),
        ("map { tasks = 7, time = 2 s }, reduce { tasks = 0 }", 4.0),
        ("map { tasks = 7, time = 2 s }, reduce { tasks = 4, time = 5 s }", 14.0),
        ("map { tasks = 1, time = 2 s }, reduce { tasks = 1, time = 5 s }", 7.0),
    ],
)
@pytest.mark.parametrize("solver", ["auto", *METHODS, "highs"])
def test_a_batch_of_one_takes_its_waves_by_every_method(job: str, seconds: float, solver: str) -> None:
    result = mrdsl.solve(mrdsl.loads(CLUSTER + f"job A {{ {job} }}" + GOAL), solver)
    assert result.objective.value == pytest.approx(seconds)
    assert result.objective.bound == pytest.approx(seconds)


def test_one_slot_of_each_kind_makes_no_pools() -> None:
    text = "problem makespan\ncluster { slots { map = 1, reduce = 1 } }\njob A { map { tasks = 2, time = 1 s } }\n"
    text += "job B { map { tasks = 1, time = 1 s }, reduce { tasks = 2, time = 2 s } }"
    for solver in ("balanced-pools", "slot-search", "auto"):
        assert mrdsl.solve(mrdsl.loads(text + GOAL), solver).objective.value == pytest.approx(5.0)
