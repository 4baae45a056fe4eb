"""The files that a command is told to write: one rule for all commands, seen to before the work begins."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.output_names import STANDARD_OUTPUT, same_output


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
