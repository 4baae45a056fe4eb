"""Where the runs of a sweep happen: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any

from mrdsl.diagnostics import MrdslError, error

if TYPE_CHECKING:
    from mrdsl.sweep import Cell, Setting


def run_on_processes(setting: Setting, missing: Sequence[Cell], workers: int) -> Iterator[dict[str, Any]]:
    """Rows as they are finished; one worker runs everything in this process. An interruption ends the workers."""
    from mrdsl.sweep import run_cell

    if workers == 1 or len(missing) <= 1:
        yield from (run_cell(setting, cell) for cell in missing)
        return
    with ProcessPoolExecutor(min(workers, len(missing)), _context(), initializer=_ignore_interrupts) as pool:
        try:
            batches = _batches(missing, workers)
            futures = [pool.submit(_run_batch, setting, batch) for batch in batches]
            for future in as_completed(futures):
                yield from future.result()
        except BaseException:
            _end(pool)
            raise


def _batches(missing: Sequence[Cell], workers: int) -> list[Sequence[Cell]]:
    """Single runs where there are few, small groups where there are many: so that handing over costs little."""
    size = max(1, min(16, len(missing) // (workers * 32)))
    return [missing[i : i + size] for i in range(0, len(missing), size)]


def _run_batch(setting: Setting, batch: Sequence[Cell]) -> list[dict[str, Any]]:
    from mrdsl.sweep import run_cell

    return [run_cell(setting, cell) for cell in batch]


def _context() -> Any:
    """Workers from a small server that has everything loaded (Linux), else fresh ones."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["mrdsl.language.loading", "mrdsl.solving.run", "mrdsl.solving.dispatch",
                                    "mrdsl.solving.highs", "pyomo.environ"])
    return context


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(pool: ProcessPoolExecutor) -> None:
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.kill()


def run_on_dask(setting: Setting, missing: Sequence[Cell], address: str) -> Iterator[dict[str, Any]]:
    """The same on a running Dask cluster whose workers reach the spec's file under the same path."""
    from mrdsl.sweep import run_cell

    client, finished = _connect(address)
    try:
        futures = client.map(lambda cell: run_cell(setting, cell), list(missing), pure=False)
        for future in finished(futures):
            yield future.result()
    finally:
        client.close()


def _connect(address: str) -> tuple[Any, Any]:
    try:
        import distributed
    except ImportError:
        hint = "install it with: pip install distributed"
        raise MrdslError([error("missing-solver", "the package distributed is not installed", None, hint)], 3) from None
    try:
        return distributed.Client(f"tcp://{address}", timeout=5), distributed.as_completed
    except (OSError, TimeoutError) as cause:
        message = f"no Dask scheduler answers at {address}: {cause}"
        hint = "start one with `dask scheduler`, and `dask worker HOST:PORT` on each machine"
        raise MrdslError([error("wrong-option", message, None, hint)]) from None
