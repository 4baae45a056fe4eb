"""Console lines of the documentation, ``$ mrdsl check bad.mrspec  # exit 2, why``, run in this process."""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from mrdsl.cli import cli
from mrdsl.cli.boundary import run

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^\$ (?:\w+=\S+ )*(mrdsl .*)$", re.MULTILINE)
_EXIT = re.compile(r"#.*\bexit (\d)")
_SPEC = re.compile(r"^```mrspec\n(# file: (\S+)\n.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class CommandLine:
    """One line as it stands, its words, and the exit code that it states; 0 where it states none."""

    line: str
    words: tuple[str, ...]
    exit_code: int


@dataclass(frozen=True)
class Ran:
    """What a command left: its exit code, and all that it printed."""

    exit_code: int
    output: str


def command_lines(text: str) -> Iterator[CommandLine]:
    """The lines of all console blocks that call mrdsl."""
    for block in _BLOCK.findall(text):
        for line in _LINE.findall(block):
            stated = _EXIT.search(line)
            yield CommandLine(line, tuple(shlex.split(line, comments=True)[1:]), int(stated[1]) if stated else 0)


def save_named_specs(text: str, folder: Path) -> None:
    """Saves the specs whose first line is ``# file: NAME``."""
    for body, name in _SPEC.findall(text):
        (folder / name).write_text(body, encoding="utf-8")


def run_here(words: tuple[str, ...], folder: Path) -> Ran:
    """Runs a command in the folder, in this process; environment, arguments and signals are afterwards as before."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    interrupts, before = signal.getsignal(signal.SIGINT), Path.cwd()
    os.chdir(folder)
    try:
        with (
            patch.dict(os.environ),
            patch.object(sys, "argv", ["mrdsl", *words]),
            redirect_stdout(out),
            redirect_stderr(out),
        ):
            code = run(cli)
    finally:
        os.chdir(before)
        signal.signal(signal.SIGINT, interrupts)
    return Ran(code, out.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]
