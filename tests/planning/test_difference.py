"""From one plan to the next: pairs of plans whose differences can be worked out by hand."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

import mrdsl
from mrdsl.contracts.family import GIVE, PLACE, RENT, SET, Setting
from mrdsl.core.resources import resource
from mrdsl.families import family
from mrdsl.planning.difference import MORE_AND_LESS, Change
from tests.command_lines import run_here

MODELS = Path(str(resource("models")))

# On k slots a job takes 1000 s / k + 10 s on average: the mean of 101 * 10 s / k and of 99 * 10 s / k + 2 * 10 s.
CAPACITY = """problem capacity
vm m5 {{ on_demand {{ price = {price} USD/h }}, reserved {{ price = 1 USD/h, available = {reserved} }} }}
class sort {{ map {{ tasks = 101, avg = 10 s, max = 10 s }}, slots {{ map = 1, reduce = 1 }}
  jobs = {jobs}, deadline = 210 s, penalty = 900 USD }}
minimize cost
"""
BOUNDS = """problem bounds, estimates = paper
sizing = least_slots
class sort {{ map {{ tasks = 101, avg = 10 s, max = 10 s }}, jobs = 1, deadline = {deadline}, guarantee = average }}
minimize slots
"""
# Delays in proportion to durations share the time that is allowed: half of it for each of two tasks that run alike.
DEADLINE = """problem deadline
dag night {{ allowable_delay = {allowed}, task a {{ duration = 60 s }}, task b {{ duration = 60 s, after = [a] }} }}
maximize slack_ratio
"""
ENERGY = """problem energy
vm a {{ slots {{ map = 1, reduce = 1 }}, on_demand {{ price = 1 USD/h }}, available = 1 }}
vm b {{ slots {{ map = 1, reduce = 1 }}, on_demand {{ price = 1 USD/h }}, available = 1 }}
network {{ speed = 1 Gbit/s, io_power = 20 W }}
job sort {{
  map {{ tasks = 1, block = 64 MB }}
  reduce {{ tasks = 1 }}
  intermediate = 50%
  deadline = 1 h
  on a {{ map {{ time = 10 s, energy = {energy} J }}, reduce {{ time = 10 s, energy = {energy} J }} }}
  on b {{ map {{ time = 10 s, energy = 300 J }}, reduce {{ time = 10 s, energy = 300 J }} }}
}}
minimize energy
"""
# A VM of 8 slots runs 32 tasks of 5 s in 20 s, and boots for 2 min before.
TIMETABLE = """problem timetable
rent = {way}
vm m5 {{ on_demand {{ price = 3.6 USD/h }}, boot = 2 min }}
class clicks {{
  stage scan {{ tasks = {tasks}, avg = 5 s, max = 5 s }}
  slots {{ task = 8 }}
  runs = {runs}
  deadline = 20 s{penalty}
}}
minimize cost
"""


def timetable(way: str = "elastic", tasks: int = 32, runs: str = "[22:00, 05:00]", penalty: str = "") -> str:
    return TIMETABLE.format(way=way, tasks=tasks, runs=runs, penalty=penalty)


def capacity(price: float = 2, reserved: int = 0, jobs: int = 2) -> str:
    return CAPACITY.format(price=price, reserved=reserved, jobs=jobs)


def contracts(named: str) -> str:
    """As `capacity` with as many reserved VMs as the jobs need, and a contract with a name beside."""
    text = capacity(reserved=10)
    return text.replace("available = 10 }", f"available = 10 }}{named}")


def shipped(path: str, *changes: tuple[str, str]) -> str:
    text = (MODELS / path).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


TWO_JOBS = shipped("makespan/two-jobs.mrspec")
HYBRID = shipped("hybrid/reference.mrspec", ("horizon = 2000", "horizon = 50"))
SMALL = shipped("schedule/small.mrspec")

PAIRS = {
    "the same": (capacity(), capacity(), []),
    "more jobs": (
        capacity(jobs=2),
        capacity(jobs=3),
        [
            "admit 1 job more of class sort (2 to 3)",
            "rent 5 m5 on demand (10 to 15)",
            "give class sort 5 map slots more (10 to 15)",
        ],
    ),
    "a contract more": (
        contracts(""),
        contracts(', reserved "1 year" { price = 0.5 USD/h, available = 3 }'),
        ["release 3 m5 reserved (10 to 7)", 'rent 3 m5 reserved "1 year" (0 to 3)'],
    ),
    "a contract less": (
        contracts(', reserved "1 year" { price = 0.5 USD/h, available = 3 }'),
        contracts(""),
        ["rent 3 m5 reserved (7 to 10)", 'release 3 m5 reserved "1 year" (3 to 0)'],
    ),
    "of one contract to the other": (
        contracts(', reserved "1 year" { price = 0.5 USD/h, available = 3 }'),
        contracts(', reserved "3 years" { price = 0.4 USD/h, available = 3 }'),
        ['rent 3 m5 reserved "3 years" (0 to 3)', 'release 3 m5 reserved "1 year" (3 to 0)'],
    ),
    "fewer jobs": (
        capacity(jobs=4),
        capacity(jobs=2),
        [
            "turn away 2 jobs of class sort (4 to 2)",
            "release 10 m5 on demand (20 to 10)",
            "take 10 map slots from class sort (20 to 10)",
        ],
    ),
    "a reservation": (
        capacity(reserved=0),
        capacity(reserved=4),
        ["release 4 m5 on demand (10 to 6)", "rent 4 m5 reserved (0 to 4)"],
    ),
    "another price alone": (capacity(price=2), capacity(price=3), []),
    "another machine": (
        ENERGY.format(energy=200),
        ENERGY.format(energy=400),
        [
            "rent 1 b for sort (0 to 1)",
            "give b #1 of sort 1 map task more (0 to 1)",
            "give b #1 of sort 1 reduce task more (0 to 1)",
            "release 1 a for sort (1 to 0)",
            "take 1 map task from a #1 of sort (1 to 0)",
            "take 1 reduce task from a #1 of sort (1 to 0)",
        ],
    ),
    "a later deadline": (
        DEADLINE.format(allowed="4 min"),
        DEADLINE.format(allowed="6 min"),
        ["set the delay of a to 180 s (was 120)", "set the delay of b to 180 s (was 120)"],
    ),
    "a slot more": (
        TWO_JOBS,
        TWO_JOBS.replace("map = 1,", "map = 2,"),
        ["give pool 0 1 map slot more (1 to 2)"],
    ),
    "half the time": (
        BOUNDS.format(deadline="210 s"),
        BOUNDS.format(deadline="110 s"),
        ["give each job of class sort 5 map slots more (5 to 10)"],
    ),
    "weights of a controller": (
        HYBRID,
        HYBRID.replace("V                 = 2", "V = 3").replace("available = 13", "available = 15"),
        ["set `V` of `control` to 3 (was 2)", "turn on 2 large (13 to 15)"],
    ),
    "a policy": (
        SMALL,
        SMALL.replace("algorithm = frugal", "algorithm = ep_edf"),
        ["set `algorithm` of `policy` to ep_edf (was frugal)"],
    ),
    "other rentals with the same runs": (
        timetable(),
        timetable("constant"),
        [
            "rent 1 m5 from 21:58 to +1 05:00:20 (0 to 1)",
            "cancel 1 m5 from 21:58 to 22:00:20 (1 to 0)",
            "cancel 1 m5 from +1 04:58 to +1 05:00:20 (1 to 0)",
        ],
    ),
    "a rental of two machines": (
        timetable("constant"),
        timetable("constant", tasks=64),
        ["rent 1 m5 from 21:58 to +1 05:00:20 (1 to 2)"],
    ),
    "a later run": (
        timetable(),
        timetable(runs="[22:00, 06:00:30]"),
        [
            "rent 1 m5 from +1 05:58:30 to +1 06:00:50 (0 to 1)",
            "set the start of clicks 2 to +1 06:00:30 (was +1 05:00)",
            "cancel 1 m5 from +1 04:58 to +1 05:00:20 (1 to 0)",
        ],
    ),
    "a later run at an offset": (
        timetable(runs="[1 h, 2 h]"),
        timetable(runs="[1 h, 3 h]"),
        [
            "rent 1 m5 from 10680 s to 10820 s (0 to 1)",
            "set the start of clicks 2 to 10800 s (was 7200 s)",
            "cancel 1 m5 from 7080 s to 7220 s (1 to 0)",
        ],
    ),
    "a run later by a second after months": (
        timetable(runs="[1 h, 3456.000125 h]"),
        timetable(runs="[1 h, 3456.000375 h]"),
        [
            "rent 1 m5 from 12441481.35 s to 12441621.35 s (0 to 1)",
            "set the start of clicks 2 to 12441601.35 s (was 12441600.45 s)",
            "cancel 1 m5 from 12441480.45 s to 12441620.45 s (1 to 0)",
        ],
    ),
    "no run is admitted": (
        timetable(),
        timetable(penalty=", penalty = 0.01 USD"),
        [
            "cancel 1 m5 from 21:58 to 22:00:20 (1 to 0)",
            "cancel 1 m5 from +1 04:58 to +1 05:00:20 (1 to 0)",
            "drop the start of clicks 1, which was 22:00",
            "drop the start of clicks 2, which was +1 05:00",
            "turn away 2 runs of class clicks (2 to 0)",
        ],
    ),
}


@cache
def solved(text: str) -> mrdsl.Result:
    found = mrdsl.solve(mrdsl.loads(text, folder=MODELS / "schedule"))
    assert found.plan is not None, found.diagnostics
    return found


@pytest.mark.parametrize("case", PAIRS)
def test_what_is_to_be_done(case: str) -> None:
    last, now, expected = PAIRS[case]
    found = mrdsl.diff(solved(last), solved(now))
    assert list(found.lines()) == expected
    back = mrdsl.diff(solved(now), solved(last))
    assert len(back.changes) == len(expected)
    assert [change.size for change in found.changes] == sorted(change.size for change in found.changes)


CHANGED = {
    "joint/S1.mrspec": ("= 892 vms", "= 850 vms"),
    "capacity/table2_20.mrspec": ("available = 200", "available = 150"),
}


@pytest.mark.parametrize("path", CHANGED)
def test_the_changes_lead_from_one_plan_to_the_other(path: str) -> None:
    """Done one by one to the settings of the last plan, they give those of the present one."""
    last, now = solved(shipped(path)), solved(shipped(path, CHANGED[path]))
    assert mrdsl.diff(last, now).changes
    kind = family(now.problem)
    assert kind is not None
    assert kind.operated is not None
    before, after = (
        {
            (each.action, each.when, each.what, each.unit): each.value
            for each in kind.operated(one.spec, one.plan).settings
        }
        for one in (last, now)
    )
    for done in mrdsl.diff(last, now).changes:
        key = (done.setting.action, done.setting.when, done.setting.what, done.setting.unit)
        if done.after is None:
            del before[key]
        else:
            assert done.before == before.get(key)
            before[key] = done.after
    assert before.keys() - {key for key, value in before.items() if value == 0} <= after.keys()
    for key, value in after.items():
        assert _near(before.get(key, 0), value), key


def _near(one: float | str, other: float | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return one == pytest.approx(other, rel=1e-5, abs=1e-6)


def test_words_of_every_change() -> None:
    def told(action: str, before: float | str | None, after: float | str | None, unit: str = "", when: str = "") -> str:
        return Change(Setting(action, "it", after or "", unit, when), before, after).text

    assert told(PLACE, "pool 1", "pool 2") == "move it from pool 1 to pool 2"
    assert told(PLACE, None, "pool 2") == "start it on pool 2"
    assert told(PLACE, "pool 1", None) == "stop it on pool 1"
    assert told(SET, None, 2.0, "s") == "set it to 2 s"
    assert told(SET, 2.0, None, "s") == "drop it, which was 2 s"
    assert told(RENT, 1, 3, when="period 4") == "in period 4: rent 2 it (1 to 3)"
    assert told(GIVE, None, 2, "map slots") == "give it 2 map slots more (0 to 2)"
    assert set(MORE_AND_LESS) >= {RENT, GIVE}


def test_without_a_last_plan_everything_is_to_be_done() -> None:
    nothing = mrdsl.Result(mrdsl.Termination.INFEASIBLE, problem="capacity", spec=mrdsl.loads(capacity()))
    assert [change.setting.action for change in mrdsl.diff(nothing, solved(capacity())).changes] == [
        "admit",
        "rent",
        "give",
    ]


def test_markdown_has_the_clock_times_of_the_spec() -> None:
    found = mrdsl.diff(solved(timetable()), solved(timetable(runs="[22:00, 06:00:30]")))
    assert "| set the start of clicks 2 to +1 06:00:30 (was +1 05:00) | +1 05:00 | +1 06:00:30 |" in found.to_markdown()


def test_the_commands_exit_code_is_for_a_nightly_job(tmp_path: Path) -> None:
    (tmp_path / "now.mrspec").write_text(capacity(jobs=2))
    (tmp_path / "more.mrspec").write_text(capacity(jobs=3))
    (tmp_path / "never.mrspec").write_text(capacity().replace("210 s", "4 s"))
    (tmp_path / "wrong.mrspec").write_text("problem capacity")
    assert run_here(("solve", "now.mrspec", "-o", "last.json"), tmp_path).exit_code == 0
    same = run_here(("diff", "last.json", "now.mrspec"), tmp_path)
    assert (same.exit_code, "nothing to do" in same.output) == (0, True)
    more = run_here(("diff", "last.json", "more.mrspec", "-o", "todo.json"), tmp_path)
    assert more.exit_code == 5
    assert "rent 5 m5 on demand (10 to 15)\n" in more.output
    document = json.loads((tmp_path / "todo.json").read_text())
    assert [one["text"] for one in document["changes"]] == PAIRS["more jobs"][2]
    objective = {"quantity": "cost", "unit": "USD", "before": 20.0, "after": 30.0, "period": 3600.0}
    assert document["objective"] == objective
    assert document["changes"][1] | {"text": ""} == {
        "action": "rent",
        "what": "m5 on demand",
        "unit": "",
        "when": "",
        "before": 10,
        "after": 15,
        "change": 5,
        "text": "",
    }
    assert run_here(("diff", "last.json", "never.mrspec"), tmp_path).exit_code == 1
    assert run_here(("diff", "last.json", "wrong.mrspec"), tmp_path).exit_code == 2


def test_plans_of_two_kinds_have_no_difference() -> None:
    with pytest.raises(mrdsl.MrdslError, match="different-problems"):
        mrdsl.diff(solved(capacity()), solved(TWO_JOBS))
