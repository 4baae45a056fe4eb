"""What comes out of a plug-in's pipeline: whatever is wrong with it is told as the pipeline's, with file and line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mrdsl.contracts.family import Family
from mrdsl.core.diagnostics import has_errors
from mrdsl.core.plugins import PluginError
from mrdsl.core.result import Result
from mrdsl.core.stopping import ending
from mrdsl.solving.declaration import SolverFile
from mrdsl.solving.references import last_plugin
from mrdsl.spec.declared import described


def run_foreign(solver: SolverFile, family: Family, run: Callable[[], Result], end: float | None) -> Result:
    """What a plug-in's pipeline comes to by ``end`` of the monotonic clock; raises PluginError where it fails.

    What mrdsl's own steps cannot do with a draft that a plug-in's step left is the plug-in's fault. A pipeline all of
    whose steps are mrdsl's own is none of a plug-in's.
    """
    found = last_plugin(solver, family.name)
    with ending(end):
        if found is None:
            return run()
        plugin, place = found
        with plugin.blamed("in what was made of its draft", place):
            result = run()
    known = tuple(family.plans()) if family.plans is not None else ()
    if result.plan is not None and known and not isinstance(result.plan, known):
        names = " or ".join(kind.__name__ for kind in known)
        raise PluginError([plugin.told(f"made {described(result.plan)}, no {names}", place)])
    return result


def held_to_the_spec(
    solver: SolverFile, family: Family, result: Result, verified: Callable[[Result], Result]
) -> Result:
    """The verified result of a plug-in's pipeline: a plan that breaks the spec, or cannot be read, is its fault."""
    found = last_plugin(solver, family.name)
    if found is None:
        return verified(result)
    plugin, place = found
    with plugin.blamed("when its plan was held to the spec", place):
        checked = verified(result)
    if result.plan is None or checked.plan is not None or not has_errors(checked.diagnostics):
        return checked
    told = plugin.told("made a plan that breaks the spec", place)
    return replace(checked, diagnostics=(*checked.diagnostics, told))
