"""mrdsl killed at random moments: nothing runs on, nothing holds its output, no temporary file stays.

``MRDSL_KILLS=1000 python -m pytest tests/cli/test_cli_killed.py`` kills as many times.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mrdsl.core.resources import resource
from tests.running_processes import running
from tests.solving.test_limits import fake_program

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = str(resource("models") / "capacity" / "reference.mrspec")
SPEC = (resource("models") / "capacity" / "quickstart.mrspec").read_text(encoding="utf-8")
AT_ONCE = 2
ROUNDS = max(1, int(os.environ.get("MRDSL_KILLS", "8")) // (AT_ONCE * 4))
COMMANDS = {
    "sweep": ["sweep", "SPEC", "--over", "more=1:9:0.01", "-j", "2", "--solver", "highs", "-o", "OUT.csv"],
    "sweep of programs": ["sweep", "SPEC", "--over", "more=1:9:0.01", "-j", "2", "--solver", "glpk", "-o", "OUT.csv"],
    "solve with children of children": ["solve", REFERENCE, "--solver", "fake-cbc"],
    "solve of a nonlinear model": ["solve", REFERENCE, "--formulation", "P0-cone"],
}
pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks at /proc")


@pytest.fixture(autouse=True)
def hang_ups_end() -> Iterator[None]:
    """Under ``nohup`` programs are started that no hang-up ends: a test that sends one starts its own without that."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_left_of_a_killed_command(command: str, tmp_path: Path) -> None:
    drawn = random.Random(f"killed {command}")
    fake_program(tmp_path, "cbc", '[ "$1" = -quit ] && exit 0\n(trap "" TERM HUP; sleep 600) & sleep 600\n')
    (tmp_path / "a.mrspec").write_text("param more = 1\n" + SPEC.replace("9..10", "9..10 * more"), encoding="utf-8")
    for number in range(ROUNDS):
        started = [_start(command, tmp_path, f"{number}-{i}") for i in range(AT_ONCE)]
        for i, process in enumerate(started):
            _await_its_first_child(process, f"MRDSL_TEST_MARK={tmp_path}/{number}-{i}")
            time.sleep(drawn.uniform(0.0, 0.4))
            process.send_signal(drawn.choice([signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]))
        for i, process in enumerate(started):
            process.communicate(timeout=30)  # a child that held the pipe would hang it
            _nothing_is_left(tmp_path, f"{number}-{i}")


def _start(command: str, folder: Path, mark: str) -> subprocess.Popen[bytes]:
    (folder / f"tmp-{mark}").mkdir()
    out = str(folder / mark)
    words = {"SPEC": str(folder / "a.mrspec"), "OUT.csv": f"{out}.csv"}
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "MRDSL_SOLVERS": str(folder),
        "TMPDIR": f"{folder}/tmp-{mark}",
        "MRDSL_TEST_MARK": f"{folder}/{mark}",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "mrdsl", *(words.get(word, word) for word in COMMANDS[command])],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
    )


def _await_its_first_child(process: subprocess.Popen[bytes], mark: str) -> None:
    while process.poll() is None and len(running(mark)) < 2:
        time.sleep(0.01)


def _nothing_is_left(folder: Path, mark: str) -> None:
    for _ in range(100):
        processes = running(f"MRDSL_TEST_MARK={folder}/{mark}")
        files = sorted(path.name for path in (folder / f"tmp-{mark}").rglob("*"))
        if not processes and not files:
            return
        time.sleep(0.05)
    pytest.fail(f"left: {processes} {files}")
