"""A fixed few hundred of the cross-check's specs, and those that an answer was wrong on once.

All of it, or ten thousand: ``python -m tests.cross_check --count 10000 --seed 1``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import mrdsl
from mrdsl.core.result import Result, Termination
from mrdsl.families.hybrid.plan import Cost, HybridPlan
from mrdsl.solving.claims import failure
from mrdsl.spec.spec import Spec
from tests.cross_check import check, hybrids, schedules
from tests.cross_check.__main__ import drawn
from tests.cross_check.check import disagreements
from tests.cross_check.texts import DRAWN

KEPT = sorted((Path(__file__).parent / "kept").glob("*.mrspec"))
NOT_YET: frozenset[str] = frozenset()
"""Families with faults that are known and not mended yet."""
SPECS = 4


@pytest.fixture(autouse=True)
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the time per solve: what is not proven by then is still compared, as a plan and a bound."""
    monkeypatch.setattr(check, "SECONDS", check.SECONDS / 2)
    monkeypatch.setattr(schedules, "SECONDS", schedules.SECONDS / 2)


BAD = """problem makespan "x"
cluster { slots { map = 1, reduce = 1 } }
job a { map { tasks = 1, time = 5 s } }
minimize makespan
"""


@pytest.mark.parametrize("first", range(0, 8, SPECS))
@pytest.mark.parametrize("family", sorted(set(DRAWN) - NOT_YET))
def test_answers_to_the_same_question_agree(family: str, first: int) -> None:
    for seed in range(first, first + SPECS):
        text = drawn(family, seed)
        found = disagreements(text, sample=Random(seed))
        assert not found, f"{family}, seed {seed}\n{text}\n" + "\n".join(found)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_answers_agree_on_specs_that_one_was_wrong_on(path: Path) -> None:
    found = disagreements(path.read_text(encoding="utf-8"))
    assert not found, "\n".join(found)


FULL = """problem hybrid "x"
seed = 1
horizon = 20 slots
vm v { available = 1, preemption_cost = 1 USD }
queue q { vm = v, size = 1 slots, delay = 4 slots, arrivals = 3, arrivals_max = 3, outsourcing = 2 USD }
control { V = 0.1, preemption_weight = 1.0, acceptance = 100%, outsource_limit = 900 }
minimize cost
"""


def test_the_least_that_a_hybrid_run_can_cost_is_known_by_hand() -> None:
    """48 tasks come four slots before the end or earlier; one VM serves 19 of them, from slot 1 on, and K_max =
    0.1 * 2 + 3 may be turned away."""
    spec = mrdsl.loads(FULL)
    assert hybrids.offline(spec) == pytest.approx(2.0 * (48 - 19 - 3.2) / 20)
    assert hybrids.all_outside(spec) == pytest.approx(2.0 * 3)
    assert disagreements(FULL) == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"outsourced": 0}, "tasks came, and"),
        ({"worst_delay": 5}, "a task took 5 slots of 4"),
        ({"outsourced_after": 1}, "it costs"),
        ({"admitted": 60, "outsourced": 0}, "has a plan worth 0.0"),
        ({"outsourced": 0, "rejected": 41}, "are turned away"),
    ],
)
def test_a_hybrid_run_that_contradicts_its_facts_is_found(
    changes: dict[str, int], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = mrdsl.solve

    def lying(spec: Spec, solver: str, **more: Any) -> Result:
        result = real(spec, solver, **more)
        if solver != "calendar":
            return result
        assert isinstance(result.plan, HybridPlan)
        run = replace(result.plan.queues["q"], **changes)
        average = 2.0 * run.outsourced / 20
        plan = replace(result.plan, queues={"q": run}, cost=Cost(average, average, 0.0))
        return replace(result, plan=plan, value=average)

    monkeypatch.setattr(mrdsl, "solve", lying)
    assert any(said in line for line in disagreements(FULL))


def test_a_solver_that_crashes_is_counted_and_does_not_disagree(monkeypatch: pytest.MonkeyPatch) -> None:
    real = mrdsl.solve

    def crashing(spec: Spec, solver: str, **more: Any) -> Result:
        if solver != "fifo":
            return real(spec, solver, **more)
        return Result(Termination.ERROR, diagnostics=(failure("fifo", "it crashed (SIGSEGV)"),))

    monkeypatch.setattr(mrdsl, "solve", crashing)
    crashes: list[str] = []
    assert disagreements(BAD, crashes=crashes) == ()
    assert crashes == ["--solver fifo: fifo: it crashed (SIGSEGV)"]


def test_drawn_specs_are_the_same_everywhere() -> None:
    assert drawn("capacity", 7) == drawn("capacity", 7)
    assert len({drawn(family, seed) for family in DRAWN for seed in range(20)}) == 20 * len(DRAWN)


def test_a_solver_that_lies_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check can fail: one method states a bound of 6 s where another has a plan of 5 s."""
    real = mrdsl.solve

    def lying(spec: Spec, solver: str, **more: Any) -> Result:
        result = real(spec, solver, **more)
        if solver == "fifo":
            return replace(result, bound=6.0)
        return result

    monkeypatch.setattr(mrdsl, "solve", lying)
    found = disagreements(BAD)
    assert found
    assert all(line.startswith("--solver fifo: ") and "bound 6.0" in line for line in found)
