"""Independent pieces of work, such as runs of scenarios, in processes of this machine, in the order of the request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from typing import Any

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.watching import GLANCE, counted, is_stoppable, is_stopped, is_watched, tell, work
from mrdsl.simulation.engine.scenario import Scenario, Seen, run_once
from mrdsl.simulation.settings import Settings
from mrdsl.solving.processes import signals_deferred
from mrdsl.solving.worker import Worker


def in_processes(
    call: Callable[[Any, object], Any], requests: Sequence[Any], processes: int, what: str = "simulating"
) -> list[Any]:
    """Return ``call(request, None)`` of every request; with one process everything runs in this one.

    ``call`` is a function of a module; watchers get the progress under the name ``what``. An interruption ends the
    processes. Raises MrdslError if one of them dies.
    """
    if processes <= 1 or len(requests) <= 1:
        return [call(request, None) for request in counted(what, requests)]
    with work(what, len(requests)):
        return _shared_out(call, requests, processes)


def _shared_out(call: Callable[[Any, object], Any], requests: Sequence[Any], processes: int) -> list[Any]:
    found: list[Any] = [None] * len(requests)
    waiting = list(range(len(requests)))[::-1]
    busy: dict[Any, tuple[Worker, int]] = {}
    try:
        for _ in range(min(processes, len(requests))):
            with signals_deferred():
                worker = Worker(call)
                busy[worker.replies] = worker, waiting.pop()
            worker.requests.send(requests[busy[worker.replies][1]])
        while busy:
            if is_stopped():
                raise KeyboardInterrupt
            for pipe in wait(list(busy), GLANCE if is_watched() or is_stoppable() else None):
                worker, number = busy.pop(pipe)
                try:
                    found[number] = _answer(worker)
                except BaseException:
                    worker.close()
                    raise
                tell(done=1)
                if waiting:
                    busy[pipe] = worker, waiting.pop()
                    worker.requests.send(requests[busy[pipe][1]])
                else:
                    worker.close()
            tell()
    finally:
        for worker, _ in busy.values():
            worker.close()
    return found


def _answer(worker: Worker) -> Any:
    try:
        kind, content = worker.replies.recv()
    except (EOFError, OSError):
        kind, content = "failure", "it died"
    if kind != "reply":
        raise MrdslError([error("internal", f"a process of the simulation failed: {content}")], 3)
    return content


def run_scenarios(scenarios: Sequence[Scenario], settings: Settings, apart: bool = False) -> list[list[Seen]]:
    """Return the outcome of every run of every scenario, which does not depend on the number of processes.

    Scenarios have the same jobs in the same run, unless they are ``apart``.
    """
    requests = [
        (scenario, settings.seed, run + at * settings.runs * apart)
        for at, scenario in enumerate(scenarios)
        for run in range(settings.runs)
    ]
    seen: list[Seen] = in_processes(_run, requests, settings.processes)
    return [seen[at * settings.runs : (at + 1) * settings.runs] for at in range(len(scenarios))]


def _run(request: tuple[Scenario, int, int], report: object) -> Seen:
    return run_once(*request)
