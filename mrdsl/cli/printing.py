"""What commands print; a reader that leaves in the middle changes no exit code."""

from __future__ import annotations

import os
import sys
from typing import IO

import click


def say(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Prints to standard output, or to standard error; where its reader has left, into nothing."""
    try:
        click.echo(text, err=err, nl=nl)
    except BrokenPipeError:
        reader_has_left(sys.stderr if err else sys.stdout)


def reader_has_left(stream: IO[str]) -> None:
    """Puts the null device in place of a pipe whose reader has left, so that the end of the process writes no more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
