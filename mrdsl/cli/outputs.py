"""Outputs of commands: files to write, tables and JSON to print."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from mrdsl.core.diagnostics import MrdslError, one_error
from mrdsl.core.reading import STANDARD_OUTPUT, identities

if TYPE_CHECKING:
    from mrdsl.cli.progress import StatusLine
    from mrdsl.core.result import Table

STATUS: ContextVar[StatusLine | None] = ContextVar("STATUS", default=None)
"""The status line, which ends before anything is printed."""


def command_line() -> str:
    """Return the command as a user would type it, to repeat it."""
    import shlex

    return shlex.join(["mrdsl", *sys.argv[1:]])


@dataclass(frozen=True)
class Outputs:
    """The outputs of a command by option; ``printed``: it prints only one JSON object."""

    files: Mapping[str, Path | None]
    force: bool
    printed: bool = False

    @property
    def to_standard_output(self) -> str | None:
        """The option that names standard output."""
        return next((option for option, path in self.files.items() if path == STANDARD_OUTPUT), None)

    def check(self, *inputs: Path | None) -> None:
        """Raise MrdslError if a file is one of the inputs, exists, or is named twice."""
        named = {option: path for option, path in self.files.items() if path is not None}
        if not named:
            return
        owners: dict[object, str] = {}
        for option, path in named.items():
            for identity in identities(path):
                first = owners.setdefault(identity, option)
                if first != option:
                    raise one_error(
                        "wrong-option",
                        f"`{first}` and `{option}` would write the same file, `{named[first]}`",
                        None,
                        "give each output its own file name",
                    )
        taken = self.to_standard_output
        if self.printed and taken not in (None, "-o"):
            raise one_error(
                "wrong-option",
                f"`--json` and `{taken}` both write to standard output",
                None,
                "give one of them a file name",
            )
        from mrdsl.core.writer import refusals

        read = [path for path in inputs if path is not None]
        refused = [each for path in named.values() for each in refusals(path, force=self.force, inputs=read)]
        if refused:
            raise MrdslError(refused)

    def write(self, option: str, content: str | bytes) -> None:
        """Write the text or the bytes to the output of the option. Raises MrdslError."""
        path = self.files[option]
        if path is not None:
            from mrdsl.core.writer import Together

            data = content.encode() if isinstance(content, str) else content
            with Together(force=self.force) as files, files.binary(path) as stream:
                stream.write(data)


class OutputFile(click.Path):
    """A file to write, ``-`` for standard output: that it can be written is found out before the work, not after it."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False, allow_dash=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Raises MrdslError ``unwritable-file`` if the system does not let it be written."""
        from mrdsl.core.reading import STANDARD_OUTPUT, is_standard_output, unwritable

        if not str(value):
            self.fail("the file name is empty", param, ctx)
        path = Path(os.fsdecode(value))
        reason = "" if is_standard_output(path) else unwritable(path)
        if reason:
            from mrdsl.core.writer import refused

            raise MrdslError([refused(path, reason)])
        return STANDARD_OUTPUT if is_standard_output(path) else path


def terminal_width(stream: IO[str] | None) -> int | None:
    """Return the columns of the terminal that a stream writes to, None for a file or a pipe."""
    if stream is None or not stream.isatty():
        return None
    from shutil import get_terminal_size

    return max(20, get_terminal_size().columns)


def terminal_style(stream: IO[str] | None, **style: Any) -> Callable[[str], str]:
    """Return a function that styles a text as click does if the stream is a terminal with colors."""
    if terminal_width(stream) is None or "NO_COLOR" in os.environ:
        return str
    return partial(click.style, **style)


class OutputLostError(Exception):
    """An error of standard output, with the reason in words."""


def _as_json_escapes(failure: UnicodeError) -> tuple[str, int]:
    r"""Replace characters that an encoding lacks by JSON escapes, which are valid in text and JSON: ``\u591c``."""
    assert isinstance(failure, UnicodeEncodeError)
    units = failure.object[failure.start : failure.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)), failure.end


codecs.register_error("mrdsl.json_escapes", _as_json_escapes)


def take_every_character() -> None:
    """Let standard output and errors escape the characters that their encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors in ("strict", "surrogateescape", "backslashreplace"):
            stream.reconfigure(errors="mrdsl.json_escapes")


def escaped_for(text: str, encoding: str | None) -> str:
    """Escape the yen sign and the overline for encodings of Japanese that write a backslash and a tilde for them."""
    if encoding is None or "\u00a5".encode(encoding, "replace") != b"\\":
        return text
    return text.replace("\u00a5", "\\u00a5").replace("\u203e", "\\u203e")


def say_wrapped(text: str, hanging: int = 2, *, err: bool = False) -> None:
    """Print lines in the width of the terminal; ``hanging`` indents the rest of a long line."""
    from mrdsl.core.tables import wrapped

    say(wrapped(text, terminal_width(sys.stderr if err else sys.stdout), hanging), err=err)


def say_file(text: str) -> None:
    """Print the text of a file, which is UTF-8 whatever the encoding of standard output. Raises OutputLostError."""
    if sys.stdout.encoding.lower() in ("utf-8", "utf8") or not hasattr(sys.stdout, "buffer"):
        say(text, nl=False)
        return
    sys.stdout.flush()
    say(text.encode(), nl=False)


def say(text: str | bytes = "", *, err: bool = False, nl: bool = True) -> None:
    """Print to standard output, or to standard error; print nothing if its reader has left.

    Errors of standard error are ignored, since they cannot be reported. Raises OutputLostError for those of standard
    output.
    """
    if (line := STATUS.get()) is not None:
        line.end()
    stream = sys.stderr if err else sys.stdout
    if isinstance(text, str):
        text = escaped_for(text, getattr(stream, "encoding", None))
    try:
        click.echo(text, err=err, nl=nl)
    except BrokenPipeError:
        write_no_more(stream)
    except OSError as failure:
        write_no_more(stream)
        if not err:
            raise OutputLostError(failure.strerror or "the system refused it") from None


def say_tables(parts: Iterable[Table | str]) -> None:
    """Print tables and sentences to standard output, in the width of its terminal."""
    from mrdsl.core.tables import print_tables

    say(print_tables(parts, terminal_width(sys.stdout)), nl=False)


def write_no_more(stream: IO[str]) -> None:
    """Replace a broken stream by the null device, so that the end of the process writes nothing there."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
