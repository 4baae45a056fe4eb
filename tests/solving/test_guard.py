"""No moment in which a killed process loses its children or its temporary folders: the guard knows them beforehand."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mrdsl.core import guarded
from mrdsl.solving import processes
from tests.running_processes import running

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks at /proc")
KILLED_AT_ONCE = """
import os, subprocess, sys, threading, time
from mrdsl.solving import processes
def killed(leader):
    time.sleep(0.3)
    os.kill(os.getpid(), 9)
processes.watch_group = killed
if sys.argv[1] == "threads":
    threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
processes.start(["/bin/sh", "-c", "sleep 600 & sleep 600"], {}, subprocess.DEVNULL)
"""


@pytest.mark.parametrize("threads", ["one thread", "threads"])
def test_a_program_is_known_before_it_runs(threads: str) -> None:
    """Killed right after the start of a program, before a word about it: what it started ends all the same."""
    mark = f"MRDSL_TEST_MARK=guard-{threads}-{time.monotonic_ns()}"
    name, _, value = mark.partition("=")
    subprocess.run([sys.executable, "-c", KILLED_AT_ONCE, threads], env={name: value, "PATH": "/usr/bin:/bin"})
    for _ in range(200):
        if not running(mark):
            return
        time.sleep(0.05)
    pytest.fail(f"left: {running(mark)}")


def test_a_folder_is_known_before_it_is_made_and_until_it_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, bool]] = []
    monkeypatch.setattr(guarded, "_tell", lambda line: told.append((line[:2], Path(line[3:]).exists())))
    with guarded.scratch_folder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "a").write_text("a", encoding="utf-8")
    assert told == [("+d", False), ("-d", False)]


def test_a_program_that_cannot_run_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(guarded, "_tell", told.append)
    with pytest.raises(FileNotFoundError):
        processes.start(["/nowhere/program"], {}, subprocess.DEVNULL)
    assert [line[:2] for line in told] == ["-g"]
