"""Runs of heuristics, in a process if a plug-in has a time limit, and the functions that solver files name."""

from __future__ import annotations

import difflib
import pickle
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mrdsl.contracts.pipeline import Draft, Step, result_of, run_steps
from mrdsl.core.answer import Reply
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, error
from mrdsl.core.lazy import function_named
from mrdsl.core.plugins import Plugin, PluginError
from mrdsl.core.result import Limits, Result, Termination
from mrdsl.core.watching import watched
from mrdsl.solving import registry
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.request import Request
from mrdsl.spec.declared import LIMIT_OF_OPTION, LIMITS, METHOD_OPTIONS
from mrdsl.spec.schema import Item
from mrdsl.spec.spec import Method
from mrdsl.spec.validation import item_mistake

if TYPE_CHECKING:
    from mrdsl.core.diagnostics import Span
    from mrdsl.core.plugins import Plugin
    from mrdsl.solving.worker import Report


def loaded(solver: SolverFile, reference: str) -> tuple[Callable[..., Any], Plugin | None]:
    """Return a function that a solver file names, and its plug-in, or None for functions of mrdsl.

    Raises MrdslError ``broken-plugin`` if a plug-in's function cannot be loaded, at the line that fails.
    """
    if solver.foreign_file is None:
        return function_named(reference), None
    from mrdsl.core.plugins import Plugin, plugin_of
    from mrdsl.core.reading import leaving_no_bytecode, make_importable

    declared, where = named_at(solver, reference), f"when `{reference}` was loaded"
    with Plugin(solver.shown, ()).blamed(where, declared):
        if solver.folder is not None:
            make_importable(solver.folder, reference.partition(":")[0])
    plugin = plugin_of(solver.shown, reference.partition(":")[0])
    with (plugin or Plugin(solver.shown, ())).blamed(where, declared), leaving_no_bytecode():
        return function_named(reference), plugin


def last_plugin(solver: SolverFile, family: str) -> tuple[Plugin, Span | None] | None:
    """Return the plug-in of the last step of a pipeline that is not mrdsl's own, and its place, or None."""
    from mrdsl.core.plugins import defined_at

    for step in reversed(solver.pipelines[family].steps):
        function, plugin = loaded(solver, step["call"])
        if plugin is not None:
            return plugin, defined_at(function)
    return None


def unloaded(what: str, cause: Exception) -> str:
    """Return the reason why a function of a solver file cannot be loaded, with its place if known."""
    if isinstance(cause, MrdslError):
        said = "; ".join(f"{each.message} ({each.place})" if each.place else each.message for each in cause.diagnostics)
    else:
        said = str(cause)
    return f"its solver file names {what} that cannot be loaded: {said}"


def steps_of(
    solver: SolverFile, family: str, given: Mapping[str, Any]
) -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    """Return the steps of a pipeline with their parameters; ``given`` replaces parameters of the same name.

    Faults of a plug-in's steps are reported as its own. Raises MrdslError ``broken-plugin`` if one cannot be loaded, or
    does not take its parameters.
    """
    return [_step(solver, step, given) for step in solver.pipelines[family].steps]


def _step(
    solver: SolverFile, step: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[Callable[..., Any], dict[str, Any]]:
    function, plugin = loaded(solver, step["call"])
    parameters = {key: given.get(key, value) for key, value in step.items() if key != "call"}
    if solver.foreign_file is None:
        return function, parameters
    from mrdsl.contracts.pipeline import draft_mistake, parameters_mistake
    from mrdsl.core.plugins import Plugin, PluginError

    wrong = parameters_mistake(function, parameters)
    if wrong:
        told = Plugin(solver.shown, ()).told(
            f"declares a step that does not run: {wrong}", named_at(solver, step["call"])
        )
        raise PluginError([told], 2)
    if plugin is not None:
        function = plugin.guarded(function, f"step `{step['call']}`", draft_mistake)
    return function, parameters


def named_at(solver: SolverFile, reference: str) -> Span | None:
    """Return the line of a solver file that names a function, or None if no file declares the solver."""
    from mrdsl.core.diagnostics import Span

    try:
        lines = Path(solver.source).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    number = next((number for number, line in enumerate(lines, 1) if reference in line), 1)
    return Span(solver.source, number, 1, number, 1)


def options_taken(declared: SolverFile | None, family: str) -> Mapping[str, Item]:
    """Return the options of a method in a family: those of every method, and the parameters of a pipeline's steps."""
    if declared is None or not declared.is_pipeline:
        return METHOD_OPTIONS
    own = {name: _item_of(default) for name, default in declared.parameters(family).items()}
    return MappingProxyType({**{name: item for name, item in METHOD_OPTIONS.items() if name != "formulation"}, **own})


def _item_of(default: Any) -> Item:
    """Return a step's parameter as an item: its kind is that of its default."""
    doc = f"a parameter of the method's steps, {default} by default"
    if isinstance(default, bool):
        return Item("choice", doc, choices=("yes", "no"))
    if isinstance(default, int | float):
        return Item("quantity", doc, at_least=0.0, whole=isinstance(default, int))
    return Item("name", doc)


def options_given(declared: SolverFile, family: str, method: Method, limits: Limits) -> tuple[Limits, dict[str, Any]]:
    """Return the options of a method in a spec as limits (given limits have priority) and as parameters of its steps.

    An option that is None is left open. Raises MrdslError ``unknown-option``, and for values that a step does not take.
    """
    own, known = declared.parameters(family), options_taken(declared, family)
    parameters: dict[str, Any] = {}
    problems: list[Diagnostic] = []
    for name, value in method.options.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = (f"did you mean {near[0]}? " if near else "") + f"{declared.name} knows: {', '.join(known)}"
            problems.append(_told(method, name, "unknown-option", f"{declared.name} has no option `{name}`", hint))
        elif value is None:
            continue
        elif name in LIMIT_OF_OPTION:
            limit = LIMIT_OF_OPTION[name]
            if getattr(limits, limit) is None:
                changed: dict[str, Any] = {limit: int(value) if LIMITS[limit].whole else float(value)}
                limits = replace(limits, **changed)
        elif name in own:
            value = ("no", "yes")[value] if isinstance(value, bool) and isinstance(own[name], bool) else value
            mistake = item_mistake(name, known[name], value) if isinstance(own[name], int | float | str) else None
            if mistake is not None:
                problems.append(_told(method, name, *mistake))
            else:
                parameters[name] = _like(own[name], value)
    if problems:
        raise MrdslError(problems)
    return limits, parameters


def _told(method: Method, name: str, code: str, message: str, hint: str) -> Diagnostic:
    told = error(code, message, method.spans.get(name, method.span), hint)
    return replace(told, path=f"method.options[{name!r}]")


def _like(default: Any, value: Any) -> Any:
    """Return an option's value in the form of the step's default: whole numbers as int, yes and no as bool."""
    if isinstance(default, bool):
        return value == "yes"
    return type(default)(value) if isinstance(default, int | float) else value


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
