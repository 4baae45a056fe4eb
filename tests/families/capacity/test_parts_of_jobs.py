"""Expected jobs that are no whole number: what rounding down leaves out is told, once."""

from __future__ import annotations

import pytest

from mrdsl.core.diagnostics import Severity
from mrdsl.language.loading import load_text

SPEC = """problem capacity
param load = 1
vm m5 { on_demand { price = 0.192 USD/h } }
class sort { coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }
  jobs = 4 * load .. HIGH, deadline = 10 min, penalty = 20 USD }
minimize cost
"""


def told(load: float, high: str = "6 * load", more: str = "") -> list[tuple[str, str]]:
    loaded = load_text(SPEC.replace("HIGH", high) + more, {"load": load})
    assert loaded.spec is not None, loaded.diagnostics
    found = [each for each in loaded.diagnostics if each.code == "part-of-a-job"]
    assert all(each.severity is Severity.NOTE for each in found)
    return [(each.message, each.hint) for each in found]


def test_what_is_left_out_is_told() -> None:
    """6 x 1.1 = 6.6 jobs are expected, 6 of them whole."""
    ((message, hint),) = told(1.1)
    assert message == "class sort expects 6.6 jobs, of which 6 are planned: 0.6 of a job is left out"
    assert "write 7 as the high end" in hint


@pytest.mark.parametrize(("load", "high"), [(1.0, "6 * load"), (1.1, "ceil(6 * load)"), (0.07, "100 * load")])
def test_whole_jobs_leave_nothing_out(load: float, high: str) -> None:
    """100 x 0.07 is 7.000000000000001 in floating point: seven jobs."""
    assert told(load, high) == []


def test_many_classes_are_one_note() -> None:
    more = SPEC[SPEC.index("class") : SPEC.index("minimize")].replace("class sort", "class c[1..3]")
    ((message, _),) = told(1.1, more=more.replace("HIGH", "6.5"))
    assert message.endswith("(and 3 more classes)")
