"""A report on a plan: the decision, its parts, the reasons, what-if curves, and the inputs to repeat it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from mrdsl.contracts.family import Family
from mrdsl.core.charts import Chart, GanttChart, IntervalChart, LineChart, riskiest_first
from mrdsl.core.diagnostics import Diagnostic
from mrdsl.core.reading import UnreadableError, read_bytes
from mrdsl.core.result import Result, SolutionStatus, Termination
from mrdsl.core.watching import sharing
from mrdsl.explaining.sensitivity import How, curves, effects, steps
from mrdsl.explaining.why import as_tables, explain
from mrdsl.families.diagnosis import find_family
from mrdsl.planning.simulate_spec import observe
from mrdsl.planning.solve_spec import solve
from mrdsl.reporting.report import Listing, Part, Report, Section, Shown, marks, repeated, told
from mrdsl.simulation.engine.scenario import simulated_scenarios, usage_chart
from mrdsl.simulation.settings import Settings
from mrdsl.solving.processes import passed_on
from mrdsl.spec.scaling import SCALE
from mrdsl.spec.spec import Spec

TIME = "--analysis-time"
"""Option that sets the time for reasons and curves."""
BARS = 300
"""Most bars of a Gantt chart in a report."""
LINES = 2000
"""Most lines of the spec in a report."""


def report(
    spec: Spec,
    how: How,
    command: str,
    *,
    plan: Result | None = None,
    runs: Settings | None = None,
    known: Iterable[Diagnostic] = (),
) -> tuple[Report, Result]:
    """Return the report on the spec's plan, or the reasons why there is none; ``plan`` is a saved one, otherwise the
    spec is solved.

    ``command`` repeats the report, and ``known`` are the diagnostics of reading the spec. With ``runs`` the plan is
    simulated. ``how.seconds`` is the limit for reasons and curves together. Raises MrdslError as ``solve``
    does.
    """
    family = find_family(spec)
    if plan is not None:
        how = replace(how, formulation=plan.formulation, relax=plan.relaxed)
    result = plan or solve(spec, how.solver, how.formulation, how.relax, how.limits)
    with passed_on():
        return _written(spec, family, result, how, command, runs, known), result


def _written(
    spec: Spec,
    family: Family,
    result: Result,
    how: How,
    command: str,
    runs: Settings | None,
    known: Iterable[Diagnostic],
) -> Report:
    with simulated_scenarios() as scenarios:
        observed = observe(spec, result, runs) if runs is not None and result.plan is not None else None
    seen = observed if observed is not None and type(observed.plan) is type(result.plan) else result
    diagnostics = _each_once((*known, *result.diagnostics, *(observed.diagnostics if observed is not None else ())))
    shown = _shown(spec, family, seen)
    if result.plan is None:
        sections = [Section("Why", tuple(_why_not(spec, result, how)))]
    else:
        usage = usage_chart(scenarios)
        sections = [
            *_plan(seen, shown, usage),
            *_observed(result, observed, seen),
            *_reasons(spec, family, result, how),
        ]
    sections += _remarks(shown, diagnostics, tuple(_risks(family, result, observed)))
    sections += [_listing(spec, diagnostics), _repeat(spec, result, command)]
    title = spec.title or f"{spec.problem.capitalize()} plan"
    proof = "; ".join(result.status().split("\n")).strip("; ")
    proof = f"{proof[:1].upper()}{proof[1:]}."
    return Report(title, shown.decision, proof, tuple(s for s in sections if s.parts))


def _each_once(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(dict.fromkeys(diagnostics))


def _shown(spec: Spec, family: Family, result: Result) -> Shown:
    """Return the family's description of its plan, or the bare objective."""
    if result.plan is None:
        nothing = "No plan meets all constraints" if result.termination is Termination.INFEASIBLE else ""
        return Shown(f"{nothing or 'No plan was found'}.")
    if family.report is not None:
        shown = family.report(spec, result)
        charts = (riskiest_first(one) if isinstance(one, IntervalChart) else one for one in shown.charts)
        return replace(shown, charts=tuple(charts))
    objective = result.objective
    value = "" if objective.value is None else f": {objective.quantity} {objective.value:.6g} {objective.unit}".rstrip()
    return Shown(f"The plan of this {spec.problem} problem{value}.")


def charts_of(result: Result) -> tuple[Chart, ...]:
    """Return the charts of a result: those of its report, its bars over time, and its order of tasks."""
    if result.plan is None or result.spec is None:
        return ()
    bars, drawn = result.plan.bars(), result.plan.graph("Order of tasks")
    return (
        *_shown(result.spec, find_family(result.spec), result).charts,
        *((GanttChart("The plan over time", bars),) if bars else ()),
        *((drawn,) if drawn is not None else ()),
    )


