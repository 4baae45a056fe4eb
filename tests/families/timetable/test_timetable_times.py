"""Clock times: read, printed, formatted, and what they mean for releases and due times; and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from random import Random

import pytest

import mrdsl
from mrdsl.core.units import clock_text, parse_clock
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.releases import calendar_of, due_of, horizon_of, releases_of
from mrdsl.families.timetable.verify import _stated_runs
from mrdsl.language.formatting import format_text
from mrdsl.language.loading import load_text
from tests.shared_data import shared

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


NIGHT = """problem timetable "night"
{begin}
vm m {{ on_demand {{ price = 1 USD/h }}, boot = 2 min }}
{classes}
minimize cost
"""


def night_of(runs: Sequence[str], begin: str = "", due: str = "deadline = 1 h") -> str:
    classes = (
        f"class c{number} {{ map {{ tasks = 1, avg = 1 min, max = 1 min }}\n"
        f"  slots {{ map = 1 }}, runs {{ {each} }}, {due} }}"
        for number, each in enumerate(runs)
    )
    return NIGHT.format(begin=begin, classes="\n".join(classes))


def firsts(text: str) -> list[float]:
    """First release of each class in the plan [h], which verification has accepted."""
    result = mrdsl.solve(mrdsl.loads(text)).of(TimetablePlan)
    assert result.plan is not None
    return [run.release / H for run in result.plan.runs if run.run == 1]


def origin_by_trial(lists: Sequence[tuple[int, int]]) -> float:
    """Try each first release as the origin; lists are first release and length, in minutes."""
    best, origin = inf, 0
    for begin in sorted({0, *(first for first, _ in lists)}):
        there = [(first + (1440 if first < begin else 0), length) for first, length in lists]
        span = max(first + length for first, length in there) - min(first for first, _ in there)
        if span < best:
            best, origin = span, begin
    return float(origin)


@pytest.mark.parametrize(
    ("runs", "begin", "expected"),
    [
        (["at = [23:00]", "at = [01:00]"], "", [23, 25]),
        (["at = [01:00]", "at = [23:00]"], "", [25, 23]),
        (["at = [23:00]", "at = [01:00]"], "begin = 00:00", [23, 1]),
        (["at = [23:00]", "at = [01:00]"], "begin = 23:00", [23, 25]),
        (["at = [23:00]", "at = [01:00]"], "begin = 23:30", [47, 25]),
        (["at = [23:00]", "at = [22:00]", "at = [02:00]"], "", [23, 22, 26]),
        (["at = [00:00]", "at = [12:00]"], "", [0, 12]),  # equal: midnight stays
        (["at = [06:00]", "at = [18:00]"], "", [6, 18]),
        (["at = [06:00]", "at = [18:01]"], "", [30, 18 + 1 / 60]),
        (["from = 22:00, every = 1 h, times = 6", "at = [04:00]"], "", [22, 28]),  # a list is never split
        (["from = 01:00, every = 1 h, times = 23", "at = [00:30]"], "", [1, 0.5]),
        (["at = [22:00, 23:30, 01:00]", "at = [00:15]"], "", [22, 24.25]),
        (["at = [2026-11-23T23:00]", "at = [2026-11-23T01:00]"], "", [23, 1]),
        (["at = [23 h]", "at = [1 h]"], "", [23, 1]),
        (["at = [23:00]"], "", [23]),
        (["at = [23:00]", "at = [23:00]"], "", [23, 23]),
    ],
)
def test_clock_times_count_from_the_release_with_the_shortest_night(
    runs: list[str], begin: str, expected: list[float]
) -> None:
    text = night_of(runs, begin)
    assert firsts(text) == pytest.approx(expected)
    notes = [each for each in load_text(text).diagnostics if each.code == "moved-origin"]
    moved = not begin and any(hours >= 24 for hours in expected)
    assert len(notes) == moved
    if moved:
        stated = (notes[0].hint or "").partition("write ")[2].partition(" to state")[0]
        assert firsts(night_of(runs, stated)) == pytest.approx(expected)
        assert not load_text(night_of(runs, stated)).diagnostics


@pytest.mark.parametrize("seed", range(40))
def test_the_origin_is_that_of_a_trial_of_all_releases(seed: int) -> None:
    draw = Random(seed)
    lists = [(draw.randrange(0, 1440, 30), draw.choice([0, 0, 60, 300, 1500])) for _ in range(draw.randint(1, 5))]
    runs = [f"from = {a // 60:02d}:{a % 60:02d}, every = {b or 1} min, times = {2 if b else 1}" for a, b in lists]
    facts = mrdsl.loads(night_of(runs)).facts
    assert calendar_of(facts).begin == 60.0 * origin_by_trial(lists)
    stated = [run.release for run in _stated_runs(facts)]
    assert stated == [time for node in facts.classes for time in releases_of(node, calendar_of(facts))]


def test_a_boot_before_midnight_and_days_later_are_shown() -> None:
    text = night_of(["at = [00:00]", "at = [00:30]"], "", "due = 06:00")
    shown = str(mrdsl.solve(mrdsl.loads(text)))
    assert "23:58 (-1 d)" in shown
    assert [clock_text(each) for each in (-1, -86400, -86401, 0, 86400 * 2 + 60)] == [
        "23:59:59 (-1 d)",
        "00:00 (-1 d)",
        "23:59:59 (-2 d)",
        "00:00",
        "+2 00:01",
    ]


def test_a_night_across_midnight_costs_as_much_as_with_dates() -> None:
    text = shared("cases/across_midnight.mrspec").read_text()
    dated = text.replace("23:00", "2026-11-23T23:00").replace("01:00", "2026-11-24T01:00")
    assert [mrdsl.solve(mrdsl.loads(each)).value for each in (text, dated)] == pytest.approx([0.4064, 0.4064])


@pytest.mark.parametrize(
    ("begin", "runs", "code"),
    [
        ("begin = 1 h", "at = [23:00]", "mixed-times"),
        ("begin = 22:00", "at = [1 h]", "mixed-times"),
        ("begin = 1 h", "at = [2 h]", "wrong-value"),
        ("begin = 2026-11-23T22:00", "at = [2026-11-23T23:00]", "wrong-value"),
        ("begin = 22:00", "at = [2026-11-23T23:00]", "unused"),
    ],
)
def test_an_origin_that_cannot_be_meant_is_refused(begin: str, runs: str, code: str) -> None:
    assert [each.code for each in load_text(night_of([runs], begin)).diagnostics] == [code]
