"""Console lines of the documentation, ``$ mrdsl check bad.mrspec  # exit 2, why``, run in this process.

Python code runs in a process of its own.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from mrdsl.cli import cli
from mrdsl.cli.boundary import run
from mrdsl.extending import forget
from studies.__main__ import studies

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^\$ (?:\w+=\S+ )*((?:mrdsl|python -m studies)(?: .*)?)$", re.MULTILINE)
STUDIES = ("python", "-m", "studies")
_EXIT = re.compile(r"#.*\bexit (\d)")
_SPEC = re.compile(r"^```(?:mrspec|toml)\n(# file: (\S+)\n.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class CommandLine:
    """One line as it stands, its words, the exit code that it states (0 where it states none), and the lines below it.

    ``printed`` are those lines that it is said to print, without blank ones and ``...``.
    """

    line: str
    words: tuple[str, ...]
    exit_code: int
    printed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ran:
    """What a command left: its exit code, and all that it printed."""

    exit_code: int
    output: str


def command_lines(text: str) -> Iterator[CommandLine]:
    """The lines of all console blocks that call mrdsl."""
    for block in _BLOCK.findall(text):
        for match in _LINE.finditer(block):
            line, below = match[1], block[match.end() :].split("\n$ ")[0].splitlines()
            stated = _EXIT.search(line)
            printed = tuple(each.rstrip() for each in below if each.strip() not in ("", "..."))
            words = tuple(shlex.split(line, comments=True))
            words = words if words[:3] == STUDIES else words[1:]
            yield CommandLine(line, words, int(stated[1]) if stated else 0, printed)


def named_specs(text: str) -> Iterator[tuple[str, str]]:
    """Name and text of the specs whose first line is ``# file: NAME``."""
    for body, name in _SPEC.findall(text):
        yield name, body


def save_named_specs(text: str, folder: Path) -> None:
    """Saves the specs whose first line is ``# file: NAME``."""
    for name, body in named_specs(text):
        (folder / name).write_text(body, encoding="utf-8")


def run_here(words: tuple[str, ...], folder: Path) -> Ran:
    """Run a command in the folder, in this process; restore environment, arguments and signals.

    `words` are those after `mrdsl`, or all of `python -m studies ...`.

    So is what a plug-in in the folder brought: its modules, its family, its place on Python's path.
    """
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    interrupts, before, modules = signal.getsignal(signal.SIGINT), Path.cwd(), set(sys.modules)
    os.chdir(folder)
    try:
        with (
            patch.dict(os.environ),
            patch.object(sys, "argv", ["studies", *words[3:]] if words[:3] == STUDIES else ["mrdsl", *words]),
            patch.object(sys, "path", list(sys.path)),
            redirect_stdout(out),
            redirect_stderr(out),
        ):
            code = run(studies if words[:3] == STUDIES else cli)
    finally:
        os.chdir(before)
        signal.signal(signal.SIGINT, interrupts)
        forget(set(sys.modules) - modules, folder)
    return Ran(code, out.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]


def run_python(
    code: str, folder: Path = ROOT, path: Iterable[Path] = (), words: Iterable[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs code in a process of its own, which must end well; ``path`` is where modules are looked for before here."""
    own = {"PYTHONPATH": os.pathsep.join(map(str, (*path, ROOT))), **environment}
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "MRDSL_SOLVERS"} | own,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return done
