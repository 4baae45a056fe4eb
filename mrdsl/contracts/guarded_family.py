"""Guards for the hooks of a plug-in's family, so that its errors name the plug-in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from numbers import Real
from types import MappingProxyType
from typing import Any

from mrdsl.contracts.family import ArrayForm, Export, Family, Formulation, Needs
from mrdsl.core.diagnostics import Diagnostic, described
from mrdsl.core.plugins import Plugin
from mrdsl.core.result import Plan, Result, Table
from mrdsl.exchange.registry import TARGETS, Target
from mrdsl.exchange.targets.deployment import Deployment, Exported

Mistake = Callable[[Any], str]


def guarded_family(declared: Family, plugin: Plugin) -> Family:
    """Wrap the hooks of a family so that their errors name the plug-in.

    Args:
        declared: The family.
        plugin: The plug-in that declares it.

    Returns:
        The family with hooks that raise PluginError if they fail or return a wrong type.
    """
    hooks: dict[str, Any] = {
        name: plugin.guarded(hook, f"`{name}`", mistake, PASSES.get(name, ()))
        for name, mistake in RETURNS.items()
        if (hook := getattr(declared, name)) is not None
    }
    if "targets" in hooks:
        hooks["targets"] = partial(_targets, hooks["targets"], plugin)
    formulations = tuple(_formulation(each, plugin) for each in declared.formulations)
    exports = tuple(_export(each, plugin) for each in declared.exports)
    return replace(declared, **hooks, formulations=formulations, exports=exports)


def _formulation(declared: Formulation, plugin: Plugin) -> Formulation:
    hooks: dict[str, Any] = {
        name: plugin.guarded(hook, f"`{name}` of {declared.name}", mistake)
        for name, mistake in OF_FORMULATIONS.items()
        if (hook := getattr(declared, name)) is not None
    }
    arrays = hooks.get("arrays")
    if arrays is not None:
        hooks["arrays"] = lambda spec, relax: _form(arrays(spec, relax), plugin)
    return replace(declared, **hooks)


def _form(form: ArrayForm | None, plugin: Plugin) -> ArrayForm | None:
    if form is None:
        return None
    columns = form.program.costs.shape

    def point_mistake(value: Any) -> str:
        right = getattr(value, "shape", None) == columns
        return "" if right else f"returned {described(value)} instead of an array of {columns[0]} values"

    return replace(
        form,
        decode=plugin.guarded(form.decode, "`decode` of arrays", plan_mistake),
        row_name=plugin.guarded(form.row_name, "`row_name` of arrays", _is(str, "a row's name")),
        point=form.point and plugin.guarded(form.point, "`point` of arrays", _or_none(point_mistake)),
    )


def _targets(hook: Callable[[], tuple[Target, ...]], plugin: Plugin) -> tuple[Target, ...]:
    return tuple(each if each in TARGETS else _target(each, plugin) for each in hook())


def _target(declared: Target, plugin: Plugin) -> Target:
    """Return a target of the plug-in's own."""
    part = f"the target {declared.name}"

    def load() -> Callable[..., Exported]:
        function = plugin.guarded(declared.load, part)()
        return plugin.guarded(function, part, _is(Exported, "an Exported"), (ValueError,))

    return replace(declared, load=load)


def _export(declared: Export, plugin: Plugin) -> Export:
    write = plugin.guarded(declared.write, f"the export {declared.name}", texts_mistake, (ValueError,))
    return replace(declared, write=write)


def _is(kind: type | tuple[type, ...], words: str) -> Mistake:
    def mistake(value: Any) -> str:
        return "" if isinstance(value, kind) else f"returned {described(value)} instead of {words}"

    return mistake


def _all_are(kind: type | tuple[type, ...], words: str) -> Mistake:
    def mistake(value: Any) -> str:
        if isinstance(value, str) or not isinstance(value, tuple | list | set | frozenset):
            return f"returned {described(value)} instead of {words}"
        wrong = [each for each in value if not isinstance(each, kind)]
        return f"gave {described(wrong[0])} among {words}" if wrong else ""

    return mistake


def _or_none(mistake: Mistake) -> Mistake:
    return lambda value: "" if value is None else mistake(value)


def _classes_mistake(value: Any) -> str:
    wrong = isinstance(value, str) or not isinstance(value, tuple | list)
    if wrong or not all(isinstance(each, type) and issubclass(each, Plan) for each in value):
        return f"returned {described(value)} instead of classes of plans"
    return ""


def texts_mistake(value: Any) -> str:
    """Find the error in texts by file names.

    Args:
        value: Value that a hook returned.

    Returns:
        The error in words, or an empty text.
    """
    good = isinstance(value, Mapping) and all(isinstance(each, str) for pair in value.items() for each in pair)
    return "" if good else f"returned {described(value)} instead of texts by file names"


plan_mistake = _is(Plan, "a Plan")
_anything: Mistake = _is(object, "")
_diagnostics = _all_are(Diagnostic, "Diagnostics")


def _use(value: Any) -> str:
    from mrdsl.core.charts import Use

    return _is(Use, "the use of a cluster")(value)


RETURNS: Mapping[str, Mistake] = MappingProxyType(
    {
        "check": _diagnostics,
        "impossible": _diagnostics,
        "infeasible": _diagnostics,
        "choose": _is(str, "a solver's name"),
        "verify": _diagnostics,
        "measure": _or_none(_is(Real, "a number")),
        "quantity": _is(Real, "a number"),
        "why": _all_are((Table, str), "tables and texts"),
        "report": _anything,
        "today": _use,
        "simulate": _is(Result, "a Result"),
        "simulate_plan": _is(tuple, "a plan and diagnostics"),
        "deployments": _all_are(Deployment, "deployments"),
        "targets": _all_are(Target, "targets"),
        "reference": _is(str, "the text of a spec"),
        "plans": _classes_mistake,
        "repeat_runs": _or_none(plan_mistake),
        "operated": _anything,
        "paid_for": _is(Real, "a number of seconds"),
        "bound": _or_none(_is(Real, "a number")),
    }
)
"""The hooks of a family, and what is wrong with what one of them returned."""
OF_FORMULATIONS: Mapping[str, Mistake] = MappingProxyType(
    {
        "needs": _is(Needs, "Needs"),
        "build": lambda value: "returned None instead of a Pyomo model" if value is None else "",
        "decode": plan_mistake,
        "run": _is(Result, "a Result"),
        "arrays": _or_none(_is(ArrayForm, "an ArrayForm")),
        "known": _or_none(_is(Result, "a Result")),
        "nodes": _or_none(_is(int, "a whole number of nodes")),
        "refine": _is(Result, "a Result"),
        "compiled": lambda value: "returned None instead of a Pyomo model" if value is None else "",
    }
)
PASSES: Mapping[str, tuple[type[Exception], ...]] = MappingProxyType({"deployments": (ValueError,)})
"""Exceptions that a hook may raise, with the reason why a plan has no such form."""
