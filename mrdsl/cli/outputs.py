"""The files that a command is told to write: one rule for all commands, seen to before the work begins."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.output_names import STANDARD_OUTPUT, is_standard_output, may, same_output


def command_line() -> str:
    """The command as one would type it, for what is to be repeated."""
    import shlex

    return shlex.join(["mrdsl", *sys.argv[1:]])


@dataclass(frozen=True)
class Outputs:
    """What a command writes, by option; ``printed`` where it prints one JSON object and nothing else."""

    files: Mapping[str, Path | None]
    force: bool
    printed: bool = False

    @property
    def to_standard_output(self) -> str | None:
        """The option that names standard output."""
        return next((option for option, path in self.files.items() if path == STANDARD_OUTPUT), None)

    def check(self, *inputs: Path | None) -> None:
        """Raises MrdslError where a file is one of the inputs, is there already, or is named twice."""
        named = {option: path for option, path in self.files.items() if path is not None}
        if not named:
            return
        for (first, one), (second, other) in combinations(named.items(), 2):
            if same_output(one, other):
                raise MrdslError(
                    [
                        error(
                            "wrong-option",
                            f"`{first}` and `{second}` name the same file, `{one}`",
                            None,
                            "give each a name of its own",
                        )
                    ]
                )
        taken = self.to_standard_output
        if self.printed and taken not in (None, "-o"):
            raise MrdslError(
                [
                    error(
                        "wrong-option",
                        f"`--json` and `{taken}` both write to standard output",
                        None,
                        "give one of them a file's name",
                    )
                ]
            )
        from mrdsl.core.writer import refusals

        read = [path for path in inputs if path is not None]
        refused = [each for path in named.values() for each in refusals(path, force=self.force, inputs=read)]
        if refused:
            raise MrdslError(refused)

    def write(self, option: str, content: str | bytes) -> None:
        """Writes the text or the bytes where the option asks for them. Raises MrdslError."""
        path = self.files[option]
        if path is not None:
            from mrdsl.core.writer import Together

            data = content.encode() if isinstance(content, str) else content
            with Together(force=self.force) as files, files.binary(path) as stream:
                stream.write(data)


def refuse_folder(folder: Path, *, force: bool = True, inputs: Iterable[Path] = ()) -> None:
    """Raises MrdslError where a folder cannot take files; without ``force`` where it holds some, or one of the inputs.

    A folder for files whose names are known only at the end is refused at the beginning, not after an hour's work.
    """
    if is_standard_output(folder) and force:
        return
    reason = _no_folder(folder)
    if reason:
        raise MrdslError(
            [
                error(
                    "unwritable-file",
                    f"`{folder}` takes no files: {reason}",
                    None,
                    "name a folder that is there, or can be made",
                )
            ]
        )
    within = [path for path in inputs if os.path.isfile(path) and path.resolve().is_relative_to(folder.resolve())]
    if within:
        raise MrdslError(
            [
                error(
                    "output-is-input",
                    f"`{folder}` holds `{within[0]}`, which this command reads",
                    None,
                    "write to another folder",
                )
            ]
        )
    from mrdsl.core.writer import LOCK

    if not force and folder.exists() and any(entry.name != LOCK for entry in folder.iterdir()):
        raise MrdslError(
            [
                error(
                    "file-exists",
                    f"the folder `{folder}` is there already and not empty",
                    None,
                    "choose another name, or say --force",
                )
            ]
        )


def _no_folder(folder: Path) -> str:
    """Why a name is no folder and cannot be made one, "" where it can."""
    if is_standard_output(folder):
        return "it is standard output"
    try:
        nearest = next(above for above in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(above))
        if not nearest.is_dir():
            return f"{str(nearest)!r} is no folder"
        return "" if may(nearest, os.W_OK | os.X_OK) else f"{str(nearest)!r} takes no files"
    except OSError as problem:
        return problem.strerror or "the system refuses"
