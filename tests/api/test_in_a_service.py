"""mrdsl within a program that runs on: what it tells, how it is ended, what it leaves alone."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

import mrdsl
from mrdsl.core.resources import resource

MODELS = Path(str(resource("models")))
QUICKSTART = MODELS / "capacity/quickstart.mrspec"
PER_TASK = "per_task"


@pytest.fixture(scope="module")
def hard() -> mrdsl.Spec:
    """Whole numbers that HiGHS and GLPK have plans for at once, and prove in no minute, by ``PER_TASK``."""
    return mrdsl.load(MODELS / "energy/worcou-medium.mrspec")


def test_nothing_is_printed_and_stages_are_logged(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = mrdsl.load(QUICKSTART)
    with caplog.at_level(logging.DEBUG, logger="mrdsl"):
        mrdsl.solve(spec, "highs")
        mrdsl.solve(spec, "direct")
    assert capfd.readouterr() == ("", "")
    said = [(record.name, record.levelname) for record in caplog.records]
    assert ("mrdsl.solve", "INFO") in said
    assert ("mrdsl.pipeline", "DEBUG") in said
    assert "capacity" in caplog.text
    assert "optimal" in caplog.text


def test_the_lines_of_a_solver_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    from mrdsl.solving.registry import find, version

    if version(find("glpk")) is None:
        pytest.skip("glpk is not installed")
    with caplog.at_level(logging.DEBUG, logger="mrdsl.solver"):
        mrdsl.solve(mrdsl.load(QUICKSTART), "glpk")
    assert "OPTIMAL" in caplog.text


def test_a_better_plan_is_told_and_kept_when_the_solve_is_ended(hard: mrdsl.Spec) -> None:
    stop, told = Event(), []

    def on_progress(progress: mrdsl.Progress) -> None:
        if progress.value is not None:
            told.append(progress.value)
            stop.set()

    limits = mrdsl.Limits(time=120.0)
    result = mrdsl.solve(hard, "highs", formulation=PER_TASK, limits=limits, on_progress=on_progress, stop=stop)
    assert result.termination is mrdsl.Termination.INTERRUPTED
    assert result.plan is not None
    assert result.value is not None
    assert result.value <= told[0] * (1 + 1e-6)


class MineError(OSError):
    """An exception of the caller's."""


@pytest.mark.parametrize("raised", [MineError("mine"), OSError("a plain one"), EOFError(), KeyboardInterrupt()])
def test_what_the_callback_raises_passes_through(hard: mrdsl.Spec, raised: BaseException) -> None:
    def on_progress(progress: mrdsl.Progress) -> None:
        raise raised

    with pytest.raises(type(raised)) as passed:
        mrdsl.solve(hard, "highs", formulation=PER_TASK, on_progress=on_progress)
    assert passed.value is raised
    assert mrdsl.solve(mrdsl.load(QUICKSTART), "highs").value is not None


@pytest.mark.parametrize("solver", ["highs", "glpk"])
def test_another_thread_ends_a_solve(hard: mrdsl.Spec, solver: str) -> None:
    from mrdsl.solving.registry import find, version

    if version(find(solver)) is None:
        pytest.skip(f"{solver} is not installed")
    stop = Event()
    timer = threading.Timer(1.0, stop.set)
    timer.start()
    result = mrdsl.solve(hard, solver, formulation=PER_TASK, limits=mrdsl.Limits(time=120.0), stop=stop)
    timer.join()
    assert result.termination is mrdsl.Termination.INTERRUPTED


def test_a_stop_before_the_start_ends_a_heuristic_too() -> None:
    stop = Event()
    stop.set()
    result = mrdsl.solve(mrdsl.load(QUICKSTART), "direct", stop=stop)
    assert result.termination is mrdsl.Termination.INTERRUPTED
    assert result.plan is None


def test_a_cancelled_task_ends_its_solver(hard: mrdsl.Spec) -> None:
    async def run() -> None:
        task = asyncio.create_task(mrdsl.asolve(hard, "highs", formulation=PER_TASK, limits=mrdsl.Limits(time=120.0)))
        await asyncio.sleep(1.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - began < 60.0


def test_many_at_once_give_what_one_gives() -> None:
    specs = [mrdsl.load(path) for path in (QUICKSTART, MODELS / "joint/reference.mrspec")] * 3
    alone = [mrdsl.solve(spec).value for spec in specs]

    async def together() -> list[float | None]:
        return [result.value for result in await asyncio.gather(*(mrdsl.asolve(spec) for spec in specs))]

    with ThreadPoolExecutor(4) as pool:
        assert [result.value for result in pool.map(mrdsl.solve, specs)] == alone
    assert asyncio.run(together()) == alone


def test_the_handlers_of_signals_stay() -> None:
    def mine(number: int, frame: object) -> None:
        raise AssertionError

    before = signal.signal(signal.SIGINT, mine)
    try:
        mrdsl.solve(mrdsl.load(QUICKSTART), "highs")
        mrdsl.why(mrdsl.load(QUICKSTART), worth=False)
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)
