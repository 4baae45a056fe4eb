"""Termination and solution are two facts: what each solver says at a limit, after a crash, and when it is ended."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import mrdsl
from mrdsl.core.resources import resource
from mrdsl.core.result import Limits, SolutionStatus, Termination, relative_gap
from mrdsl.solving import worker
from mrdsl.solving.backends import highs, scip
from mrdsl.solving.checked_answer import solve_model
from mrdsl.solving.processes import kept
from tests.solving.hard_models import many_knapsacks, market_split

SOLVERS = ("highs", "glpk", "cbc", "scip")
WORKERS = {"highs": highs, "scip": scip}


@pytest.fixture(autouse=True)
def fresh_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Workers that are forked after a test has put its fault in place, and not kept for the next one.

    Threads that an earlier test left behind must not make them fresh processes, which would not have the fault.
    """
    monkeypatch.setattr(worker, "_may_fork", lambda: sys.platform == "linux")
    worker.close_all()
    yield
    worker.close_all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_time_limit_without_incumbent(solver: str) -> None:
    model = market_split()
    answer = solve_model(model, solver, Limits(time=1.0))
    assert (answer.termination, answer.solution) == (Termination.TIME_LIMIT, SolutionStatus.NONE)
    assert answer.value is None
    assert all(model.x[j].value is None for j in model.x), "no fractional point is left in the model"


@pytest.mark.parametrize("solver", SOLVERS)
def test_time_limit_with_incumbent(solver: str) -> None:
    model = many_knapsacks()
    answer = solve_model(model, solver, Limits(time=2.0))
    assert (answer.termination, answer.solution) == (Termination.TIME_LIMIT, SolutionStatus.FEASIBLE)
    assert answer.value == pytest.approx(pyo.value(model.goal))
    assert answer.bound is not None
    assert answer.bound > answer.value, "the bound of a maximum lies above its incumbent"
    assert 0 < (relative_gap(answer.value, answer.bound) or 0) < 0.2


@pytest.mark.parametrize("solver", ["highs", "cbc", "scip"])
def test_node_limit(solver: str) -> None:
    answer = solve_model(many_knapsacks(), solver, Limits(nodes=20, time=20))
    assert (answer.termination, answer.solution) == (Termination.NODE_LIMIT, SolutionStatus.FEASIBLE)


@pytest.mark.parametrize("solver", SOLVERS)
def test_gap_limit(solver: str) -> None:
    answer = solve_model(many_knapsacks(), solver, Limits(gap=0.2, time=20))
    assert (answer.termination, answer.solution) == (Termination.OPTIMAL, SolutionStatus.OPTIMAL)
    assert (relative_gap(answer.value, answer.bound) or 0.0) <= 0.2 + 1e-6


def easy() -> pyo.ConcreteModel:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.NonNegativeIntegers)
    model.goal = pyo.Objective(expr=model.x)
    model.enough = pyo.Constraint(expr=3 * model.x >= 7)
    return model


def abort(*_: Any) -> Any:
    os.abort()


