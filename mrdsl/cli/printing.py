"""What commands print; a reader that leaves in the middle changes no exit code, nor does a full standard error."""

from __future__ import annotations

import codecs
import os
import sys
from io import TextIOWrapper
from typing import IO

import click


class OutputLostError(Exception):
    """Standard output takes nothing, with the reason in words."""


def _as_json_escapes(failure: UnicodeError) -> tuple[str, int]:
    r"""Replace what an encoding lacks by JSON's escapes, which text and JSON may both contain: ``\u591c``."""
    assert isinstance(failure, UnicodeEncodeError)
    units = failure.object[failure.start : failure.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)), failure.end


codecs.register_error("mrdsl.json_escapes", _as_json_escapes)


def take_every_character() -> None:
    """Let standard output and errors escape the characters that their encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors in ("strict", "surrogateescape", "backslashreplace"):
            stream.reconfigure(errors="mrdsl.json_escapes")


def say_file(text: str) -> None:
    """Print the text of a file, which is UTF-8 whatever the encoding of standard output. Raises OutputLostError."""
    if sys.stdout.encoding.lower() in ("utf-8", "utf8") or not hasattr(sys.stdout, "buffer"):
        say(text, nl=False)
        return
    sys.stdout.flush()
    say(text.encode(), nl=False)


def say(text: str | bytes = "", *, err: bool = False, nl: bool = True) -> None:
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
