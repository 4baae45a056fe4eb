"""`distribution = samples("file")`: an item written as a call in the value of another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.api import fmt

STAGED = """problem capacity
vm m5 {{ on_demand {{ price = 0.192 USD/h }} }}
class a {{
  stage one {{ tasks = 4, avg = 10 s, max = 12 s, {one} }}
  stage two {{ tasks = 1, avg = 30 s, max = 40 s, after = [one] {two} }}
  slots {{ task = 4 }}
  jobs = 1..1, deadline = 30 min, penalty = 1 USD
  {items}
}}
minimize cost
simulation {{ warm_up = 0% }}
"""


def mean(folder: Path, one: str = "", two: str = "", items: str = "") -> float:
    spec = mrdsl.loads(STAGED.format(one=one, two=two, items=items), folder=folder)
    return float(mrdsl.simulate(spec, runs=2, jobs=20).plan.observed["a"].mean)


def told(folder: Path, one: str = "", items: str = "") -> list[tuple[str, str]]:
    with pytest.raises(mrdsl.MrdslError) as refused:
        mrdsl.loads(STAGED.format(one=one, two="", items=items), folder=folder)
    return [(each.code, each.message) for each in refused.value.diagnostics if each.severity == "error"]


def near(time: float) -> Any:
    """Recorded times have one random factor for each job, by default of 5 %: 0.8 % in the mean of 40 jobs."""
    return pytest.approx(time, rel=0.025)


def test_a_stage_and_a_class_name_a_file_of_times(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("7\n")
    (tmp_path / "two.txt").write_text("100\n")
    one, two = 'distribution = samples("one.txt")', 'distribution = samples("two.txt")'
    called = mean(tmp_path, one, f", {two}")  # one slot: four tasks and one
    assert called == near(128.0)
    assert mean(tmp_path, 'samples = "one.txt"', ', samples = "two.txt"') == called
    assert mean(tmp_path, one, ", distribution = fixed") == near(58.0)
    assert mean(tmp_path, "", f", {two}", one) == called
    assert mean(tmp_path, "", "", one) == near(35.0)
    assert mean(tmp_path, "distribution = fixed", "", "distribution = exponential") != 70.0


def test_both_ways_say_the_same_and_the_formatter_keeps_either(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("7\n")
    called, plain = (
        mrdsl.loads(STAGED.format(one=way, two="", items=""), folder=tmp_path)
        for way in ('distribution = samples("one.txt")', 'samples = "one.txt"')
    )
    assert called.facts == plain.facts
    text = fmt(STAGED.format(one='distribution = samples("one.txt")', two="", items=""))
    assert 'distribution = samples("one.txt")' in text


def test_what_is_wrong_with_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("7\n")
    (tmp_path / "words.txt").write_text("soon\n")
    assert told(tmp_path, 'distribution = samples("none.txt")')[0][0] == "missing-file"
    assert told(tmp_path, 'distribution = samples("../one.txt")')[0][0] == "file-outside"
    assert told(tmp_path, 'distribution = samples("words.txt")')[0][0] == "wrong-recording"
    assert told(tmp_path, 'distribution = samples("one.txt", "one.txt")') == [
        ("wrong-value", "`samples(...)` takes one file")
    ]
    assert told(tmp_path, "distribution = samples(7)")[0][0] == "wrong-value"
    assert told(tmp_path, 'distribution = samples("one.txt"), distribution = fixed')[0][0] == "duplicate"
    assert told(tmp_path, 'distribution = samples("one.txt"), samples = "one.txt"')[0][0] == "duplicate"
    assert told(tmp_path, 'distribution = simples("one.txt")')[0][0] in ("wrong-value", "unknown-choice")


def test_one_file_is_not_for_tasks_of_two_kinds(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("7\n")
    text = """problem bounds
    cluster { slots { map = 4, reduce = 2 } }
    class a { map { tasks = 4, avg = 10 s, max = 10 s } MORE
      distribution = samples("one.txt") }
    estimate completion
    """
    spec = mrdsl.loads(text.replace("MORE", ""), folder=tmp_path)
    assert mrdsl.simulate(spec, runs=1, jobs=2).plan.observed["a"].mean == 7.0
    reduces = "shuffle { first_max = 3 s, avg = 5 s, max = 5 s } reduce { tasks = 2, avg = 6 s, max = 6 s }"
    for more, what in (
        (reduces, "has map and reduce tasks"),
        ('recorded { map = "one.txt" }', "has `recorded` beside it"),
    ):
        with pytest.raises(mrdsl.MrdslError, match=what):
            mrdsl.loads(text.replace("MORE", more), folder=tmp_path)