def kill(*_: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def say_nonsense(*_: Any) -> Any:
    print("Optimal solution found, honestly")
    return "nonsense"


def fall_over(*_: Any) -> Any:
    raise ZeroDivisionError("inside the solver")


@pytest.mark.parametrize("solver", WORKERS)
@pytest.mark.parametrize(
    ("fault", "words"),
    [(abort, "SIGABRT"), (kill, "killed"), (say_nonsense, "garbage"), (fall_over, "inside the solver")],
)
def test_a_worker_that_fails(solver: str, fault: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WORKERS[solver], "solve", fault)
    answer = solve_model(easy(), solver)
    assert (answer.termination, answer.solution, answer.value) == (Termination.ERROR, SolutionStatus.NONE, None)
    assert words in answer.message


@pytest.mark.parametrize("solver", WORKERS)
def test_a_crash_is_told_as_the_solvers_own_fault(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WORKERS[solver], "solve", abort)
    result = mrdsl.solve(mrdsl.load("models/capacity/quickstart.mrspec"), solver, formulation="P2")
    assert (result.termination, result.solution, result.plan) == (Termination.ERROR, SolutionStatus.NONE, None)
    (told,) = [d for d in result.diagnostics if d.severity == "error"]
    assert (told.code, told.message) == ("solver-failed", f"{solver}: it crashed (SIGABRT)")
    assert told.hint is not None
    assert told.hint.startswith(f"this is a fault of {solver}, not of the spec")


@pytest.mark.parametrize("noise", [b"", b"\x00\x00\x00\x04junk", b"\xff" * 64])
def test_noise_instead_of_a_reply(noise: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(call: Any, requests: Any, replies: Any) -> None:
        requests.recv()
        os.write(replies.fileno(), noise)

    monkeypatch.setattr(worker, "_serve", serve)
    answer = solve_model(easy(), "highs")
    assert (answer.termination, answer.solution) == (Termination.ERROR, SolutionStatus.NONE)
    assert answer.message


def test_a_worker_that_lies_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    lie = highs.Reply(Termination.OPTIMAL, np.array([2.0]), 2.0, 2.0)
    monkeypatch.setattr(highs, "solve", lambda request, report: lie)
    model = easy()
    answer = solve_model(model, "highs")
    assert (answer.termination, answer.solution) == (Termination.ERROR, SolutionStatus.NONE)
    assert "enough" in answer.message
    assert model.x.value is None


def test_a_worker_that_overruns_is_ended_and_its_incumbent_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def never_ends(request: Any, report: Any) -> Any:
        size = float(request.program.costs[0])  # 1 in the model, more where the goal comes at its natural size
        report(np.array([5.0]), 5.0 * size, 1.0 * size)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)

    monkeypatch.setattr(highs, "solve", never_ends)
    answer = solve_model(easy(), "highs", Limits(time=0.1))
    assert (answer.termination, answer.solution) == (Termination.TIME_LIMIT, SolutionStatus.FEASIBLE)
    assert (answer.value, answer.bound) == (5.0, 1.0)


STOPPED = """[ "$1" = -quit ] && exit 0
for a; do case "$a" in *.sol) solution="$a";; esac; done
trap 'printf "Stopped on %s - objective value 4\\n 0 x0 4 0\\n" > "$solution"; exit 0' INT
kill -INT $PPID
while :; do sleep 0.05; done
"""


@pytest.mark.parametrize("said", ["iterations", "nodes", "time"])
def test_ctrl_c_is_no_limit(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CBC, asked to stop, says that it stopped on iterations."""
    fake_program(tmp_path, "cbc", STOPPED.replace("%s", said))
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    with kept():
        answer = solve_model(easy(), "fake-cbc")
    assert (answer.termination, answer.solution) == (Termination.INTERRUPTED, SolutionStatus.FEASIBLE)
    assert answer.value == 4.0


def test_ctrl_c_at_the_start_of_a_worker_is_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    real = worker._fork

    def interrupted(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(worker, "_fork", interrupted)
    with kept():
        answer = solve_model(easy(), "highs")
    assert (answer.termination, answer.solution) == (Termination.INTERRUPTED, SolutionStatus.NONE)
    with pytest.raises(KeyboardInterrupt):
        solve_model(easy(), "highs")


def fake_program(folder: Path, solver: str, script: str) -> None:
    """``fake-SOLVER``: a solver file that is the shipped one but for its program."""
    program = folder / "fake"
    program.write_text("#!/bin/sh\n" + script, encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    name = {"glpk": "glpsol", "cbc": "cbc"}[solver]
    text = (resource("solvers") / f"{solver}.toml").read_text(encoding="utf-8")
    text = text.replace(f'program = "{name}"', f'program = "{program}"').replace(f'"{solver}"', f'"fake-{solver}"')
    (folder / f"fake-{solver}.toml").write_text(text, encoding="utf-8")


FAULTS = {
    "crash": ("kill -SEGV $$", "crashed"),
    "killed": ("kill -KILL $$", "killed"),
    "exit code": ("echo no licence; exit 3", "no licence"),
    "silence": ("exit 0", "no solution"),
    "garbage": ('for last; do true; done; for a; do case "$a" in *.sol) echo "x0 = 3?" > "$a";; esac; done', "garbage"),
    "empty": ('for a; do case "$a" in *.sol) : > "$a";; esac; done', "no solution"),
    "half a file": ('for a; do case "$a" in *.sol) printf "s mip 1 1 o 3\\nj 1\\n" > "$a";; esac; done', "garbage"),
}


@pytest.mark.parametrize("solver", ["glpk", "cbc"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_program_that_fails(solver: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, words = FAULTS[fault]
    fake_program(tmp_path, solver, script)
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    answer = solve_model(easy(), f"fake-{solver}")
    assert (answer.termination, answer.solution, answer.value) == (Termination.ERROR, SolutionStatus.NONE, None)
    assert words in answer.message


def test_a_program_that_overruns_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = tmp_path / "pids"
    fake_program(tmp_path, "cbc", f"trap '' TERM INT\n(trap '' TERM; sleep 600) & echo $$ $! > {pids}\nsleep 600\n")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    answer = solve_model(easy(), "fake-cbc", Limits(time=0.2))
    assert (answer.termination, answer.solution) == (Termination.TIME_LIMIT, SolutionStatus.NONE)
    for pid in pids.read_text(encoding="utf-8").split():
        assert not running(int(pid))


def running(pid: int) -> bool:
    """Whether a process still runs; one that is dead but not yet collected does not."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True


def test_spawned_workers_answer_like_forked_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_may_fork", lambda: False)
    answer = solve_model(easy(), "highs")
    assert (answer.termination, answer.value) == (Termination.OPTIMAL, 3.0)
    answer = solve_model(market_split(), "highs", Limits(time=0.5))
    assert (answer.termination, answer.solution) == (Termination.TIME_LIMIT, SolutionStatus.NONE)


def test_a_worker_stays_for_the_next_question_and_a_failed_one_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    pids = []
    for _ in range(3):
        assert solve_model(easy(), "highs").value == 3.0
        pids.append(worker._workers()[highs.solve].pid)
    assert len(set(pids)) == 1
    os.kill(pids[0], signal.SIGKILL)
    assert worker._workers()[highs.solve].replies.poll(30), "its threads have ended too, and its pipe is closed"
    assert solve_model(easy(), "highs").value == 3.0, "a worker that died in its sleep is replaced"
    now = worker._workers()[highs.solve].pid
    assert now != pids[0]
    assert solve_model(market_split(), "highs", Limits(time=0.2)).termination is Termination.TIME_LIMIT
    worker.close_all()
    assert not running(now)
