"""mrdsl: find the cheapest cluster that meets the deadlines of MapReduce and Spark jobs, with a proven bound.

The names below are loaded when they are first used: importing the package loads neither Pyomo nor a solver.
"""

from mrdsl.core import ctrl_c  # noqa: F401  # isort: skip  # first of all: a Ctrl-C may come at any moment
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mrdsl.core import lazy
from mrdsl.core.lazy import named
from mrdsl.core.version import __version__

if TYPE_CHECKING:
    from mrdsl.api import (
        asolve,
        check,
        check_plugin,
        compare,
        compile,
        diff,
        dumps,
        explain,
        export,
        fmt,
        from_table,
        load,
        load_plan,
        loads,
        predict,
        profile,
        quantity,
        read,
        report,
        simulate,
        solve,
        sweep,
        verify,
        vm_types,
        why,
    )
    from mrdsl.core.diagnostics import Diagnostic, MrdslError
    from mrdsl.core.plugins import PluginError
    from mrdsl.core.result import Limits, Plan, Result, SolutionStatus, Termination
    from mrdsl.core.watching import Progress
    from mrdsl.families.bounds.facts import BoundsFacts
    from mrdsl.families.bounds.plan import BoundsPlan
    from mrdsl.families.capacity.facts import CapacityFacts
    from mrdsl.families.capacity.plan import CapacityPlan
    from mrdsl.families.deadline.facts import DeadlineFacts
    from mrdsl.families.deadline.plan import DeadlinePlan
    from mrdsl.families.energy.facts import EnergyFacts
    from mrdsl.families.energy.plan import EnergyPlan
    from mrdsl.families.hybrid.facts import HybridFacts
    from mrdsl.families.hybrid.plan import HybridPlan
    from mrdsl.families.joint.facts import JointFacts
    from mrdsl.families.joint.plan import JointPlan
    from mrdsl.families.makespan.facts import MakespanFacts
    from mrdsl.families.makespan.plan import MakespanPlan
    from mrdsl.families.schedule.facts import ScheduleFacts
    from mrdsl.families.schedule.plan import SchedulePlan
    from mrdsl.families.timetable.facts import TimetableFacts
    from mrdsl.families.timetable.plan import TimetablePlan
    from mrdsl.spec.schema import Distribution, Range
    from mrdsl.spec.spec import Constraint, Goal, Let, Method, Spec

_PLANNING = ("bounds", "capacity", "deadline", "energy", "hybrid", "joint", "makespan", "schedule", "timetable")
_HOMES = {
    **dict.fromkeys(("Diagnostic", "MrdslError"), "mrdsl.core.diagnostics"),
    "PluginError": "mrdsl.core.plugins",
    "Progress": "mrdsl.core.watching",
    **dict.fromkeys(("Limits", "Plan", "Result", "SolutionStatus", "Termination"), "mrdsl.core.result"),
    **{f"{family.title()}Facts": f"mrdsl.families.{family}.facts" for family in _PLANNING},
    **{f"{family.title()}Plan": f"mrdsl.families.{family}.plan" for family in _PLANNING},
    **dict.fromkeys(("Distribution", "Range"), "mrdsl.spec.schema"),
    **dict.fromkeys(("Constraint", "Goal", "Let", "Method", "Spec"), "mrdsl.spec.spec"),
}
"""Modules of the public names that are not in ``mrdsl.api``."""

__all__ = [
    "BoundsFacts",
    "BoundsPlan",
    "CapacityFacts",
    "CapacityPlan",
    "Constraint",
    "DeadlineFacts",
    "DeadlinePlan",
    "Diagnostic",
    "Distribution",
    "EnergyFacts",
    "EnergyPlan",
    "Goal",
    "HybridFacts",
    "HybridPlan",
    "JointFacts",
    "JointPlan",
    "Let",
    "Limits",
    "MakespanFacts",
    "MakespanPlan",
    "Method",
    "MrdslError",
    "Plan",
    "PluginError",
    "Progress",
    "Range",
    "Result",
    "ScheduleFacts",
    "SchedulePlan",
    "SolutionStatus",
    "Spec",
    "Termination",
    "TimetableFacts",
    "TimetablePlan",
    "__version__",
    "asolve",
    "check",
    "check_plugin",
    "compare",
    "compile",
    "diff",
    "dumps",
    "explain",
    "export",
    "fmt",
    "from_table",
    "load",
    "load_plan",
    "loads",
    "predict",
    "profile",
    "quantity",
    "read",
    "report",
    "simulate",
    "solve",
    "sweep",
    "verify",
    "vm_types",
    "why",
]


def _form(module: str, name: str) -> Callable[[], lazy.Form]:
    def form() -> lazy.Form:
        found: lazy.Form = named(module, name)()
        return found

    return form


def _quantities() -> lazy.QuantityReader:
    from mrdsl.language.items import item_from_text

    return item_from_text


def _texts() -> lazy.SpecWriter:
    from mrdsl.api import dumps

    return dumps


lazy.register("result", _form("mrdsl.planning.saved_plans", "ResultForm"))
lazy.register("quantity", _quantities)
lazy.register("chart", lambda: named("mrdsl.reporting.charts.rendering", "altair_chart"))
lazy.register("charts", lambda: named("mrdsl.explaining.report", "charts_of"))
lazy.register("text", _texts)
lazy.register("spec", _form("mrdsl.planning.saved_specs", "SpecForm"))


def __getattr__(name: str) -> Any:
    if name in __all__:
        return named(_HOMES.get(name, "mrdsl.api"), name)
    raise AttributeError(f"module 'mrdsl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
