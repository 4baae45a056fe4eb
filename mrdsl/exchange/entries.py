"""What an entry of the registry of formats is: a reader, a reader of logs, or a writer; and how entries are found."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

from mrdsl.core.regular_files import problem_of, reason
from mrdsl.exchange.mistakes import EmptyFileError, FormatError

if TYPE_CHECKING:
    from mrdsl.core.diagnostics import Diagnostic
    from mrdsl.exchange.logs.formats import LogFormat
    from mrdsl.exchange.models.written import Written
    from mrdsl.exchange.targets.deployment import Deployment, Exported, Wishes

T = TypeVar("T")
Mistakes = list["Diagnostic"]


@dataclass(frozen=True)
class Reader(Generic[T]):
    """A format that is read. ``reads`` says what comes out of it; ``sign`` is the regular
    expression of how its files begin, where that tells.

    ``load()`` gives the function: of a path and a list for the mistakes that have a line of their own; it raises
    FormatError where nothing can be read at all.
    """

    name: str
    reads: str
    doc: str
    load: Callable[[], Callable[[str, Mistakes], T]]
    endings: tuple[str, ...] = ()
    sign: str = ""

    def read(self, path: str | Path, mistakes: Mistakes) -> T:
        """What the file holds; broken lines are left out and told in ``mistakes``.

        Raises FormatError where there is no such file, it is a folder or a pipe, empty, or not of this format.
        """
        refused = problem_of(path)
        if refused:
            raise FormatError(refused, "check the name")
        if not os.path.getsize(path):
            raise EmptyFileError
        try:
            return self.load()(str(path), mistakes)
        except OSError as failure:
            raise FormatError(reason(failure), "check the name") from None


@dataclass(frozen=True)
class LogReader:
    """A kind of log. Logs are told apart by how they begin, not by their names, and read one job at a time.

    ``load()`` gives what tells them and what reads them.
    """

    name: str
    reads: str
    doc: str
    load: Callable[[], LogFormat]
    endings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Writer(Generic[T]):
    """A format that is written. ``writes`` says what goes into it, ``needs`` the package that it takes, if any.

    ``load()`` gives the function.
    """

    name: str
    writes: str
    doc: str
    load: Callable[[], T]
    endings: tuple[str, ...] = ()
    needs: str = ""


@dataclass(frozen=True)
class ModelWriter(Writer[Callable[[IO[str], Any, str], "Written"]]):
    """A format of model files: of the stream, the model and its title.

    A ``linear`` one takes the pair of a LinearProgram and its Names, any other a Pyomo model. ``beside`` are the
    endings of the files that lie beside the model's.
    """

    linear: bool = False
    encoding: str = "ascii"
    beside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target(Writer[Callable[["Deployment", "Wishes"], "Exported"]]):
    """What plans are exported to: of one cluster, and what the user asks for besides.

    ``wishes`` names what may be asked for; its function raises TargetError where the target cannot take the plan.
    """

    wishes: tuple[str, ...] = ()


Entry = TypeVar("Entry", bound="Reader[Any] | Writer[Any]")


def names(entries: Iterable[Reader[Any] | LogReader | Writer[Any]]) -> tuple[str, ...]:
    """The names of formats, in order."""
    return tuple(entry.name for entry in entries)


def endings(entries: Iterable[Reader[Any] | Writer[Any]]) -> tuple[str, ...]:
    """All endings of formats, in order."""
    return tuple(ending for entry in entries for ending in entry.endings)


def named(entries: Iterable[Entry], name: str | None) -> Entry | None:
    """The format of that name."""
    return next((entry for entry in entries if entry.name == name), None)


def by_ending(entries: Iterable[Entry], ending: str) -> Entry | None:
    """The format whose files end so."""
    return next((entry for entry in entries if ending.lower() in entry.endings), None)


def recognized(entries: Iterable[Reader[T]], text: str) -> Reader[T] | None:
    """The format whose files begin like this text."""
    return next((entry for entry in entries if entry.sign and re.match(entry.sign, text)), None)


def listed(entries: Iterable[Reader[Any] | LogReader | Writer[Any]]) -> str:
    """The names as messages give them: ``there are: cbc, glpk``."""
    return "there are: " + ", ".join(names(entries))
