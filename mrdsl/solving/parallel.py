"""Independent pieces of work, such as runs of scenarios, in processes of this machine, in the order of the request."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from mrdsl.core.diagnostics import one_error
from mrdsl.core.watching import GLANCE, counted, is_stoppable, is_stopped, is_watched, tell, work
from mrdsl.solving.processes import signals_deferred
from mrdsl.solving.worker import Worker

if TYPE_CHECKING:
    from mrdsl.simulation.engine.scenario import Scenario, Seen
    from mrdsl.simulation.settings import Settings


def in_processes(
    call: Callable[[Any, object], Any], requests: Sequence[Any], processes: int, what: str = "simulating"
) -> list[Any]:
    """Return ``call(request, None)`` of every request; with one process everything runs in this one.

    ``call`` is a function of a module; watchers get the progress under the name ``what``. An interruption ends the
    processes. Raises MrdslError if one of them dies.
    """
    if processes <= 1 or len(requests) <= 1:
        return [call(request, None) for request in counted(what, requests)]
    found: list[Any] = [None] * len(requests)
    with work(what, len(requests)), closing(answers(call, requests, processes)) as answered:
        for number, answer, failure in answered:
            if failure is not None:
                raise one_error("internal", f"a process of the simulation failed: {failure}", exit_code=3)
            found[number] = answer
            tell(done=1)
    return found


def answers(
    call: Callable[[Any, Any], Any], requests: Sequence[Any], processes: int
) -> Generator[tuple[int, Any, str | None], None, None]:
    """Yield the number of a request, its answer, and the failure if it has none, as workers answer.

    A worker that dies is replaced. An interruption ends the workers.
    """
    waiting = iter(range(len(requests)))
    busy: dict[Any, tuple[Worker, int]] = {}

    def hand_over(worker: Worker | None) -> None:
        with signals_deferred():
            if worker is not None:
                del busy[worker.replies]
            number = next(waiting, None)
            if number is None:
                if worker is not None:
                    worker.close()
                return
            if worker is None or not worker.alive:
                worker = Worker(call)
            busy[worker.replies] = worker, number
        with suppress(BrokenPipeError):  # a dead worker has no answer: found out when it is asked for
            worker.requests.send(requests[number])

    try:
        for _ in range(min(processes, len(requests))):
            hand_over(None)
        while busy:
            if is_stopped():
                raise KeyboardInterrupt
            answered = wait(list(busy), GLANCE if is_watched() or is_stoppable() else None)
            if not answered:
                tell()
            for pipe in answered:
                worker, number = busy[pipe]
                yield number, *_answer(worker)
                hand_over(worker)
    finally:
        for worker, _ in busy.values():
            worker.close()


def _answer(worker: Worker) -> tuple[Any, str | None]:
    try:
        kind, content = worker.replies.recv()
    except (EOFError, OSError):
        worker.close()
        return None, "the process of this run ended unexpectedly"
    return (content, None) if kind == "reply" else (None, str(content))


def run_scenarios(scenarios: Sequence[Scenario], settings: Settings, apart: bool = False) -> list[list[Seen]]:
    """Return the outcome of every run of every scenario, which does not depend on the number of processes.

    Scenarios have the same jobs in the same run, unless they are ``apart``.
    """
    from mrdsl.simulation.usage import note_simulated

    for at, scenario in enumerate(scenarios):
        note_simulated(scenario, settings.seed, at * settings.runs * apart)
    requests = [
        (scenario, settings.seed, run + at * settings.runs * apart)
        for at, scenario in enumerate(scenarios)
        for run in range(settings.runs)
    ]
    seen: list[Seen] = in_processes(_run, requests, settings.processes)
    return [seen[at * settings.runs : (at + 1) * settings.runs] for at in range(len(scenarios))]


def _run(request: tuple[Scenario, int, int], report: object) -> Seen:
    from mrdsl.simulation.engine.scenario import run_once

    return run_once(*request)
