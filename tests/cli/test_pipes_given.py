"""A named pipe in the place of an input file: refused with its kind, whether or not a program writes to it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mrdsl.core.resources import resource
from tests.command_lines import run_here

SPEC = Path(str(resource("models"))) / "capacity" / "quickstart.mrspec"
SOLUTION = "solution status: infeasible\nno solution available\n"
COMMANDS = {
    "check PIPE": (),
    "fmt PIPE": (),
    "fmt --check PIPE": (),
    "solve PIPE": (),
    "verify PIPE": (),
    "profile PIPE": (),
    "solve SPEC --data PIPE": (),
    "solve SPEC --start PIPE": (),
    "read SPEC --solution PIPE": (),
    "read SPEC --solution x.sol --names PIPE": ("names.json of a linear model",),
}


@contextmanager
def pipe(path: Path) -> Iterator[None]:
    """A pipe that a program opens and closes: what reads it meets its end instead of waiting for ever."""
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.open("wb").close())
    writer.start()
    try:
        yield
    finally:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # lets a writer go that nothing has read from
        writer.join()
        os.close(handle)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("line", COMMANDS)
def test_a_pipe_is_refused_with_its_kind(line: str, tmp_path: Path) -> None:
    (tmp_path / "x.sol").write_text(SOLUTION, encoding="utf-8")
    words = [{"PIPE": "pipe.mrspec", "SPEC": str(SPEC)}.get(word, word) for word in line.split()]
    with pipe(tmp_path / "pipe.mrspec"):
        done = run_here(tuple(words), tmp_path)
    assert done.exit_code == 2
    assert any(said in done.output for said in COMMANDS[line] or ("it is a pipe",)), done.output
