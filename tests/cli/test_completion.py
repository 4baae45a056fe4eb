"""Completion at Tab: the possible next words and nothing else, and the scripts that ask for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mrdsl.cli import COMMANDS
from tests.command_lines import ROOT, run_here

EXPECTED = {
    "mrdsl so": ["plain,solve", "plain,solvers"],
    "mrdsl sweet": [],
    "mrdsl 'so": ["plain,solve", "plain,solvers"],
    "mrdsl slove --js": [],
    "mrdsl solve --js": ["plain,--json"],
    "mrdsl solve --no-such x --js": ["plain,--json"],
    "mrdsl solve --time-limit never --js": ["plain,--json"],
    "mrdsl solve no-such-file.mrspec --js": ["plain,--json"],
    "mrdsl solve models/": ["file,models/"],
    "mrdsl solve a.mrspec -o b": ["file,b"],
    "mrdsl profile lo": ["file,lo"],
    "mrdsl check --format s": ["plain,sarif"],
    "mrdsl completion ": ["plain,bash", "plain,zsh", "plain,fish"],
    "mrdsl solve --seed 1.5 --js": ["plain,--json"],
}


def ask(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """Set the environment in which the script of bash calls mrdsl; the word to complete is the last one."""
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    monkeypatch.setenv("_MRDSL_COMPLETE", "bash_complete")


@pytest.mark.parametrize("words", EXPECTED)
def test_next_words(words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ask(monkeypatch, words)
    ran = run_here((), tmp_path)
    assert (ran.exit_code, ran.output.split()) == (0, EXPECTED[words])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_tab_is_silent_but_for_its_words(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for rest in ("", "-", "--o", "x -", "x y z "):
        ask(monkeypatch, f"mrdsl {command} {rest}")
        ran = run_here((), tmp_path)
        assert ran.exit_code == 0
        assert all(line.startswith(("plain,", "file,", "dir,")) for line in ran.output.split("\n") if line), rest


def test_an_unknown_question_is_not_an_error_of_mrdsl(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ask(monkeypatch, "mrdsl so")
    for question in ("bash_nothing", "csh_complete", ""):
        monkeypatch.setenv("_MRDSL_COMPLETE", question)
        assert "internal" not in run_here((), tmp_path).output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_for_its_shell(shell: str, tmp_path: Path) -> None:
    ran = run_here(("completion", shell), tmp_path)
    assert ran.exit_code == 0
    assert f"_MRDSL_COMPLETE={shell}_complete" in ran.output
    program = shutil.which(shell)
    if program is not None:
        done = subprocess.run([program, "-n"], input=ran.output, text=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_another_shell_is_an_error(tmp_path: Path) -> None:
    ran = run_here(("completion", "csh"), tmp_path)
    assert ran.exit_code == 2
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in ran.output


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes(tmp_path: Path) -> None:
    """The line of the README in a real bash: `mrdsl so` and Tab."""
    (tmp_path / "mrdsl").write_text(f'#!/bin/sh\nexec {sys.executable} -m mrdsl "$@"\n', encoding="utf-8")
    (tmp_path / "mrdsl").chmod(0o755)
    script = """eval "$(mrdsl completion bash)"
complete -p mrdsl
COMP_WORDS=(mrdsl so) COMP_CWORD=1
_mrdsl_completion mrdsl so mrdsl
echo "${COMPREPLY[@]}"
"""
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], env=environment, text=True, capture_output=True)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["complete -o nosort -F _mrdsl_completion mrdsl", "solve solvers"]
