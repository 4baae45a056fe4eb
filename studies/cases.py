"""The cases of a study, in processes of this machine or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.sweeping.executors import DASK, PROCESSES, refuse_unknown, run_all
from studies.catalogue import STUDIES, Study


class Case(Protocol):
    """A part of a study that needs no other part. It and what it finds are pickled."""

    @property
    def name(self) -> str:
        """What tells it apart where it fails."""

    def found(self) -> Any:
        """What the study asks of it."""


Mapper = Callable[[Sequence[Case]], Iterator[tuple[int, Any]]]
"""Goes through cases, wherever: the place of each and what it found, as they end, in any order.

A case that raises MrdslError does not keep the others: at the end MrdslError tells all of them, each by its name.
"""


def one_by_one(cases: Sequence[Case]) -> Iterator[tuple[int, Any]]:
    """The mapper that takes one case after another in this process."""
    failures: list[Failure] = []
    for place, case in enumerate(cases):
        try:
            found = case.found()
        except MrdslError as failure:
            failures.append((case, failure))
            continue
        yield place, found
    tell_failures(failures)


Failure = tuple[Case, MrdslError]


def tell_failures(failures: Sequence[Failure]) -> None:
    """Raises MrdslError with what every failed case says, if any did, and the exit code of the first."""
    if failures:
        told = [_named(case, each) for case, failure in failures for each in failure.diagnostics]
        raise MrdslError(told, failures[0][1].exit_code)


def _named(case: Case, diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, message=f"{case.name}: {diagnostic.message}")


@dataclass(frozen=True)
class CaseRun:
    """A case as the executors run it; a row has what it found, or the MrdslError that it raised."""

    number: int
    case: Case

    def row(self) -> dict[str, Any]:
        """What it found, or why nothing."""
        try:
            return {"number": self.number, "found": self.case.found()}
        except MrdslError as failure:
            return {"number": self.number, "failure": failure}

    def lost(self, message: str) -> dict[str, Any]:
        """What is told of a case that ended its process."""
        hint = "run the study without --processes and --executor to see where it fails"
        return {"number": self.number, "failure": MrdslError([error("internal", message, None, hint)], 3)}


def on_dask(scheduler: str) -> str:
    """The executor on the cluster of a scheduler, ``HOST:PORT`` with or without ``dask://`` before it."""
    return f"{DASK}{scheduler.partition('://')[2] or scheduler}"


def mapper_for(study: Study, processes: int | None, executor: str) -> Mapper | None:
    """Who goes through the study's cases; None where nobody is asked for, and they go one after another.

    Raises MrdslError ``wrong-option`` where the study has no cases, there is no such executor, or both processes and
    Dask are asked for.
    """
    refuse_unknown(executor, processes)
    if processes is None and executor == PROCESSES:
        return None
    if not study.by_cases:
        message = f"the study `{study.name}` has no cases of their own that processes or Dask could share"
        able = ", ".join(each.name for each in STUDIES.values() if each.by_cases)
        raise _wrong(message, f"leave it out; studies that have: {able}" if able else "leave it out")
    return partial(shared, workers=processes, executor=executor)


def shared(cases: Sequence[Case], *, workers: int | None, executor: str) -> Iterator[tuple[int, Any]]:
    """Goes through the cases by :func:`mrdsl.sweeping.executors.run_all`, as a mapper does."""
    runs = [CaseRun(number, case) for number, case in enumerate(cases)]
    failures: dict[int, Failure] = {}
    try:
        for row in run_all(runs, workers, executor, apart=True):
            number = row["number"]
            if "failure" in row:
                failures[number] = cases[number], row["failure"]
            else:
                yield number, row["found"]
    except MrdslError as lost:
        raise MrdslError([_anew(each) for each in lost.diagnostics], lost.exit_code) from None
    tell_failures([failures[number] for number in sorted(failures)])


def _anew(told: Any) -> Any:
    """A study does not go on where it stopped."""
    hint = "start it again, and run the study anew with --force"
    return replace(told, hint=hint) if told.code == "lost-scheduler" else told


def _wrong(message: str, hint: str) -> MrdslError:
    return MrdslError([error("wrong-option", message, None, hint)])
