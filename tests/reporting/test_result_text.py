"""What the terminal says of a result: how it ended, its gap as a person reads it, and money in the spec's currency."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import mrdsl
from mrdsl.core.resources import resource
from mrdsl.core.result import MONEY, Plan, Result, SolutionStatus, Table, Termination, result_text

QUICK = (resource("models") / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Bill(Plan):
    """A plan with money in a head and in a row."""

    def tables(self) -> tuple[Table, ...]:
        return (Table("Bill", ("what", f"cost {MONEY}"), [(f"rent {MONEY}", 1.5)]),)


@pytest.mark.parametrize(
    ("value", "bound", "said"),
    [
        (100.0, 100.0, "gap 0 %"),
        (0.1 + 0.2, 0.3, "gap 0 %"),  # apart by 1.8e-16 of it, the noise of one addition
        (100.0, 100.0 * (1 - 1e-9), "gap below 0.0001 %"),
        (100.0, 99.9999, "gap 0.0001 %"),
        (100.0, 99.0, "gap 1 %"),
        (100.0, 9.5375, "gap 90.46 %"),
    ],
)
def test_a_gap_is_what_a_person_reads(value: float, bound: float, said: str) -> None:
    result = Result(Termination.OPTIMAL, SolutionStatus.OPTIMAL, value=value, bound=bound, quantity="cost", unit="USD")
    assert result.status().splitlines()[0].endswith(f"{said})")


def test_a_goal_without_a_value_is_not_told() -> None:
    estimated = Result(Termination.COMPLETED, SolutionStatus.FEASIBLE, Bill(), sense="estimate", quantity="completion")
    assert estimated.status() == "completed\n"


@pytest.mark.parametrize(("currency", "shown"), [("EUR", "[EUR]"), ("", "")])
def test_money_stands_in_the_specs_currency(currency: str, shown: str) -> None:
    text = result_text(Result(Termination.COMPLETED, plan=Bill(), currency=currency))
    assert f"cost {shown}".rstrip() in text
    assert f"rent {shown}".rstrip() in text
    assert "money" not in text


def test_the_tables_of_a_spec_in_euros_say_so() -> None:
    result = mrdsl.solve(mrdsl.loads(QUICK.replace("USD", "EUR")), solver="direct")
    assert "VMs [EUR]  penalties [EUR]  total [EUR]" in result_text(result)
