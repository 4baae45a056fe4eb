"""What a spec may ask of a simulation or a search: each limit is told at its place, and reached without it."""

from __future__ import annotations

import pytest

from mrdsl.core import budgets
from mrdsl.core.resources import resource
from mrdsl.language.loading import load_text

ASKED = {
    ("makespan", "map { tasks = 30, time = 4 s }", "map { tasks = NUMBER, time = 4 s }"): (
        1e7,
        1e8,
        "too-large",
    ),
    ("makespan", "reduce { tasks = 30, time = 5 s }", "reduce { tasks = NUMBER, time = 5 s }"): (
        1e4,
        1e15,
        "too-large",
    ),
    ("hybrid", "horizon = 2000 slots", "horizon = NUMBER slots"): (
        budgets.SIMULATED_SLOTS,
        budgets.SIMULATED_SLOTS + 1,
        "out-of-range",
    ),
    ("schedule", "every = 5 min", "every = NUMBER s"): (1.0, 0.999, "out-of-range"),
    ("schedule", "map = 1", "map = NUMBER"): (budgets.SLOTS_OF_A_VM, budgets.SLOTS_OF_A_VM + 1, "out-of-range"),
}


@pytest.mark.parametrize(("family", "old", "new"), ASKED)
def test_a_budget_is_told_at_its_place(family: str, old: str, new: str) -> None:
    sound, broken, code = ASKED[family, old, new]
    folder = resource("models") / family
    text = (folder / "reference.mrspec").read_text(encoding="utf-8")
    assert old in text

    def errors(number: float) -> list[tuple[str, int]]:
        made = text.replace(old, new.replace("NUMBER", f"{number:.12g}"), 1)
        found = load_text(made, folder=folder).diagnostics
        return [(d.code, d.span.line if d.span else 0) for d in found if d.severity == "error" and not d.impossible]

    assert errors(sound) == []
    line = text[: text.index(old)].count("\n") + 1
    assert errors(broken) == [(code, line)]


def test_jobs_of_a_class_are_waves_too() -> None:
    text = "problem makespan\ncluster { slots { map = 9, reduce = 9 } }\nminimize makespan\n"
    made = text + "class c { jobs = 1e9, map { tasks = 1, time = 1 s } }\n"
    assert [(d.code, d.span and d.span.line) for d in load_text(made).diagnostics] == [("too-large", 4)]
