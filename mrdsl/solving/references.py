"""Methods of solver files: functions by ``"package.module:name"``, and the options of ``solve with METHOD { .. }``."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.core.lazy import function_named
from mrdsl.core.result import Limits
from mrdsl.solving.declaration import SolverFile
from mrdsl.spec.declared import LIMIT_OF_OPTION, LIMITS, METHOD_OPTIONS
from mrdsl.spec.schema import Item
from mrdsl.spec.spec import Method
from mrdsl.spec.validation import item_mistake

if TYPE_CHECKING:
    from mrdsl.core.diagnostics import Span
    from mrdsl.core.plugins import Plugin


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