def _plan(result: Result, shown: Shown, usage: LineChart | None) -> Iterator[Section]:
    yield Section("At a glance", shown.charts)
    yield Section("Plan", result.tables())
    if result.today is not None:
        yield Section("Today and the plan", result.today.charts(result.currency))
    assert result.plan is not None
    bars = result.plan.bars()
    over_time: list[Part] = [usage] if usage is not None else []
    if bars:
        more = [f"The first {BARS} of {len(bars):,} bars."] if len(bars) > BARS else []
        over_time = [*more, GanttChart("The plan over time", bars[:BARS]), *over_time]
    yield Section("Over time", tuple(over_time))
    drawn = result.plan.graph("Order of tasks")
    if drawn is not None:
        yield Section("Order of tasks", (drawn,))


def _observed(result: Result, observed: Result | None, seen: Result) -> Iterator[Section]:
    """Yield the outcome of a simulation with its own kind of plan; for others it is in the tables of the plan."""
    if observed is not None and observed is not seen:
        yield Section("Simulated", observed.tables())


def _reasons(spec: Spec, family: Family, result: Result, how: How) -> Iterator[Section]:
    """Yield the reasons, for which there is half of the time, and the curves."""
    ends = time.monotonic() + how.seconds
    with sharing(how.seconds / 2.0):
        why: list[Part] = list(family.why(spec, result)) if family.why is not None else []
        if family.promises and result.objective.value is not None and how.seconds:
            method = (how.solver, how.formulation, how.relax, how.limits)
            why += effects(spec, result, tuple(steps(spec, result, *method)), TIME)
    yield Section("Why", tuple(why))
    with sharing(max(ends - time.monotonic(), 0.0)):
        found = curves(spec, result, how)
    short = (
        [f"{found.computed} of {found.planned} points were computed in {how.seconds:g} s; raise `{TIME}` for more."]
        if found.computed < found.planned
        else []
    )
    yield Section("What if", (*(_with_two_points(found.charts) if found.computed else ()), *short))


def _with_two_points(charts: tuple[LineChart, ...]) -> Iterator[Part]:
    """Yield the charts without curves of fewer than two points, and a sentence that names those."""
    left: list[str] = []
    for chart in charts:
        drawn = tuple(one for one in chart.series if sum(y is not None for y in one.y) > 1)
        left += [one.name for one in chart.series if one not in drawn]
        if drawn:
            yield replace(chart, series=drawn)
    if left:
        yield f"Curves with fewer than two points are left out: {', '.join(dict.fromkeys(left))}."


def _why_not(spec: Spec, result: Result, how: How) -> Iterator[Part]:
    if result.termination is Termination.INFEASIBLE:
        found = explain(spec, how.solver, how.formulation, how.relax, seconds=how.seconds)
        yield from as_tables(spec, found, TIME)


def _risks(family: Family, result: Result, observed: Result | None) -> Iterator[str]:
    """Yield the open questions about a plan, and how to answer them."""
    gap = result.objective.gap
    if result.plan is not None and result.objective.value is not None and result.solution is not SolutionStatus.OPTIMAL:
        measured = "the variable part of the objective" if result.fixed else "it"
        known = (
            "no bound is known"
            if gap is None
            else f"another plan may be up to {100.0 * gap:.3g} % of {measured} better"
        )
        yield f"The plan is not proven optimal: {known}."
    if result.plan is not None and observed is None and (family.simulate or family.simulate_plan):
        yield "The plan was not simulated: add `--simulate 10` for independent runs."


def _remarks(shown: Shown, diagnostics: tuple[Diagnostic, ...], risks: tuple[str, ...]) -> Iterator[Section]:
    nothing = "No warnings."
    yield Section("Warnings", (told(diagnostics) if diagnostics else nothing, *risks))
    yield Section("Assumptions", shown.assumptions)


def _listing(spec: Spec, diagnostics: tuple[Diagnostic, ...]) -> Section:
    """Return the text of the spec with marks at the lines of diagnostics."""
    if not spec.text:
        return Section("Spec", ())
    lines = spec.text.splitlines()
    more = [f"The first {LINES:,} of {len(lines):,} lines."] if len(lines) > LINES else []
    said = {line: told for line, told in marks(diagnostics, spec.file).items() if line <= LINES}
    return Section("Spec", (*more, Listing(spec.file, "\n".join(lines[:LINES]), said)))


def _repeat(spec: Spec, result: Result, command: str) -> Section:
    """Versions, seed, command and the fingerprints of all that was read."""
    solver = " ".join(filter(None, (result.solver.get("name"), result.solver.get("version"))))
    more = {
        "solver": solver,
        "formulation": result.formulation,
        "seed": result.seed,
        **{name if name.startswith(SCALE) else f"param {name}": value for name, value in spec.given.items()},
        **({"SHA-256 of the spec": _print(spec.text.encode())} if not spec.files else {}),
        **{f"SHA-256 of {Path(read.path).name}": read.sha256 or _print_of(read.path) for read in spec.files},
    }
    return repeated(command, more)


def _print_of(path: str) -> str:
    try:
        return _print(read_bytes(path))
    except UnreadableError:
        return ""


def _print(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest() if content else ""
