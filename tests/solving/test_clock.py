"""Work that does not look at the clock ends with the shared time, as does what stands around a solve."""

from __future__ import annotations

import signal
import sys
import threading
from math import isnan
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.cli import solve as command
from mrdsl.core import watching
from mrdsl.core.resources import resource
from mrdsl.core.result import Limits, Termination
from mrdsl.explaining import why
from mrdsl.families.capacity.periods import packing
from mrdsl.families.capacity.periods.plan import PeriodsPlan
from mrdsl.planning.solve_spec import solve
from mrdsl.solving.processes import ended_late
from tests.command_lines import run_here

TYPES = range(1, 11)
ENERGY = "\n".join(
    (
        'problem energy "many machines"',
        *(
            f"vm v{k} {{ slots {{ map = {k}, reduce = {k} }}, on_demand {{ price = 0.03 USD/h }}, available = 90 }}"
            for k in TYPES
        ),
        "network { speed = 1 Gbit/s, io_power = 20 W }",
        *(
            f"job j{job} {{ map {{ tasks = {150 + job}, block = 256 MB }}, reduce {{ tasks = 8 }}, deadline = 3000 s"
            + ", budget = 5 USD\n"
            + "\n".join(
                f"on v{k} {{ map {{ time = {200 + k} s, energy = 4000 J }}, reduce {{ time = 60 s, energy = 900 J }} }}"
                for k in TYPES
            )
            + " }"
            for job in range(20)
        ),
        "minimize energy",
    )
)
DEMAND = """problem capacity "periods"
seed = 1
demand { periods = 48, day = bimodal, floor = 50% }
vm m5 { on_demand { price = 0.192 USD/h }, reserved { price = 0.121 USD/h, available = 20 } }
vm m6 { on_demand { price = 0.3 USD/h } }
class a { map { tasks = 90, avg = 20 s, max = 45 s }, reduce { tasks = 16, avg = 12 s, max = 20 s },
  shuffle { first_max = 15 s, avg = 10 s, max = 25 s }, slots { map = 2, reduce = 1 }, jobs = 5..9, deadline = 700 s,
  penalty = 20 USD }
minimize cost
"""


def endless() -> None:
    while True:
        pass


def test_work_without_looks_ends() -> None:
    before = signal.getsignal(signal.SIGPROF)
    with pytest.raises(watching.LateError), watching.sharing(0.05), ended_late():
        endless()
    assert signal.getsignal(signal.SIGPROF) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_work_within_its_time_is_left_alone() -> None:
    with ended_late():
        assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    with watching.sharing(1000.0), ended_late():
        assert signal.getitimer(signal.ITIMER_PROF)[0] > 900.0
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


def test_another_thread_has_no_signals() -> None:
    done = []

    def run() -> None:
        with watching.sharing(0.0), ended_late():
            done.append(1)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done


def test_what_ends_work_in_a_callback_of_the_collector_is_silent_and_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python prints and forgets what a destructor raises."""
    printed: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)
    ended: list[int] = []

    class Slow:
        def __del__(self) -> None:
            ended.append(0)
            while True:  # until the LateError that is lost here
                pass

    class Broken:
        def __del__(self) -> None:
            raise ValueError

    def work() -> None:
        Broken()
        Slow()
        while True:
            pass

    with pytest.raises(watching.LateError), watching.sharing(0.05), ended_late():
        work()
    assert ended == [0]
    assert [type(each.exc_value) for each in printed] == [ValueError]
    assert sys.unraisablehook == printed.append


def test_a_large_model_is_not_built_beyond_the_limit() -> None:
    found = solve(mrdsl.loads(ENERGY), limits=Limits(time=0.2))
    assert (found.termination, found.plan) == (Termination.TIME_LIMIT, None)


@pytest.mark.parametrize("at", [0, 5, 20, 60])
def test_periods_get_a_plan_whenever_the_time_has_passed(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = mrdsl.loads(DEMAND)
    whole = solve(spec, "direct")
    looks = 0

    def passed(own: float | None = None) -> float | None:
        nonlocal looks
        looks += 1
        return 0.0 if looks > at else own

    monkeypatch.setattr(watching, "shared_time", passed)
    found = solve(spec, "direct")
    assert whole.value is not None
    assert whole.bound is not None
    assert found.value is not None
    assert found.value >= whole.bound * (1 - 1e-9)
    assert found.bound is None or found.bound <= whole.value * (1 + 1e-9)


@pytest.mark.parametrize(("words", "most"), [((), 10.0), (("--time-limit", "3"), 3.0), (("--time-limit", "60"), 10.0)])
def test_reasons_have_what_is_left_of_the_limit(
    words: tuple[str, ...], most: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[float] = []
    real = why.explain

    def explain(*arguments: Any, seconds: float) -> Any:
        asked.append(seconds)
        return real(*arguments, seconds=0.0)

    monkeypatch.setattr(why, "explain", explain)
    text = (resource("models") / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
    (tmp_path / "tight.mrspec").write_text(f"{text}\nsubject to {{ vms <= 1 }}\n", encoding="utf-8")
    ran = run_here(("solve", "tight.mrspec", *words), tmp_path)
    assert ran.exit_code == 1
    (seconds,) = asked
    assert 0.0 <= seconds <= most
    assert (seconds == most) is (most == command.EXPLAIN_FOR)


def test_the_cost_without_commitments_is_left_out_if_it_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = mrdsl.loads(DEMAND)
    known = solve(spec, "highs")
    monkeypatch.setattr(packing, "is_late", lambda: True)
    found = solve(spec, "highs")
    assert isinstance(known.plan, PeriodsPlan)
    assert isinstance(found.plan, PeriodsPlan)
    assert known.plan.without >= known.plan.total * (1 - 1e-9)
    assert isnan(found.plan.without)
    assert found.value == pytest.approx(known.value)
