"""What crosses to other processes and back: specs, problems, mistakes; and exceptions of the caller's own."""

from __future__ import annotations

import pickle
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Pipe, get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.core.result import SolutionStatus, Termination
from mrdsl.solving import worker
from mrdsl.solving.backends import highs
from mrdsl.solving.checked_answer import solve_model
from mrdsl.solving.processes import kept
from tests.solving.hard_models import market_split
from tests.solving.test_limits import easy, fake_program, fresh_workers, running

MODELS = sorted(path for path in resource("models").rglob("*.mrspec") if path.stem != "large")
assert fresh_workers, "a fixture that is used by its name"


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_specs_pickle(path: Path) -> None:
    spec = mrdsl.load(path)
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec
    assert dict(again.spans) == dict(spec.spans)


def test_a_mistake_pickles() -> None:
    with pytest.raises(MrdslError) as caught:
        mrdsl.loads("problem capacity\nclass a { jobs = 3 .. 1 }\n")
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.diagnostics == caught.value.diagnostics
    assert (again.exit_code, str(again)) == (caught.value.exit_code, str(caught.value))


def test_a_problem_pickles_with_what_it_was_updated_to() -> None:
    text = (resource("models") / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
    compiled = mrdsl.compile(mrdsl.loads("param more = 1\n" + text.replace("9..10", "9..10 * more")), relax=True)
    compiled.update(more=1.5).solve("highs")
    again = pickle.loads(pickle.dumps(compiled))
    assert (again.spec, again.relax) == (compiled.spec, True)
    assert again.update(more=2).solve("highs").objective == compiled.update(more=2).solve("highs").objective


def fail(name: str) -> None:
    from mrdsl.solving import registry

    registry.find(name)


def test_a_mistake_comes_back_from_a_pool() -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, pytest.raises(MrdslError, match="hihgs") as caught:
        pool.submit(fail, "hihgs").result(timeout=60)
    assert caught.value.exit_code == 2


class CallersError(Exception):
    """What a program that embeds mrdsl raises in its signal handler."""


@pytest.fixture(params=[CallersError, TimeoutError, ValueError, KeyboardInterrupt], ids=lambda kind: kind.__name__)
def alarm(request: pytest.FixtureRequest) -> Iterator[type[BaseException]]:
    """An exception that a signal handler raises half a second from now."""

    def handler(number: int, frame: object) -> None:
        raise request.param("from the caller")

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    yield request.param
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("fresh_workers")
@pytest.mark.parametrize("solver", ["highs", "glpk"])
def test_the_callers_exception_passes(solver: str, alarm: type[BaseException]) -> None:
    pid = None
    started = time.monotonic()
    with pytest.raises(alarm, match="from the caller"):
        solve_model(market_split(), solver, mrdsl.Limits(time=60))
    assert time.monotonic() - started < 20
    for left in worker._workers().values():
        pid = left.pid
    assert pid is None, "a worker that was left in the middle of a question is not kept"
    assert solve_model(easy(), solver).value == 3.0


@pytest.mark.usefixtures("fresh_workers")
def test_ctrl_c_in_the_api_raises_and_ends_the_solver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = tmp_path / "pids"
    script = f'[ "$1" = -quit ] && exit 0\necho $$ > {pids}; kill -INT $PPID; sleep 600\n'
    fake_program(tmp_path, "cbc", script)
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        mrdsl.solve(mrdsl.load(resource("models") / "capacity" / "reference.mrspec"), "fake-cbc")
    assert not running(int(pids.read_text(encoding="utf-8")))


@pytest.mark.usefixtures("fresh_workers")
def test_who_wants_to_keeps_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupts_its_parent(_: Any, report: Any) -> Any:
        import os

        report(np.array([4.0]), 4.0, None)
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(600)

    monkeypatch.setattr(highs, "solve", interrupts_its_parent)
    with kept():
        answer = solve_model(easy(), "highs")
    assert (answer.termination, answer.solution) == (Termination.INTERRUPTED, SolutionStatus.FEASIBLE)
    assert answer.value == 4.0
    with pytest.raises(KeyboardInterrupt):
        solve_model(easy(), "highs")


def test_ctrl_c_while_an_incumbent_is_read_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    received = worker._unpickled

    def interrupted(message: bytes) -> tuple[str, Any]:
        signal.raise_signal(signal.SIGINT)
        return received(message)

    monkeypatch.setattr(worker, "_unpickled", interrupted)
    replies, child = Pipe(duplex=False)
    child.send_bytes(pickle.dumps(("incumbent", (None, 4.0, None))))
    inbox = worker._Inbox(replies)
    with pytest.raises(KeyboardInterrupt):
        inbox.next()
    assert inbox.last == (None, 4.0, None)
