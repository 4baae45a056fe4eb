"""Where the runs of a sweep happen: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.printable import shortened
from mrdsl.solving.processes import signals_deferred
from mrdsl.solving.worker import Worker
from mrdsl.sweeping.cells import Cell, Setting, lost_row, run_cell

_PATIENCE = 5.0


def run_on_processes(setting: Setting, missing: Sequence[Cell], workers: int) -> Iterator[dict[str, Any]]:
    """Rows as they are finished; one worker runs everything in this process. An interruption ends the workers."""
    if workers == 1 or len(missing) <= 1:
        yield from (run_cell(setting, cell) for cell in missing)
        return
    _load_what_runs_need()
    waiting = list(reversed(_batches(missing, workers)))
    busy: dict[Any, tuple[Worker, Sequence[Cell]]] = {}
    try:
        for _ in range(min(workers, len(waiting))):
            with signals_deferred():
                worker = Worker(run_batch)
                busy[worker.replies] = (worker, waiting.pop())
            _hand_over(worker, setting, busy[worker.replies][1])
        while busy:
            for pipe in wait(list(busy)):
                worker, batch = busy[pipe]
                yield from _rows_of(worker, batch)
                with signals_deferred():
                    worker = _next(worker, busy, waiting)
                if worker.alive:
                    _hand_over(worker, setting, busy[worker.replies][1])
    finally:
        for worker, _ in busy.values():
            worker.close()


def run_batch(request: tuple[Setting, Sequence[Cell]], report: object) -> list[dict[str, Any]]:
    """The rows of some runs; called in a worker."""
    setting, batch = request
    return [run_cell(setting, cell) for cell in batch]


def _hand_over(worker: Worker, setting: Setting, batch: Sequence[Cell]) -> None:
    with suppress(BrokenPipeError):  # a dead worker has no rows: found out when they are asked for
        worker.requests.send((setting, batch))


def _rows_of(worker: Worker, batch: Sequence[Cell]) -> list[dict[str, Any]]:
    """What a worker answers; where it died or failed, a row that says so for each of its runs."""
    try:
        kind, content = worker.replies.recv()
    except (EOFError, OSError):
        kind, content = "failure", "the process of this run has died"
        worker.close()
    if kind == "reply":
        return list(content)
    return [lost_row(cell, str(content)) for cell in batch]


def _next(worker: Worker, busy: dict[Any, tuple[Worker, Sequence[Cell]]], waiting: list[Sequence[Cell]]) -> Worker:
    """Takes a worker, or one in its place, on to the next batch; where there is none it is ended."""
    del busy[worker.replies]
    if not waiting:
        worker.close()
        return worker
    if not worker.alive:
        worker = Worker(run_batch)
    busy[worker.replies] = (worker, waiting.pop())
    return worker


def _batches(missing: Sequence[Cell], workers: int) -> list[Sequence[Cell]]:
    """Single runs where there are few, small groups where there are many: so that handing over costs little."""
    size = max(1, min(16, len(missing) // (workers * 32)))
    return [missing[i : i + size] for i in range(0, len(missing), size)]


def _load_what_runs_need() -> None:
    """Before the workers are forked, so that they have it already."""
    import pyomo.environ  # noqa: F401

    import mrdsl.language.loading
    import mrdsl.planning.solve_spec
    import mrdsl.solving.backends.highs
    import mrdsl.solving.checked_answer  # noqa: F401


def run_on_dask(setting: Setting, missing: Sequence[Cell], address: str) -> Iterator[dict[str, Any]]:
    """The same on a running Dask cluster whose workers reach the spec's file under the same path.

    A run that fails there, or that ends the workers it runs on, is a row that says so. Raises MrdslError
    ``lost-scheduler`` where the scheduler goes away, ``wrong-option`` where none answers or it has no workers.
    """
    client, finished = _connect(address)
    try:
        _require_workers(client, address)
        futures = client.map(lambda cell: run_cell(setting, cell), list(missing), pure=False)
        cells = {future.key: cell for future, cell in zip(futures, missing, strict=True)}
        for future in finished(futures):
            yield _row_of(client, future, cells[future.key], address)
    finally:
        with suppress(Exception):  # a scheduler that is gone cannot be taken leave of
            client.close(timeout=_PATIENCE)


def _row_of(client: Any, future: Any, cell: Cell, address: str) -> dict[str, Any]:
    try:
        return dict(future.result())
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as cause:  # whatever a run raised there, or the library for a run that ends its workers
        if future.status == "cancelled" or client.status != "running":
            raise _lost(address) from None
        return lost_row(cell, f"{type(cause).__name__}: {shortened(str(cause), 200)}")


def _lost(address: str) -> MrdslError:
    hint = "start it again; the same command goes on with the runs that are missing"
    return MrdslError([error("lost-scheduler", f"the Dask scheduler at {address} no longer answers", None, hint)])


def _require_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except (OSError, TimeoutError):
        message = f"the Dask scheduler at {address} has no workers"
        hint = f"start some: dask worker {address}"
        raise MrdslError([error("wrong-option", message, None, hint)]) from None


def _connect(address: str) -> tuple[Any, Any]:
    try:
        import distributed
    except ImportError:
        hint = "install it with: pip install distributed"
        raise MrdslError([error("missing-solver", "the package distributed is not installed", None, hint)], 3) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)  # what it tells of lost connections is told here
    try:
        return distributed.Client(f"tcp://{address}", timeout=_PATIENCE), distributed.as_completed
    except (OSError, TimeoutError, ValueError) as cause:
        message = f"no Dask scheduler answers at {address}: {cause}"
        hint = "start one with `dask scheduler`, and `dask worker HOST:PORT` on each machine"
        raise MrdslError([error("wrong-option", message, None, hint)]) from None
