"""How much a joint spec may ask for, told at its place before anything of that size is built."""

from __future__ import annotations

import tracemalloc

import pytest

from mrdsl.families.joint.checks import MOST_CELLS, MOST_PERIODS
from mrdsl.language.loading import load_text

TEXT = """problem joint
cluster { size = 9 vms, vm_cost = 1 cent/h, reuse = paper }
demand { periods = PERIODS }
CLASSES
minimize cost
"""
ONE = """class NAME { coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }
  jobs = 1, deadline = 900 s, penalty = 45 cent }
"""


def told(periods: int, classes: int) -> list[tuple[str, int]]:
    text = TEXT.replace("PERIODS", str(periods))
    text = text.replace("CLASSES", "".join(ONE.replace("NAME", f"c{i}") for i in range(classes)))
    found = [d for d in load_text(text).diagnostics if d.code == "too-many-periods"]
    return [(d.code, d.span.line if d.span else 0) for d in found]


@pytest.mark.parametrize(("periods", "classes"), [(MOST_PERIODS + 1, 1), (10**12, 1), (MOST_CELLS // 20 + 1, 20)])
def test_too_many_periods_are_told_cheaply(periods: int, classes: int) -> None:
    tracemalloc.start()
    try:
        assert told(periods, classes) == [("too-many-periods", 3)]
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_a_year_of_hours_is_none() -> None:
    assert told(8760, 2) == []
