"""Functions that solver files name: ``"package.module:name"``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.lazy import function_named
from mrdsl.solving.declaration import SolverFile

if TYPE_CHECKING:
    from mrdsl.core.plugins import Plugin
    from mrdsl.core.source import Span


def loaded(solver: SolverFile, reference: str) -> tuple[Callable[..., Any], Plugin | None]:
    """A function that a solver file names, and the plug-in that it belongs to; None for mrdsl's own.

    Raises MrdslError ``broken-plugin`` where a plug-in's cannot be loaded, at the line at which that fails.
    """
    if solver.foreign_file is None:
        return function_named(reference), None
    from mrdsl.core.plugins import Plugin, plugin_of
    from mrdsl.core.trusted import leaving_no_bytecode, make_importable

    declared, where = named_at(solver, reference), f"when `{reference}` was loaded"
    with Plugin(solver.shown, ()).blamed(where, declared):
        if solver.folder is not None:
            make_importable(solver.folder, reference.partition(":")[0])
    plugin = plugin_of(solver.shown, reference.partition(":")[0])
    with (plugin or Plugin(solver.shown, ())).blamed(where, declared), leaving_no_bytecode():
        return function_named(reference), plugin


def last_plugin(solver: SolverFile, family: str) -> tuple[Plugin, Span | None] | None:
    """The plug-in of a pipeline's last step that is not mrdsl's own, and where that is defined; None where all are."""
    from mrdsl.core.plugins import defined_at

    for step in reversed(solver.pipelines[family].steps):
        function, plugin = loaded(solver, step["call"])
        if plugin is not None:
            return plugin, defined_at(function)
    return None


def unloaded(what: str, cause: Exception) -> str:
    """Why a function that a solver file names cannot be loaded, in words, with its place where one is known."""
    if isinstance(cause, MrdslError):
        said = "; ".join(f"{each.message} ({each.place})" if each.place else each.message for each in cause.diagnostics)
    else:
        said = str(cause)
    return f"its solver file names {what} that cannot be loaded: {said}"


def steps_of(
    solver: SolverFile, family: str, given: Mapping[str, Any]
) -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    """The steps of a pipeline with their parameters; ``given`` replaces those that a step has by that name.

    Whatever those of a plug-in do wrong is told as its own. Raises MrdslError ``broken-plugin`` where one cannot be
    loaded, or does not take what its file gives it.
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
    """The line of a solver file that names a function; None where no file declares the solver."""
    from mrdsl.core.source import Span

    try:
        lines = Path(solver.source).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    number = next((number for number, line in enumerate(lines, 1) if reference in line), 1)
    return Span(solver.source, number, 1, number, 1)
