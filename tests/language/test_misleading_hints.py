"""Numbers and times that are likely meant otherwise: what the message says to write."""

from __future__ import annotations

import pytest

import mrdsl

CAPACITY = """problem capacity "hints"
vm m5 { on_demand { price = 0.192 USD/h } }
class x { map { tasks = TASKS, avg = AVG, max = 40 s }, reduce { tasks = 0 }, slots { map = 4, reduce = 2 }
  MORE
  jobs = 1..2, deadline = 3000 s, penalty = 20 USD }
minimize cost
"""
SCHEDULE = """problem schedule "hints"
seed = 1
horizon = 1 h
vm m5 { slots { map = 2, reduce = 1 }, on_demand { price = 0.1 USD/h }, billing = 1 s }
class x { rate = 6/h, map { tasks = 40, avg = AVG, max = 40 s }, deadline = 900 s }
policy { algorithm = frugal, instances = on_demand }
minimize cost
"""
MAKESPAN = """problem makespan "hints"
cluster { slots { map = 4, reduce = 2 } }
job a { map { tasks = 9, avg = AVG, max = 40 s } }
minimize makespan
"""


def found(text: str, **words: str) -> list[mrdsl.Diagnostic]:
    for name, word in {"TASKS": "1200", "AVG": "20 s", "MORE": "", **words}.items():
        text = text.replace(name, word)
    try:
        return list(mrdsl.check(mrdsl.loads(text)))
    except mrdsl.MrdslError as error:
        return list(error.diagnostics)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1,200", "1200"),
        ("1.200", "1200"),
        ("1 200", "1200"),
        ("1'200", "1200"),
        ("1’200", "1200"),
        ("12,000,000", "12000000"),
        ("12 000 000", "12000000"),
        ("1.5", "2"),
    ],
)
def test_separators_of_thousands_are_told_with_the_number_without_them(written: str, meant: str) -> None:
    wrong = [each for each in found(CAPACITY, TASKS=written) if each.severity == "error"]
    assert wrong
    assert all(meant in each.hint for each in wrong)


def test_a_number_that_means_what_it_says_has_no_such_hint() -> None:
    assert not found(CAPACITY, TASKS="1_200")
    assert not [each for each in found(CAPACITY, AVG="20 200") if "20200" not in each.hint and "thousands" in each.hint]


@pytest.mark.parametrize(
    ("text", "more"),
    [
        (CAPACITY, {"AVG": "30 ms"}),
        (CAPACITY, {"MORE": "on m5 { map { tasks = 9, avg = 30 ms, max = 40 s } }"}),
        (SCHEDULE, {"AVG": "30 ms"}),
        (MAKESPAN, {"AVG": "30 ms"}),
    ],
)
def test_a_longest_time_of_100_averages_is_a_warning_wherever_there_are_both(text: str, more: dict[str, str]) -> None:
    assert "max-far-above-avg" not in [each.code for each in found(text)]
    assert "max-far-above-avg" in [each.code for each in found(text, **more)]


@pytest.mark.parametrize(
    ("text", "more"),
    [(SCHEDULE, {"AVG": "50 s"}), (CAPACITY, {"MORE": "on m5 { map { tasks = 9, avg = 50 s, max = 40 s } }"})],
)
def test_a_longest_time_below_the_average_is_a_mistake_there_too(text: str, more: dict[str, str]) -> None:
    assert "max-below-avg" in [each.code for each in found(text, **more)]


@pytest.mark.parametrize(
    ("item", "block"),
    [("A = 5400 s", "coefficients { A = 5400 s }"), ("cores = 2", "container { cores = 2 }"), ("tasks = 9", "map {")],
)
def test_an_item_of_an_inner_block_is_shown_in_its_block(item: str, block: str) -> None:
    unknown = [each for each in found(CAPACITY, MORE=item) if each.code == "unknown-item"]
    assert [block in each.hint for each in unknown] == [True]


def test_a_price_of_a_vm_is_shown_in_the_ways_to_rent_it() -> None:
    text = CAPACITY.replace("on_demand { price = 0.192 USD/h }", "price = 0.192 USD/h")
    assert any("on_demand { price = 0.192 USD/h }" in each.hint for each in found(text) if each.code == "unknown-item")
