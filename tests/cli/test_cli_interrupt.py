"""Ctrl-C while a solver runs: one word, exit code 4, and nothing left running."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mrdsl.core.resources import resource
from tests.explaining.test_infeasibility import SPEC
from tests.solving.test_limits import fake_program, running

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = resource("models") / "capacity" / "reference.mrspec"


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_solver_does_not_outlive_its_user(stop: signal.Signals, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    fake_program(tmp_path, "cbc", f'[ "$1" = -quit ] && exit 0\ntrap "" INT TERM\necho $$ > {pids}\nsleep 600\n')
    process = subprocess.Popen(
        [sys.executable, "-m", "mrdsl", "solve", str(REFERENCE), "--solver", "fake-cbc", "--json"],
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MRDSL_SOLVERS": str(tmp_path)},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not pids.exists() or not pids.read_text(encoding="utf-8").strip():
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, stop)
    out, err = process.communicate(timeout=30)
    assert not running(int(pids.read_text(encoding="utf-8")))
    if stop is signal.SIGINT:
        assert process.returncode == 4
        assert '"termination": "interrupted"' in out
        assert "Traceback" not in err


def test_a_study_of_many_solves_ends_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A solve makes a result of KeyboardInterrupt; a study of many solves must not go on with the next one."""
    from mrdsl.cli.boundary import run
    from studies.__main__ import studies
    from studies.catalogue import Study

    def study(folder: Path, **options: object) -> list[object]:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise AssertionError("goes on")

    before = signal.getsignal(signal.SIGINT)
    many = Study("many", "a study that is interrupted", study)
    monkeypatch.setattr("studies.running.STUDIES", {"many": many})
    monkeypatch.setattr(sys, "argv", ["studies", "many", "-o", str(tmp_path)])
    try:
        assert run(studies) == 4
    finally:
        signal.signal(signal.SIGINT, before)


WITHOUT_UID = """
import pwd, sys
def unknown(*_): raise KeyError("uid not found")
pwd.getpwuid = unknown
sys.argv = ["mrdsl", *sys.argv[1:]]
from mrdsl.cli import main
main()
"""


@pytest.mark.skipif(os.name != "posix", reason="closes file descriptors by the shell")
@pytest.mark.parametrize(
    ("closed", "solver"),
    [*((closed, "highs") for closed in ("<&-", ">&-", "2>&-", ">&- 2>&-")), ("<&- >&- 2>&-", "glpk")],
)
def test_closed_streams_are_no_fault(closed: str, solver: str, tmp_path: Path) -> None:
    """And nothing that is printed lands in a file that took the number of a closed stream."""
    output = tmp_path / "plan.json"
    line = f'"$0" -m mrdsl solve "$1" --solver {solver} -o "$2" {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, str(REFERENCE), str(output)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "internal" not in done.stdout + done.stderr
    assert json.loads(output.read_text(encoding="utf-8"))["termination"] == "optimal"


@pytest.mark.skipif(os.name != "posix", reason="users have numbers")
@pytest.mark.parametrize("command", [["check"], ["solve"], ["solvers"]], ids=str)
def test_a_user_without_name_and_home(command: list[str]) -> None:
    hidden = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    arguments = command if command == ["solvers"] else [*command, str(REFERENCE)]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_UID, *arguments],
        capture_output=True,
        text=True,
        env={**environment, "PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "internal" not in done.stdout + done.stderr


def test_a_study_gives_the_handler_of_ctrl_c_back() -> None:
    from mrdsl.cli.boundary import StoppedError
    from studies.__main__ import _stopped_as_a_whole

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(StoppedError), _stopped_as_a_whole():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("command", [["why"], ["report", "-o", "report.md"]], ids=str)
@pytest.mark.parametrize("exists", [True, False])
def test_a_question_that_is_interrupted_ends_the_command(
    command: list[str], exists: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is kept of an interrupted solve is the plan that was asked for, no answer to what is asked after it."""
    from mrdsl.cli import cli
    from mrdsl.cli.boundary import run
    from mrdsl.solving import worker

    listen, asked = worker._Inbox.reply, 0

    def interrupted_after_the_plan(*given: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == 1:
            return listen(*given)
        raise KeyboardInterrupt

    spec = tmp_path / "given.mrspec"
    spec.write_text(SPEC.format(promise=f"vms <= {1000 if exists else 30}", whole="slots"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(worker._Inbox, "reply", interrupted_after_the_plan)
    monkeypatch.setattr(sys, "argv", ["mrdsl", command[0], str(spec), *command[1:], "--solver", "highs"])
    assert run(cli) == 4
    assert asked == 2
    assert list(tmp_path.iterdir()) == [spec]
