"""Runs out of files: the same plans as with `runs`, jobs of their own, and files that do not fit the spec."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl
from mrdsl.families.timetable import verify_arrivals
from mrdsl.families.timetable.arrivals import filled
from mrdsl.families.timetable.plan import TimetablePlan

CLASSES = """problem timetable "Night"
vm m5 { on_demand { price = 0.192 USD/h }, boot = 2 min }
class clicks {
  stage scan { tasks = 32, avg = 5 s, max = 8 s }
  slots { task = 8 }
  CLICKS
}
class report {
  stage scan { tasks = 10, avg = 5 s, max = 8 s }
  slots { task = 8 }
  REPORT
}
minimize cost
"""
ROWS = """class,submit [min],deadline [s]
clicks,0,
report,1,600
clicks,2,500
clicks,4,
"""


def spec(folder: Path, text: str, rows: str = ROWS, name: str = "jobs.csv") -> mrdsl.Spec:
    (folder / name).write_text(rows)
    (folder / "night.mrspec").write_text(text)
    return mrdsl.load(folder / "night.mrspec")


def with_file(clicks: str = "deadline = 280 s", report: str = "", arrivals: str = 'from jobs("jobs.csv")') -> str:
    text = CLASSES.replace("CLICKS", clicks).replace("REPORT", report)
    return text.replace("class clicks", f"arrivals {arrivals}\nclass clicks", 1)


def test_rows_are_the_runs_of_their_classes(tmp_path: Path) -> None:
    result = mrdsl.solve(spec(tmp_path, with_file())).of(TimetablePlan)
    assert result.solution == "optimal"
    assert result.plan is not None
    assert [(run.job, run.run, run.release, run.deadline) for run in result.plan.runs] == [
        ("clicks", 1, 0.0, 280.0),
        ("clicks", 2, 120.0, 620.0),
        ("clicks", 3, 240.0, 520.0),
        ("report", 1, 60.0, 660.0),
    ]
    again = mrdsl.Result.from_json(result.to_json())
    assert again.plan is not None
    assert again.plan.document() == result.plan.document()  # type: ignore[union-attr]


def test_a_file_and_runs_give_the_same_plan(tmp_path: Path) -> None:
    rows = "class,submit [s]\nclicks,0\nreport,60\nclicks,120\n"
    of_file = mrdsl.solve(spec(tmp_path, with_file(report="deadline = 60 s"), rows)).of(TimetablePlan)
    written = CLASSES.replace("CLICKS", "deadline = 280 s, runs { at = [0 s, 2 min] }")
    in_spec = mrdsl.solve(mrdsl.loads(written.replace("REPORT", "deadline = 60 s, runs { at = [1 min] }")))
    assert of_file.plan is not None
    assert in_spec.plan is not None
    assert of_file.plan.document() == in_spec.plan.document()  # type: ignore[union-attr]
    assert of_file.value == in_spec.value


def test_time_counts_from_the_beginning_of_the_part_that_is_planned(tmp_path: Path) -> None:
    part = 'from jobs("jobs.csv") { begin = 1 min, end = 4 min }'
    plan = mrdsl.solve(spec(tmp_path, with_file(arrivals=part))).of(TimetablePlan).plan
    assert plan is not None
    assert [(run.job, run.release) for run in plan.runs] == [("clicks", 60.0), ("report", 0.0)]


SWIM = "j0\t0\t0\t300000000\t0\t0\nj1\t60\t60\t0\t600000000\t10\nj2\t90\t30\t100\t0\t5\n"
JOBS = """problem timetable "Jobs"
vm m5 {{ on_demand {{ price = 0.192 USD/h }} }}
arrivals from {} {{
  slots {{ map = 4, reduce = 4 }}
  {}
}}
minimize cost
"""
SPEEDS = (
    "block = 128 MB, map_speed = 20 MB/s, reduce_input = 512 MB, shuffle_speed = 10 MB/s, reduce_speed = 20 MB/s, "
    "task_overhead = 1 s, deadline_factor = 3"
)


def test_jobs_of_a_trace_have_the_tasks_that_their_bytes_give(tmp_path: Path) -> None:
    """j0: 3 maps of 100 MB, 5 s and 1 s more. j1: one map of 1 s and one more; 2 reduces that fetch 300 MB in 30 s and
    reduce it in 15 s and one more. j2: 100 bytes.
    """
    text = JOBS.format('swim("jobs.tsv")', SPEEDS)
    loaded = spec(tmp_path, text, SWIM, "jobs.tsv")
    nodes = filled(loaded.facts).classes
    assert [(node.map.tasks, node.map.avg) for node in nodes if node.map] == [(3, 6.0), (1, 2.0), (1, 1.000005)]
    assert [node.reduce and (node.reduce.tasks, node.shuffle.avg, node.reduce.avg) for node in nodes] == [  # type: ignore[union-attr]
        None,
        (2, 30.0, 16.0),
        None,
    ]
    assert [node.deadline for node in nodes] == pytest.approx([18.0, 144.0, 3.000015])
    result = mrdsl.solve(loaded).of(TimetablePlan)
    assert result.plan is not None
    times = [run.end - run.release for run in result.plan.runs if run.end is not None]
    assert times == pytest.approx([6.0, 48.0, 1.000005])
    assert verify_arrivals.with_runs(loaded.facts) == filled(loaded.facts)


def test_jobs_of_a_table_have_their_own_deadlines(tmp_path: Path) -> None:
    rows = "name,submit [s],map.tasks,map.avg [s],reduce.tasks,shuffle.avg [s],reduce.avg [s],deadline [s]\n"
    rows += "a,0,8,10,2,3,4,40\nb,5,4,10,,,,\n"
    loaded = spec(tmp_path, JOBS.format('table("jobs.csv")', "deadline = 1 min"), rows)
    plan = mrdsl.solve(loaded).of(TimetablePlan).plan
    assert plan is not None
    assert [(run.job, run.release, run.deadline) for run in plan.runs] == [("a", 0.0, 40.0), ("b", 5.0, 65.0)]
    assert verify_arrivals.with_runs(loaded.facts) == filled(loaded.facts)


@pytest.mark.parametrize(
    ("text", "rows", "code"),
    [
        (with_file(), ROWS + "other,5,9\n", "unknown-name"),
        (with_file(), ROWS + "clicks,1,\n", "broken-table"),
        (with_file(), ROWS + "clicks,x,\n", "broken-table"),
        (with_file(), ROWS + ",9,\n", "broken-table"),
        (with_file(), ROWS + "clicks,9,0\n", "broken-table"),
        (with_file(), "class,submit\nclicks,1\n", "broken-table"),
        (with_file(), "class,submit [s]\n", "empty-trace"),
        (with_file(), "", "empty-trace"),
        (with_file(), ROWS + "report,9,\n", "missing-item"),
        (with_file(clicks="deadline = 280 s, runs { at = [0 s] }"), ROWS, "duplicate"),
        (with_file(clicks="due = 06:00"), ROWS, "mixed-times"),
        (with_file(arrivals='from jobs("jobs.csv") { block = 1 MB }'), ROWS, "unknown-item"),
        (with_file(arrivals='from jobs("jobs.csv") { deadline = 1 h }'), ROWS, "unknown-item"),
        (with_file(arrivals='from jobs("jobs.csv") { begin = 2 h, end = 1 h }'), ROWS, "empty-range"),
        (with_file(arrivals='from jobs("jobs.csv") { begin = 2 h }'), ROWS, "empty-trace"),
        (with_file(clicks="deadline = 20 s"), "class,submit [s],deadline [s]\nclicks,0,\nreport,1,5\n", None),
        (with_file(clicks="deadline = 9 s"), "class,submit [s],deadline [s]\nclicks,0,\nreport,1,5\n", None),
        (with_file(clicks="deadline = 4 s"), ROWS, "impossible-deadline"),
        (CLASSES.replace("CLICKS", "deadline = 9 s").replace("REPORT", "deadline = 9 s"), ROWS, "missing-block"),
        (JOBS.format('table("jobs.csv")', ""), "submit [s],map.tasks,map.avg [s]\n1,2,3\n", "missing-item"),
        (JOBS.format('swim("jobs.csv")', "deadline_factor = 2"), SWIM, "missing-item"),
        (JOBS.format('swim("jobs.csv")', SPEEDS).replace("slots", "# slots"), SWIM, "missing-block"),
        ('problem timetable "x"\nvm m { on_demand { price = 1 USD/h } }\nminimize cost\n', ROWS, "missing-block"),
    ],
)
def test_files_that_do_not_fit_are_errors(tmp_path: Path, text: str, rows: str, code: str | None) -> None:
    try:
        told = mrdsl.check(spec(tmp_path, text, rows))
    except mrdsl.MrdslError as refused:
        told = list(refused.diagnostics)
    found = [each.code for each in told if each.severity == "error"]
    assert set(found) == ({code} if code is not None else set())


def test_a_class_without_a_row_is_left_out_with_a_warning(tmp_path: Path) -> None:
    loaded = spec(tmp_path, with_file(), "class,submit [s]\nclicks,0\n")
    assert [each.code for each in mrdsl.check(loaded)] == ["unused"]
    plan = mrdsl.solve(loaded).of(TimetablePlan).plan
    assert plan is not None
    assert [run.job for run in plan.runs] == ["clicks"]


@pytest.mark.parametrize("word", ["arrivals = 3/h", 'submissions = "times.txt"', "arrivals { }"])
def test_words_of_random_arrivals_in_a_class_lead_to_runs(word: str) -> None:
    text = CLASSES.replace("CLICKS", f"deadline = 9 s, runs {{ at = [0 s] }}\n  {word}").replace("REPORT", "")
    with pytest.raises(mrdsl.MrdslError) as caught:
        mrdsl.loads(text)
    assert "write runs {" in caught.value.diagnostics[0].hint
