"""Every row of a model is a constraint that `why` measures: one that decides a cost alone, with its effect by hand."""

from __future__ import annotations

import pytest

import mrdsl
from mrdsl.explaining.sensitivity import effects, steps, table
from tests.shared_data import shared

CAPACITY = """problem capacity
{more}
vm m {{ on_demand {{ price = 1 USD/h }}{vm} }}
class a {{
  coefficients {{ A = 600 s, B = 0 s, C = 0 s }}, slots {{ map = 1 }}, jobs = 1, deadline = 60 s, penalty = 99 USD{item}
}}
minimize cost
"""
TEN = CAPACITY.replace("A = 600 s", "A = 60 s").replace("jobs = 1", "jobs = 10")
SPOT = ", spot { price = 0.5 USD/h, interruptions = 0/h }"
B = """class b {
  coefficients { A = 300 s, B = 0 s, C = 0 s }, slots { map = 1 }, jobs = 1, deadline = 60 s, penalty = 99 USD
}
"""
TIMETABLE = """problem timetable
rent = constant
billing {{ period = 1 h, minimum = 0 s }}
vm m {{ on_demand {{ price = 1 USD/h }}{vm} }}
class a {{
  stage s {{ tasks = 4, avg = 1 h, max = 1 h }}, slots {{ task = 1 }}, deadline = 1 h, runs {{ at = [0 s] }}
}}
minimize cost
"""
JOINT = """problem joint
cluster {{ period = 1 h }}
vm m {{ on_demand {{ price = 1 USD/h }}{vm} }}
{more}
class a {{
  map {{ tasks = 4, avg = 30 min, max = 30 min }}, slots {{ map = 1 }}
  jobs = 1, deadline = 1 h, penalty = 99 USD, guarantee = lower{item}
}}
minimize cost
"""


@pytest.mark.parametrize(
    ("text", "label", "value", "effect"),
    [
        # ten slots are ten VMs; each case adds the row that decides
        (CAPACITY.format(more="", vm=", disk = 64 GiB", item="") + "", "deadline of a", 57.0, 1.0),
        (
            CAPACITY.format(more="hdfs { data = 640 GiB, replication = 2 }", vm=", disk = 64 GiB", item=""),
            "replication of hdfs",
            1.0,
            -10.0,
        ),
        (
            CAPACITY.format(more="hdfs { data = 640 GiB, replication = 2 }", vm=", disk = 64 GiB", item=""),
            "data of hdfs",
            672.0 * 1024**3,
            1.0,
        ),
        (CAPACITY.format(more="master { vm = m, count = 3 }", vm="", item=""), "count of master", 2.0, -1.0),
        (CAPACITY.format(more="", vm=", masters = 1", item=""), "masters of m", 0.0, -1.0),
        (
            CAPACITY.format(more="", vm=', reserved "y" { price = 0.5 USD/h, available = 2 }', item=""),
            'available of m "y"',
            3.0,
            -0.5,
        ),
        (TEN.format(more="", vm=SPOT, item=", spot = 20%"), "spot of a", 0.19, 0.5),
        (
            CAPACITY.format(more="vm n { on_demand { price = 2 USD/h } }", vm="", item=", types = [n]"),
            "types of a",
            0.0,
            -10.0,
        ),
        (
            CAPACITY.format(more=B + "never_together night { classes = [a, b] }", vm="", item=""),
            "never_together night",
            0.0,
            5.0,
        ),
        (TIMETABLE.format(vm=", masters = 2"), "masters of m", 1.0, -1.0),
        (TIMETABLE.format(vm=", reserved { price = 0.5 USD/h, available = 2 }"), "available of m", 3.0, -0.5),
        (
            JOINT.format(more="", vm=", reserved { price = 0.5 USD/h, available = 1 }", item=""),
            "available of m",
            2.0,
            -0.5,
        ),
        (
            JOINT.format(more="vm n { on_demand { price = 2 USD/h } }", vm="", item=", types = [n]"),
            "types of a",
            0.0,
            -2.0,
        ),
    ],
)
def test_a_row_that_decides_is_measured(text: str, label: str, value: float, effect: float) -> None:
    spec = mrdsl.loads(text)
    result = mrdsl.solve(spec)
    found = {(each.line.label, round(each.value, 6)): each for each in steps(spec, result)}
    assert found[label, value].effect == pytest.approx(effect)


def test_what_is_left_out_is_shown_in_words() -> None:
    spec = mrdsl.loads(CAPACITY.format(more="vm n { on_demand { price = 2 USD/h } }", vm="", item=", types = [n]"))
    result = mrdsl.solve(spec)
    rows = table(spec, result, tuple(steps(spec, result))).rows
    assert ("types of a", "as written", "left out", "-10 USD") in list(rows)


def test_data_that_decide_are_named() -> None:
    """3 TiB on 64 GiB each are 48 VMs; two copies take 32, four 64."""
    spec = mrdsl.load(shared("cases/hdfs_decides.mrspec"))
    result = mrdsl.solve(spec)
    shown = next(each for each in effects(spec, result, tuple(steps(spec, result))) if not isinstance(each, str))
    changes = {(row[0], row[2]): row[3] for row in shown.rows}
    assert changes["replication of hdfs", "2"] == "-3.072 USD"
    assert changes["replication of hdfs", "4"] == "+3.072 USD"
