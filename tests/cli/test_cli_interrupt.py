"""Ctrl-C while a solver runs: one word, exit code 4, and nothing left running."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mrdsl.resources import resource
from tests.solving.test_limits import fake_program, running

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = resource("models") / "capacity" / "reference.mrspec"


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_solver_does_not_outlive_its_user(stop: signal.Signals, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    fake_program(tmp_path, "cbc", f'[ "$1" = -quit ] && exit 0\ntrap "" INT TERM\necho $$ > {pids}\nsleep 600\n')
    process = subprocess.Popen(
        [sys.executable, "-m", "mrdsl", "solve", str(REFERENCE), "--solver", "fake-cbc", "--json"], text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MRDSL_SOLVERS": str(tmp_path)}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
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


def test_an_experiment_of_many_solves_ends_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A solve makes a result of KeyboardInterrupt; an experiment must not go on with the next one."""
    from mrdsl.cli import cli
    from mrdsl.cli.boundary import run

    def study(folder: Path, **options: object) -> list[object]:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise AssertionError("goes on")

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("mrdsl.cli.experiment.load", lambda reference: study)
    monkeypatch.setattr(sys, "argv", ["mrdsl", "experiment", "joint-sizes", "-o", str(tmp_path)])
    try:
        assert run(cli) == 4
    finally:
        signal.signal(signal.SIGINT, before)
