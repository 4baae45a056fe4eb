"""No test and no run of all tests hangs: each ends by itself, and names the test that ran."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from tests.sources import ROOT

FINE = "def test_fine():\n    pass\n"
STUCK = """import pathlib, time
def test_stuck():
    pathlib.Path("ran").touch()
    time.sleep(1000)
"""
CI = ROOT / ".ci" / "run"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Write a project whose second test never ends, with the settings of this one and a `.ci/run` without tools."""
    (tmp_path / "tests").mkdir()
    for name in ("conftest.py", "__init__.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tests" / "test_both.py").write_text(FINE + STUCK, encoding="utf-8")
    (tmp_path / ".ci").mkdir()
    shutil.copy(CI, tmp_path / ".ci")
    tests = f"{sys.executable} -m pytest -p no:cacheprovider -n 1"
    page = f"<!-- test command -->\n```sh\npip --version && {tests}\n```\n"
    (tmp_path / "README.md").write_text(page, encoding="utf-8")
    (tmp_path / "tools").mkdir()
    for tool in ("pip", "mkdocs", "ruff", "mypy", "lint-imports", "docker", "apt-get"):
        script(tmp_path / "tools" / tool, "exit 0")
    script(tmp_path / "tools" / "python3", 'mkdir -p "$3/bin" && touch "$3/bin/activate"')
    script(tmp_path / ".ci" / "lowest", "exit 0")
    return tmp_path


def script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


def environment(project: Path, **more: str) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "CI_"))}
    return inherited | {"PATH": f"{project / 'tools'}{os.pathsep}{os.environ['PATH']}"} | more


def test_the_limits_are_those_that_contributing_states() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert (settings["faulthandler_timeout"], settings["faulthandler_exit_on_timeout"]) == (120, True)
    assert "${CI_LIMIT:-40m}" in CI.read_text(encoding="utf-8")
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "120 s" in page
    assert "40 minutes" in page


@pytest.mark.parametrize("processes", ["0", "1"])
def test_a_test_that_never_ends_ends_the_run(processes: str, project: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-n",
        processes,
        "-o",
        "faulthandler_timeout=1",
    ]
    ran = subprocess.run(command, cwd=project, env=environment(project), capture_output=True, text=True, timeout=600)
    assert ran.returncode != 0
    assert "test_stuck" in ran.stdout + ran.stderr


def started(command: list[str], project: Path, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=project,
        env=environment(project, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


@pytest.mark.skipif(shutil.which("timeout") is None, reason="no command `timeout`")
def test_a_run_that_is_ended_names_the_test(project: Path) -> None:
    """`timeout` passes a signal on in the same way as it ends a run after its limit."""
    process = started([".ci/run"], project)
    while not (project / "ran").exists():
        assert process.poll() is None, process.stdout and process.stdout.read()
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 124
    assert "1 test was running:\n  tests/test_both.py::test_stuck\n" in output
    assert ".ci/run: ended" in output


@pytest.mark.skipif(shutil.which("timeout") is None, reason="no command `timeout`")
def test_a_run_ends_by_itself(project: Path) -> None:
    (project / "README.md").write_text(
        "<!-- test command -->\n```sh\npip --version && sleep 1000\n```\n", encoding="utf-8"
    )
    process = started([".ci/run"], project, CI_LIMIT="1s")
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 124
    assert "limit of 1s" in output
