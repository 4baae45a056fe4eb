"""Map-only classes need no reduce slots: they are planned as if they had some."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl

SPEC = """problem capacity
WHOLE
vm m5 { on_demand { price = 0.2 USD/h } }
TYPES
class c { PROFILE, slots { map = 3REDUCE } ON
          jobs = 1..4, deadline = 10 min, penalty = 10 USD }
minimize cost
"""
PROFILES = (
    "map { tasks = 40, avg = 30 s, max = 40 s }",
    "map { tasks = 1, avg = 30 s, max = 40 s }, reduce { tasks = 0 }",
    "coefficients { A = 500 s, B = 0 s, C = 1 s }",
)


def text_of(profile: str, whole: str = "", types: str = "", on: str = "", reduce: str = "") -> str:
    text = SPEC.replace("WHOLE", whole).replace("TYPES", types).replace("PROFILE", profile).replace("ON", on)
    return text.replace("REDUCE", reduce)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("types", ["", "vm c5 { on_demand { price = 0.1 USD/h } }"])
def test_reduce_slots_change_nothing(profile: str, types: str) -> None:
    for whole in ("", "whole = no", "whole = machines"):
        for on in ("", "on m5 { slots { map = 5RED } }", "on m5 { speed = 2 }"):
            values = set()
            for reduce in ("", ", reduce = 3", ", reduce = 1"):
                spec = mrdsl.loads(text_of(profile, whole, types, on.replace("RED", reduce), reduce))
                values |= {round(mrdsl.solve(spec, solver=solver).value or 0.0, 9) for solver in ("highs", "direct")}
            assert len(values) == 1, (whole, on, values)


@pytest.mark.parametrize(
    ("profile", "on"),
    [
        ("map { tasks = 4, avg = 3 s, max = 4 s }, reduce { tasks = 1, avg = 1 s, max = 2 s }", ""),
        ("coefficients { A = 500 s, B = 1 s, C = 1 s }", ""),
        ("map { tasks = 4, avg = 3 s, max = 4 s }", "on m5 { reduce { tasks = 2, avg = 1 s, max = 2 s } }"),
        ("map { tasks = 4, avg = 3 s, max = 4 s }", "on m5 { coefficients { A = 1 s, B = 1 s, C = 0 s } }"),
    ],
)
def test_reduce_tasks_need_slots(profile: str, on: str) -> None:
    with pytest.raises(mrdsl.MrdslError) as caught:
        mrdsl.loads(text_of(profile, on=on))
    assert any("lack `reduce`" in each.message for each in caught.value.diagnostics)


def test_tables_of_map_only_classes(tmp_path: Path) -> None:
    head = "name,coefficients.A [s],coefficients.B [s],coefficients.C [s],slots.map,jobs.low,jobs.high\n"
    spec = tmp_path / "a.mrspec"
    spec.write_text(
        "problem capacity\nvm m5 { on_demand { price = 1 USD/h } }\n"
        'classes from "c.csv" { deadline = 1 h, penalty = 9 USD }\nminimize cost\n'
    )
    (tmp_path / "c.csv").write_text(head + "a,3600,0,0,2,1,1\nb,3600,0,0,2,1,1\n")
    assert mrdsl.solve(mrdsl.load(spec)).value == pytest.approx(1.0)
    (tmp_path / "c.csv").write_text(head + "a,3600,0,0,2,1,1\nb,3600,5,0,2,1,1\n")
    with pytest.raises(mrdsl.MrdslError) as caught:
        mrdsl.load(spec)
    assert ["lack `reduce`" in each.message and "class b" in each.message for each in caught.value.diagnostics] == [
        True
    ]


def test_jobs_beside_services_need_no_reduce_slots_either() -> None:
    text = """problem joint
cluster { size = 20 vms, vm_cost = 0.1 USD/h, period = 1 h }
class c { map { tasks = 40, avg = 30 s, max = 40 s }, slots { map = 2REDUCE }
          jobs = 4, deadline = 10 min, penalty = 5 USD, think = 1 min }
minimize cost
"""
    both = [mrdsl.solve(mrdsl.loads(text.replace("REDUCE", each))) for each in ("", ", reduce = 2")]
    assert both[0].value == both[1].value
    assert not [each for result in both for each in result.diagnostics if each.severity == "error"]
