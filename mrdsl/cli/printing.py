"""What commands print; a reader that leaves in the middle changes no exit code, nor does a full standard error."""

from __future__ import annotations

import os
import sys
from typing import IO

import click


class OutputLostError(Exception):
    """Standard output takes nothing, with the reason in words."""


def say(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Prints to standard output, or to standard error; where its reader has left, into nothing.

    Into nothing, too, where standard error takes nothing: nobody could be told. Raises OutputLostError where standard
    output does not.
    """
    stream = sys.stderr if err else sys.stdout
    try:
        click.echo(text, err=err, nl=nl)
    except BrokenPipeError:
        write_no_more(stream)
    except OSError as failure:
        write_no_more(stream)
        if not err:
            raise OutputLostError(failure.strerror or "the system refuses") from None


def write_no_more(stream: IO[str]) -> None:
    """Puts the null device in place of what takes nothing, so that the end of the process writes no more there."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
