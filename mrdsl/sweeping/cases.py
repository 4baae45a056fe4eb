"""The cases of a study, in processes of this machine or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mrdsl.contracts.family import Experiment
from mrdsl.contracts.study import Bench, Case, Failure, Mapper, tell_failures
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.planning.studies import known_studies
from mrdsl.spec.spec import Spec
from mrdsl.sweeping.executors import DASK, PROCESSES, refuse_unknown, run_all


@dataclass(frozen=True)
class PickledBench:
    """A bench by its functions, which other processes import by their names."""

    load: Callable[..., Spec]
    solve: Callable[..., Any]
    fmt: Callable[[str], str]


@dataclass(frozen=True)
class CaseRun:
    """A case as the executors run it; a row has what it found, or the MrdslError that it raised."""

    number: int
    case: Case
    bench: PickledBench

    def row(self) -> dict[str, Any]:
        """What it found, or why nothing."""
        try:
            return {"number": self.number, "found": self.case.found(self.bench)}
        except MrdslError as failure:
            return {"number": self.number, "failure": failure}

    def lost(self, message: str) -> dict[str, Any]:
        """What is told of a case that ended its process."""
        hint = "run the study without --processes and --executor to see where it fails"
        return {"number": self.number, "failure": MrdslError([error("internal", message, None, hint)], 3)}


def on_dask(scheduler: str) -> str:
    """The executor on the cluster of a scheduler, ``HOST:PORT`` with or without ``dask://`` before it."""
    return f"{DASK}{scheduler.partition('://')[2] or scheduler}"


def mapper_for(study: Experiment, processes: int | None, executor: str) -> Mapper | None:
    """Who goes through the study's cases; None where nobody is asked for, and they go one after another.

    Raises MrdslError ``wrong-option`` where the study has no cases, there is no such executor, or both processes and
    Dask are asked for.
    """
    refuse_unknown(executor, processes)
    if processes is None and executor == PROCESSES:
        return None
    if not study.by_cases:
        message = f"the study `{study.name}` has no cases of their own that processes or Dask could share"
        able = ", ".join(each.name for each in known_studies().values() if each.by_cases)
        raise _wrong(message, f"leave it out; studies that have: {able}" if able else "leave it out")
    return partial(shared, workers=processes, executor=executor)


def shared(bench: Bench, cases: Sequence[Case], *, workers: int | None, executor: str) -> Iterator[tuple[int, Any]]:
    """Goes through the cases by :func:`mrdsl.sweeping.executors.run_all`, as a mapper does."""
    functions = PickledBench(bench.load, bench.solve, bench.fmt)
    runs = [CaseRun(number, case, functions) for number, case in enumerate(cases)]
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
