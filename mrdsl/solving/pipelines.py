"""Runs of heuristics; under a time limit, those of plug-ins run in a process that can be ended."""

from __future__ import annotations

import pickle
import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mrdsl.contracts.pipeline import Draft, Step, result_of, run_steps
from mrdsl.core.answer import Reply
from mrdsl.core.diagnostics import MrdslError, Span
from mrdsl.core.plugins import Plugin, PluginError
from mrdsl.core.result import Result, Termination
from mrdsl.core.watching import watched
from mrdsl.solving import registry
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.references import last_plugin, steps_of
from mrdsl.solving.request import Request

if TYPE_CHECKING:
    from mrdsl.solving.worker import Report

PATIENCE = 5.0
"""Seconds after its time limit in which a plug-in's pipeline may still end by itself."""
_START = 10.0
"""Seconds in which its process may start; only then its time is counted."""


def run_pipeline(solver: SolverFile, family: str, given: Mapping[str, Any], draft: Draft) -> Result:
    """Run the steps of a pipeline from a first draft; ``given`` replaces parameters of the steps.

    Raises PluginError if a plug-in's pipeline fails, ends its process, or continues after its time limit. If a step of
    mrdsl fails on the draft of a plug-in's step, that is a fault of the plug-in.
    """
    steps = steps_of(solver, family, given)
    found = last_plugin(solver, family) if solver.foreign_file is not None else None
    if found is None:
        return run_steps(steps, draft)
    plugin, place = found
    if draft.limits.time is not None:
        return _in_process(solver.name, family, given, draft, plugin, place)
    with plugin.blamed("in what was made of its draft", place):
        return run_steps(steps, draft)


def _in_process(
    name: str, family: str, given: Mapping[str, Any], draft: Draft, plugin: Plugin, place: Span | None
) -> Result:
    from mrdsl.solving.processes import ended_itself, signals_deferred
    from mrdsl.solving.worker import Worker

    left = max(draft.started + (draft.limits.time or 0.0) - time.monotonic(), 0.0) + PATIENCE
    with signals_deferred():
        worker = Worker(answer)
    try:
        reply = worker.ask(Request(model=(name, family, dict(given), draft), options={"seconds": left}), left + _START)
    finally:
        worker.close()
    if reply.termination is Termination.COMPLETED:
        return _received(reply.values)
    if reply.termination is Termination.INTERRUPTED:
        if reply.values is None:
            raise KeyboardInterrupt
        return replace(_received(reply.values), termination=Termination.INTERRUPTED)
    if reply.termination is Termination.ERROR and not ended_itself(worker.code):
        raise PluginError([plugin.told(f"ended its process: {reply.message}", place)])
    at = plugin.place_in(worker.printed()) or place
    raise PluginError([plugin.told(f"did not end within {PATIENCE:g} s after its time limit", at)])


def _received(sent: Any) -> Result:
    found, cause = pickle.loads(sent)
    if isinstance(found, MrdslError):
        raise found from cause
    result: Result = found
    return result


def answer(request: Request, report: Report) -> Reply:
    """Run a pipeline in a worker; after its seconds, the process prints where it is and ends itself.

    Args:
        request: The names of solver and family, the given parameters and the first draft as ``model``, and ``seconds``.
        report: Called with every draft that has a plan.

    Returns:
        A reply whose values are a pickled pair: the result and None, or the error and its cause.
    """
    from mrdsl.solving.processes import end_later

    name, family, given, draft = request.model
    solver = registry.find(name)
    found = last_plugin(solver, family)
    assert found is not None
    plugin, place = found

    def reported(draft: Draft) -> Draft:
        if draft.plan is not None:
            report(_sent(result_of(draft), plugin, place), draft.value or 0.0, None)
        return draft

    end_later(request.options["seconds"])
    try:
        steps: list[tuple[Step, Mapping[str, Any]]] = []
        for step in steps_of(solver, family, given):
            steps += step, (reported, {})
        with watched(None), plugin.blamed("in what was made of its draft", place):
            result = run_steps(steps, draft)
        return Reply(Termination.COMPLETED, _sent(result, plugin, place))
    except MrdslError as refused:
        cause = refused.__cause__
        return Reply(Termination.COMPLETED, _bytes((refused, cause and _with_traceback(cause))))


def _sent(result: Result, plugin: Plugin, place: Span | None) -> Any:
    try:
        return _bytes((result, None))
    except Exception as cause:  # whatever a plan of a plug-in raises
        message = f"made a plan that cannot be sent from its process, which a time limit requires: {cause}"
        raise PluginError([plugin.told(message, place)]) from cause


def _bytes(pair: tuple[object, BaseException | None]) -> Any:
    return pickle.dumps(pair)


def _with_traceback(cause: BaseException) -> BaseException:
    """Return an exception that can be sent, with its traceback as a note."""
    text = "".join(traceback.format_exception(cause))
    cause.add_note(text)
    try:
        pickle.loads(pickle.dumps(cause))
    except Exception:  # whatever a plug-in's exception raises when it is made again
        return RuntimeError(text)
    return cause
