"""A solve that is ended at any of the moments at which it looks: an interrupted result, never an exception."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import Any

import pytest

import mrdsl
from mrdsl.core import watching
from mrdsl.core.result import SolutionStatus, Termination

SPECS = {
    "joint": "models/joint/reference.mrspec",
    "capacity": "models/capacity/quickstart.mrspec",
    "energy": "models/energy/adjlist-small.mrspec",
    "deadline": "models/deadline/reference.mrspec",
    "makespan": "models/makespan/two-jobs.mrspec",
}
HIGHEST = 400


class Countdown(Event):
    """An event that is set once it was looked at so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks

    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0


def at_every_moment(spec: mrdsl.Spec, solver: str) -> list[mrdsl.Result]:
    """The results of a solve that is ended at its first look, its second, and so on until it ends by itself."""
    results = []
    for looks in range(HIGHEST):
        stop = Countdown(looks)
        results.append(mrdsl.solve(spec, solver, limits=mrdsl.Limits(time=60.0), stop=stop))
        if stop.left >= 0:
            break
    return results


@pytest.mark.parametrize("solver", ["auto", "highs", "greedy"])
def test_joint_is_interrupted_at_every_look(solver: str) -> None:
    results = at_every_moment(mrdsl.load(SPECS["joint"]), solver)
    assert results[0].termination is Termination.INTERRUPTED
    assert_each_holds(results)


@pytest.mark.parametrize("family", ["capacity", "energy", "makespan"])
def test_other_families_are_interrupted_at_every_look(family: str) -> None:
    assert_each_holds(at_every_moment(mrdsl.load(SPECS[family]), "auto"))


def test_a_simulated_policy_is_interrupted_within_its_run() -> None:
    """The first look is before the run; nothing of half a run is a plan."""
    stop = Countdown(1)
    result = mrdsl.solve(mrdsl.load("models/schedule/reference.mrspec"), stop=stop)
    assert (result.termination, result.plan) == (Termination.INTERRUPTED, None)


def assert_each_holds(results: list[mrdsl.Result]) -> None:
    """Each ended by itself or is interrupted; a plan is worth no less than the best, and optimal only if proven."""
    best = results[-1]
    assert best.termination is not Termination.INTERRUPTED
    assert best.value is not None
    for result in results:
        assert result.termination in (Termination.INTERRUPTED, best.termination)
        assert (result.plan is None) == (result.solution is SolutionStatus.NONE)
        if result.plan is not None and result.value is not None and result.objective.sense == "minimize":
            assert result.value >= best.value * (1 - 1e-6)


def test_no_interrupt_comes_out_of_a_verification(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once there is a plan, a stop that is set while it is verified does not lose it."""
    from mrdsl.planning import solve_spec

    stop, real = Event(), solve_spec.verified

    def verified(*values: Any, **named: Any) -> Any:
        stop.set()
        return real(*values, **named)

    monkeypatch.setattr(solve_spec, "verified", verified)
    result = mrdsl.solve(mrdsl.load(SPECS["joint"]), "highs", stop=stop)
    assert result.plan is not None


@pytest.mark.parametrize("at", ["verified", "refined", "known"])
def test_ctrl_c_while_a_plan_is_settled_does_not_lose_it(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from mrdsl.planning import results, solve_spec
    from mrdsl.solving.processes import kept

    home: Any = {"verified": solve_spec, "refined": results, "known": solve_spec._Run}[at]
    name = {"known": "_known"}.get(at, at)
    real, calls = getattr(home, name), []

    def interrupted(*values: Any, **named: Any) -> Any:
        calls.append(at)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(*values, **named)

    monkeypatch.setattr(home, name, interrupted)
    spec = mrdsl.load(SPECS["capacity"])
    with kept():
        result = mrdsl.solve(spec, "cbc", formulation="P2")
    assert calls
    assert (result.termination, result.solution) == (Termination.INTERRUPTED, SolutionStatus.FEASIBLE)
    assert result.plan is not None
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        mrdsl.solve(spec, "cbc", formulation="P2")


OPEN_GAP = """problem capacity "direct has a gap here"
vm m5 {
  on_demand { price = 3 USD/h }
  spot { price = 0 USD/h, interruptions = 0/h }
  reserved { price = 0.5 USD/h, available = 2 }
}
class few {
  stage a { tasks = 1, avg = 20 s, max = 20 s }
  slots { task = 1 }
  jobs = 0..1, deadline = 200 s, penalty = 0.5 USD
  spot = 30%
}
class many {
  stage a { tasks = 20, avg = 20 s, max = 30 s }
  slots { task = 4 }
  jobs = 17, deadline = 600 s, penalty = 1 USD
  types = one
}
minimize cost
"""


def test_ctrl_c_after_the_first_method_keeps_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver follows as if the first plan were not enough; the Ctrl-C comes while its model is built."""
    from mrdsl.planning.solve_spec import _Run
    from mrdsl.solving.processes import kept

    def interrupted(*values: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    spec = mrdsl.loads(OPEN_GAP)
    known = mrdsl.solve(spec, "direct")
    monkeypatch.setattr(_Run, "_is_enough", lambda *_: False)
    monkeypatch.setattr(_Run, "_single_model", interrupted)
    with kept():
        result = mrdsl.solve(spec)
    assert (result.termination, result.solution) == (Termination.INTERRUPTED, SolutionStatus.FEASIBLE)
    assert (result.value, result.bound, result.solver["name"]) == (known.value, known.bound, "direct")


@pytest.mark.parametrize("looks", [0, 1, 2, 3, 5, 8])
def test_a_cancelled_task_raises_nothing_into_its_loop(looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task is cancelled from within the solve, at a look of its thread."""
    strangers: list[Any] = []

    async def run() -> str:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: strangers.append(context))
        real, left = watching.Event.is_set, [looks]

        def is_set(event: Event) -> bool:
            left[0] -= 1
            if left[0] == -1:
                loop.call_soon_threadsafe(task.cancel)
            return real(event) or left[0] < 0

        monkeypatch.setattr(watching, "is_stopped", lambda: watching._STOP.get() is not None and is_set(Event()))
        task = asyncio.create_task(mrdsl.asolve(mrdsl.load(SPECS["joint"])))
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"
        return "ended"

    assert asyncio.run(run()) in ("cancelled", "ended")
    assert not strangers


def test_a_callback_that_interrupts_cancels_its_task() -> None:
    def on_progress(_: mrdsl.Progress) -> None:
        raise KeyboardInterrupt

    async def run() -> bool:
        task = asyncio.create_task(mrdsl.asolve(mrdsl.load(SPECS["capacity"]), "highs", on_progress=on_progress))
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(run())
