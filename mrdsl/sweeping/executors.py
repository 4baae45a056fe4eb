"""Executors of the runs of a sweep: processes on this machine, or a Dask cluster."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from typing import Any, Protocol

from mrdsl.core.diagnostics import MrdslError, one_error, shortened
from mrdsl.solving.worker import answers

PROCESSES, DASK = "processes", "dask://"
_PATIENCE = 5.0
_TOGETHER = 16
"""Runs that are handed over at once at most."""


class Run(Protocol):
    """One run, with all that it needs wherever it is run; it can be pickled."""

    @property
    def number(self) -> int:
        """Its number in the order of all runs."""

    def row(self) -> dict[str, Any]:
        """Return the row of the run; errors make a row too."""

    def lost(self, message: str) -> dict[str, Any]:
        """Return the row of a run without a plan, with the reason."""


def run_all(
    missing: Sequence[Run], workers: int | None, executor: str, *, apart: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield rows as they are finished, from ``processes`` or ``dask://HOST:PORT``.

    ``apart``: no run is in this process, and each row is yielded as soon as its run has ended. Raises MrdslError if
    there is no such executor, or it does not answer.
    """
    refuse_unknown(executor, workers)
    if executor.startswith(DASK):
        return run_on_dask(missing, executor.removeprefix(DASK))
    return run_on_processes(missing, workers or os.cpu_count() or 1, apart)


def refuse_unknown(executor: str, workers: int | None = None) -> None:
    """Raise MrdslError ``wrong-option`` if there is no such executor, or it is Dask and has ``workers``."""
    if executor != PROCESSES and not executor.startswith(DASK):
        hint = f"write `{PROCESSES}` or `{DASK}HOST:PORT`"
        raise one_error("wrong-option", f"unknown executor `{executor}`", None, hint)
    if workers is not None and executor != PROCESSES:
        message = "`--processes` does not work with a Dask executor"
        raise one_error("wrong-option", message, None, "remove one of them")


def run_on_processes(missing: Sequence[Run], workers: int, apart: bool = False) -> Iterator[dict[str, Any]]:
    """Rows as they are finished; unless they run ``apart``, one worker alone runs everything in this process.

    An interruption ends the workers.
    """
    if not apart and (workers == 1 or len(missing) <= 1):
        yield from (run.row() for run in missing)
        return
    _load_what_runs_need()
    batches = _batches(missing, workers, 1 if apart else _TOGETHER)
    with closing(answers(run_batch, batches, workers)) as answered:
        for number, rows, failure in answered:
            yield from rows if failure is None else (run.lost(failure) for run in batches[number])


def run_batch(batch: Sequence[Run], report: object) -> list[dict[str, Any]]:
    """Return the rows of some runs; called in a worker."""
    return [run.row() for run in batch]


def _batches(missing: Sequence[Run], workers: int, together: int) -> list[Sequence[Run]]:
    """Return single runs if there are few, and small groups if there are many, to keep the cost of messages low."""
    size = max(1, min(together, len(missing) // (workers * 32)))
    return [missing[i : i + size] for i in range(0, len(missing), size)]


def _load_what_runs_need() -> None:
    """Before the workers are forked, so that they have it already."""
    import pyomo.environ  # noqa: F401

    import mrdsl.language.loading
    import mrdsl.planning.solve_spec
    import mrdsl.solving.backends.highs
    import mrdsl.solving.checked_answer  # noqa: F401


def run_on_dask(missing: Sequence[Run], address: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of runs on a Dask cluster whose workers find the spec's file at the same path.

    A run that fails there, or that ends its workers, makes a row with the error. Raises MrdslError ``lost-scheduler``
    if the scheduler disappears, and ``wrong-option`` if none answers or it has no workers.
    """
    client, finished = _connect(address)
    try:
        _require_workers(client, address)
        futures = client.map(lambda run: run.row(), list(missing), pure=False)
        runs = {future.key: run for future, run in zip(futures, missing, strict=True)}
        for future in finished(futures):
            yield _row_of(client, future, runs[future.key], address)
    finally:
        with suppress(Exception):  # a scheduler that is gone cannot be taken leave of
            client.close(timeout=_PATIENCE)


def _row_of(client: Any, future: Any, run: Run, address: str) -> dict[str, Any]:
    try:
        return dict(future.result())
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as cause:  # whatever a run raised there, or the library for a run that ends its workers
        if future.status == "cancelled" or client.status != "running":
            raise _lost(address) from None
        return run.lost(f"{type(cause).__name__}: {shortened(str(cause), 200)}")


def _lost(address: str) -> MrdslError:
    hint = "start it again, then run the same command to continue"
    return one_error("lost-scheduler", f"the Dask scheduler at {address} no longer answers", None, hint)


def _require_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except (OSError, TimeoutError):
        message = f"the Dask scheduler at {address} has no workers"
        hint = f"start some: dask worker {address}"
        raise one_error("wrong-option", message, None, hint) from None


def _connect(address: str) -> tuple[Any, Any]:
    try:
        import distributed
    except ImportError:
        hint = "install it with: pip install distributed"
        raise one_error(
            "missing-solver", "the package `distributed` is not installed", None, hint, exit_code=3
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)  # what it tells of lost connections is told here
    try:
        return distributed.Client(f"tcp://{address}", timeout=_PATIENCE), distributed.as_completed
    except (OSError, TimeoutError, ValueError) as cause:
        message = f"no Dask scheduler answers at {address}: {cause}"
        hint = "start one with `dask scheduler`, and `dask worker HOST:PORT` on each machine"
        raise one_error("wrong-option", message, None, hint) from None
