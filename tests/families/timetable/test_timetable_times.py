"""Clock times: read, printed, formatted, and what they mean for releases and due times; and what is refused."""

from __future__ import annotations

import pytest

import mrdsl
from mrdsl.core.clock import parse_clock
from mrdsl.families.timetable.releases import calendar_of, due_of, horizon_of, releases_of
from mrdsl.language.formatting import format_text
from mrdsl.language.loading import load_text

SPEC = """problem timetable "t"
vm m {{ on_demand {{ price = 1 USD/h }} }}
class a {{
  map {{ tasks = 1, avg = 1 min, max = 1 min }}
  slots {{ map = 1 }}
  {runs}
  {due}
}}
{more}
minimize cost
"""


def spec_of(runs: str, due: str = "deadline = 2 h", more: str = "") -> mrdsl.Spec:
    return mrdsl.loads(SPEC.format(runs=runs, due=due, more=more))


def codes(runs: str, due: str = "deadline = 2 h", more: str = "") -> list[str]:
    return [each.code for each in load_text(SPEC.format(runs=runs, due=due, more=more)).diagnostics]


H = 3600.0


@pytest.mark.parametrize(
    ("runs", "releases"),
    [
        ("runs { at = [22:00, 23:30, 00:15, 22:00] }", [22 * H, 23.5 * H, 24.25 * H, 46 * H]),
        ("runs = [22:00, 22:00]", [22 * H, 46 * H]),
        ("runs { from = 23:00:30, every = 45 min, times = 3 }", [23 * H + 30, 23.75 * H + 30, 24.5 * H + 30]),
        ("runs { at = [2026-11-23T22:00, 06:00, 2026-11-25T01:00] }", [22 * H, 30 * H, 49 * H]),
        ("runs { at = [0 s, 90 min] }", [0.0, 1.5 * H]),
        ("runs { from = 1 h }", [H]),
    ],
)
def test_releases_are_seconds_after_midnight_or_the_offset(runs: str, releases: list[float]) -> None:
    facts = spec_of(runs).facts
    assert list(releases_of(facts.classes[0], calendar_of(facts))) == releases


@pytest.mark.parametrize(
    ("due", "seconds"),
    [("due = 06:00", 30 * H), ("due = 22:00", 46 * H), ("due = 22:05", 22 * H + 300), ("deadline = 1 h", 23 * H)],
)
def test_due_is_the_first_such_time_after_the_release(due: str, seconds: float) -> None:
    facts = spec_of("runs = [22:00]", due).facts
    assert due_of(facts.classes[0], 0, 22 * H, calendar_of(facts)) == seconds


def test_the_horizon_is_the_first_such_time_after_the_last_release() -> None:
    facts = spec_of("runs = [22:00, 03:00]", more="horizon = 02:00").facts
    assert horizon_of(facts, calendar_of(facts), 27 * H) == 50 * H


def test_printed_and_formatted_specs_mean_the_same() -> None:
    spec = spec_of("runs { at = [22:00, 2026-11-24T05:00:30] }".replace("22:00,", "2026-11-23T22:00,"), "due = 06:00")
    assert mrdsl.loads(mrdsl.dumps(spec)).facts == spec.facts
    text = mrdsl.dumps(spec)
    made, problems = format_text(text, "x")
    assert not problems
    assert made is not None
    assert mrdsl.loads(made).facts == spec.facts


@pytest.mark.parametrize("text", ["24:00", "12:60", "12:00:61", "2026-02-30T10:00", "noon", "1200"])
def test_what_is_no_clock_time_is_not_read_as_one(text: str) -> None:
    assert parse_clock(text) is None


@pytest.mark.parametrize(
    ("runs", "due", "more", "code"),
    [
        ("runs = [25:00]", "deadline = 2 h", "", "wrong-value"),
        ("runs = [22:00, 1 h]", "deadline = 2 h", "", "mixed-times"),
        ("runs = [22:00]", "due = 8 h", "", "mixed-times"),
        ("runs { from = 22:00, every = 0 s, times = 3 }", "deadline = 2 h", "", "out-of-range"),
        ("runs { from = 22:00, every = 1 s }", "deadline = 2 h", "", "missing-item"),
        ("runs { from = 22:00, at = [23:00] }", "deadline = 2 h", "", "duplicate"),
        ("runs { every = 1 min, times = 2 }", "deadline = 2 h", "", "missing-item"),
        ("runs = [22:00]", "", "", "missing-item"),
        ("runs = [22:00]", "deadline = 2 h, due = 06:00", "", "missing-item"),
        ("runs = [2 h]", "due = 1 h", "", "out-of-range"),
        ("runs = [2 h, 1 h]", "deadline = 2 h", "", "out-of-range"),
        ("runs = [2 h]", "deadline = 2 h", "horizon = 3 h", "out-of-range"),
        ("runs = [2 h]", "deadline = 30 s", "", "impossible-deadline"),
        ("runs { from = 22:00, every = 1 s, times = 300_000 }", "deadline = 2 h", "", "out-of-range"),
        (
            "runs = [2026-11-23T22:00]",
            "deadline = 2 h",
            "class b { map { tasks = 1, avg = 1 s, max = 1 s }, slots { map = 1 }, runs = [22:00], deadline = 1 h }",
            "mixed-times",
        ),
        ("runs = [22:00]", "deadline = 22:00", "", "wrong-value"),
    ],
)
def test_times_that_cannot_be_meant_are_refused(runs: str, due: str, more: str, code: str) -> None:
    assert code in codes(runs, due, more)


def test_facts_from_python_take_clock_times_as_texts() -> None:
    from dataclasses import replace

    facts = spec_of("runs = [22:00]").facts
    node = facts.classes[0]
    wrong = replace(facts, classes=(replace(node, runs=replace(node.runs, at=("25:00",))),))
    right = replace(facts, classes=(replace(node, runs=replace(node.runs, at=("21:00",))),))
    assert [each.code for each in mrdsl.check(replace(spec_of("runs = [22:00]"), facts=wrong))] == ["wrong-value"]
    assert mrdsl.check(replace(spec_of("runs = [22:00]"), facts=right)) == ()
