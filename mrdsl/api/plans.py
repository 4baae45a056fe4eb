"""API functions for specs, plans and simulations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.core.arguments import checked
from mrdsl.core.diagnostics import Diagnostic, MrdslError, one_error
from mrdsl.core.reading import is_json_object
from mrdsl.core.result import Limits, Result
from mrdsl.families.diagnosis import diagnose
from mrdsl.language.loading import load_file, load_text
from mrdsl.language.resolving import Loaded
from mrdsl.spec.scaling import SCALE
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from threading import Event

    from mrdsl.core.watching import Progress
    from mrdsl.planning.difference import Difference
    from mrdsl.planning.solver_files import CompiledModel
    from mrdsl.planning.verified_plans import Verified
    from mrdsl.profiling.predicting import Predictions
    from mrdsl.profiling.profiles import Profiles, Watch
    from mrdsl.reporting.comparison import Comparison
    from mrdsl.simulation.settings import WhatIf

Parameters = Mapping[str, Any]
MOST_SLOTS = 1_000_000
"""Slots of a prediction, at most."""


@checked
def load(
    path: str | Path,
    parameters: Parameters | None = None,
    *,
    seed: int | None = None,
    scale: Mapping[str, float] | None = None,
) -> Spec:
    """Load a spec from a file, or from a saved plan.

    Args:
        path: Path of the file.
        parameters: Values of parameters: numbers, or texts with a unit such as `"15 min"`.
        seed: Seed that replaces the one in the file.
        scale: Factors of numbers in the spec, such as `{"tasks.time": 1.3}`; not for a saved plan.

    Returns:
        The spec.

    Raises:
        MrdslError: With every diagnostic, if the file is not a valid spec.
    """
    if is_json_object(path) and not parameters and not scale:
        spec: Spec = load_plan(path).spec
        return spec if seed is None else replace(spec, seed=seed)
    return _spec(load_file(path, _overrides(parameters, scale), seed=seed))


def _overrides(parameters: Parameters | None, scale: Mapping[str, float] | None) -> Parameters:
    return {**(parameters or {}), **{f"{SCALE}{name}": factor for name, factor in (scale or {}).items()}}


@checked
def load_plan(path: str | Path) -> Result:
    """Load the result in a saved plan and check it against its spec.

    Args:
        path: File written by `mrdsl solve -o` or :meth:`Result.to_json`.

    Returns:
        The saved result.

    Raises:
        MrdslError: If the file is not a saved plan, or its plan does not meet its spec or has another value.
    """
    from mrdsl.planning.verified_plans import open_plan

    return open_plan(path).require()


@checked
def verify(path: str | Path, *, again: bool = False) -> Verified:
    """Verify a saved plan, and list what cannot be recomputed.

    Args:
        path: File of the saved plan.
        again: Repeat the simulation runs in it.

    Returns:
        The result, the errors found in it, and the input files that have changed.

    Raises:
        MrdslError: If the file is not a saved plan, or `again` is set and it has no runs.
    """
    from mrdsl.planning.verified_plans import open_plan, read_file, run_again
    from mrdsl.planning.verified_plans import verify as check

    if not again:
        return open_plan(path)
    saved = read_file(path)
    return run_again(saved, check(saved))


@checked
def compare(*plans: Spec | Result, names: Sequence[str] = ()) -> Comparison:
    """Compare plans: their objectives, and every number that they have in common.

    Args:
        plans: Results, or specs, which are solved first.
        names: Names of the plans in the table.

    Returns:
        A table with a column for each plan.

    Raises:
        MrdslError: `different-problems` if the families or objectives differ.
    """
    from mrdsl.reporting.comparison import compare as run

    try:
        return run(*(each if isinstance(each, Result) else solve(each) for each in plans), names=names)
    except ValueError as problem:
        raise one_error("different-problems", str(problem), None, "compare plans of the same problem kind") from None


@checked
def diff(last: Spec | Result, now: Spec | Result, names: tuple[str, str] = ("last", "now")) -> Difference:
    """List the changes from one plan to another, the smallest first.

    Args:
        last: Current plan, or a spec, which is solved first.
        now: New plan, or a spec, which is solved first.
        names: Names of both plans.

    Returns:
        The settings that an operator changes.

    Raises:
        MrdslError: `different-problems` if the families differ; `not-operated` if plans of the family have no settings.
    """
    from mrdsl.planning.difference import diff as run

    before, after = (each if isinstance(each, Result) else solve(each) for each in (last, now))
    return run(before, after, names)


@checked
def loads(
    text: str,
    parameters: Parameters | None = None,
    *,
    folder: str | Path = ".",
    seed: int | None = None,
    scale: Mapping[str, float] | None = None,
) -> Spec:
    """Load a spec from a text.

    Args:
        text: Text of the spec.
        parameters: Values of parameters: numbers, or texts with a unit such as `"15 min"`.
        folder: Folder of its imports and tables.
        seed: Seed that replaces the one in the text.
        scale: Factors of numbers in the spec, such as `{"tasks.time": 1.3}`.

    Returns:
        The spec.

    Raises:
        MrdslError: With every diagnostic, if the text is not a valid spec.
    """
    return _spec(load_text(text, _overrides(parameters, scale), folder=folder, seed=seed))


@checked
def dumps(spec: Spec) -> str:
    """Write a spec as text, exactly and in SI units.

    `loads` of the text gives the same spec. Parameters, imports, tables and generators are replaced by their values.

    Args:
        spec: The spec.

    Returns:
        Text of the spec.

    Raises:
        MrdslError: If the spec has errors.
    """
    from mrdsl.language.printing import print_spec

    wrong = tuple(d for d in check(spec) if d.severity == "error" and not d.impossible)
    if wrong:
        raise MrdslError(wrong)
    return print_spec(spec)


@checked
def check(spec: str | Path | Spec, parameters: Parameters | None = None) -> tuple[Diagnostic, ...]:
    """Check a spec.

    Args:
        spec: Path of a spec or saved plan, or a spec built in Python.
        parameters: Values of parameters of a file.

    Returns:
        Errors and warnings in order; empty if there are none.
    """
    if not isinstance(spec, Spec):
        if is_json_object(spec) and not parameters:
            return _diagnostics_of_plan(spec)
        return load_file(spec, parameters).diagnostics
    try:
        return diagnose(spec)
    except MrdslError as unknown:
        return unknown.diagnostics


@checked
def fmt(text: str) -> str:
    """Format the text of a spec.

    Args:
        text: Text of the spec.

    Returns:
        The text in its canonical form.

    Raises:
        MrdslError: If the text cannot be parsed.
    """
    from mrdsl.language.formatting import format_text

    formatted, problems = format_text(text, "<text>")
    if formatted is None:
        raise MrdslError(problems)
    return formatted


@checked
def quantity(text: str, *, currency: str = "") -> float:
    """Convert a text with a unit to a number in SI units.

    Fields with a unit also accept such texts.

    Args:
        text: Quantity such as `"15 min"`, `"0.192 USD/h"`, `"16 GiB"` or `"85%"`.
        currency: Required currency of money; any currency if empty.

    Returns:
        Seconds, bytes, joules or watts; counts and shares as plain numbers; money in the currency of the text.

    Raises:
        MrdslError: If the text is not a quantity.
    """
    from mrdsl.language.items import quantity as run

    return run(text, currency=currency)


@checked
def profile(
    paths: Sequence[str | Path],
    *,
    by: str = "name",
    classes: int | None = None,
    cluster: bool = False,
    seed: int = 0,
    longest: str = "max",
    sort: str = "reduce",
    price: str | None = None,
    watch: Watch | None = None,
    allow_outside: bool = False,
    strict: bool = False,
) -> Profiles:
    """Measure classes of jobs and the cluster in logs.

    Files that cannot be read are listed in the result.

    Args:
        paths: Files, folders, patterns, and `-` for standard input.
        by: Grouping of jobs: `name`, `queue`, `user` or a regular expression.
        classes: Number of groups for `cluster`; found automatically if None.
        cluster: Group jobs by k-means.
        seed: Seed of the grouping.
        longest: Longest time of a task: `max` or `p95`.
        sort: Phase of the sorting time: `reduce` or `shuffle`.
        price: Price of a VM, such as `"0.20 USD/h"`.
        watch: Function that gets the total bytes and returns a context manager of a function that gets the bytes read.
        allow_outside: Follow links that leave a folder of logs.
        strict: Reject logs that lost events which the others do not determine.

    Returns:
        Classes, cluster, and the jobs left out.

    Raises:
        MrdslError: If no job could be read, an option is wrong, or `strict` rejects a log.
    """
    from mrdsl.profiling.profiles import profile as run

    return run(
        paths,
        by=by,
        classes=classes,
        cluster=cluster,
        seed=seed,
        longest=longest,
        sort=sort,
        price=price,
        watch=watch,
        allow_outside=allow_outside,
        strict=strict,
    )


@checked
def predict(
    logs: Sequence[str | Path] | Profiles,
    *,
    slots: Sequence[int] = (),
    executors: Sequence[int] = (),
    deadline: float | None = None,
    vms: Sequence[Any] = (),
    seed: int = 0,
) -> Predictions:
    """Predict the times of jobs on numbers of slots from the logs of their runs.

    Each run is repeated with its own task times in their order, alone on the slots.

    Args:
        logs: Files, folders and patterns, or profiles of them.
        slots: Numbers of slots.
        executors: Numbers of executors of the size in the logs.
        deadline: Time within which the mean has to be [s]: the least number of slots is searched.
        vms: VM types whose costs are compared, as `vm_types` returns them.
        seed: Seed of the intervals.

    Returns:
        Times with their bounds by class and slots, and the number of slots that is best for speed and cost.

    Raises:
        MrdslError: If no job could be read, or an option is wrong.
    """
    from mrdsl.profiling.predicting import predicted
    from mrdsl.profiling.profiles import Profiles
    from mrdsl.profiling.profiles import profile as run

    gathered = (logs if isinstance(logs, Profiles) else run(logs)).gathered
    for name, counts in (("slots", slots), ("executors", executors)):
        wrong = next((count for count in counts if not 1 <= count <= MOST_SLOTS), None)
        if wrong is not None:
            hint = f"for example, `{name}` 4, 8 and 16"
            raise one_error("wrong-option", f"`{name}` must be between 1 and {MOST_SLOTS:,}, got {wrong}", None, hint)
    if deadline is not None and not 0.0 < deadline < float("inf"):
        raise one_error("wrong-option", f"`deadline` must be above 0 s, got {deadline:g}", None, "write a time")
    if not gathered.runs:
        raise one_error("no-classes", "no job or application in these logs can be profiled", None, "take other logs")
    try:
        return predicted(gathered, slots, executors, deadline, vms, seed)
    except ValueError as problem:
        raise one_error("wrong-option", str(problem), None, "write --slots") from None


@checked
def solve(
    spec: Spec,
    solver: str = "auto",
    *,
    formulation: str | None = None,
    relax: bool = False,
    limits: Limits | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    stop: Event | None = None,
    start: Result | None = None,
) -> Result:
    """Find the best plan of a spec, with a bound.

    A problem without a plan is a result and not an error. What `on_progress` raises ends the solve.

    Args:
        spec: The spec.
        solver: Name of a solver or heuristic.
        formulation: Formulation of the family; its default if None.
        relax: Solve the relaxation.
        limits: Time [s], relative gap and threads.
        on_progress: Function that is called in this thread with every better plan, and five times a second.
        stop: Event that ends the solve. The result then has the best plan so far and the termination `interrupted`.
        start: Result of this spec or a similar one, whose plan starts the search. A capacity plan that is still valid
            and optimal is returned unchanged. A note (`start-unused`) reports a plan that is not used.

    Returns:
        The plan, its objective with bound and gap, and the termination.

    Raises:
        MrdslError: If the spec has errors, or the solver is missing or does not support it.
    """
    from mrdsl.planning.solve_spec import solve as run

    work = partial(run, spec, solver, formulation, relax, limits or Limits(), start=start)
    if on_progress is None and stop is None:
        return work()
    from mrdsl.core.watching import observed

    return observed(work, on_progress, stop)


@checked
async def asolve(
    spec: Spec,
    solver: str = "auto",
    *,
    formulation: str | None = None,
    relax: bool = False,
    limits: Limits | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    start: Result | None = None,
) -> Result:
    """Solve a spec in a thread, for asyncio. Cancelling the task ends the solver.

    Args:
        spec: The spec.
        solver: Name of a solver or heuristic.
        formulation: Formulation of the family; its default if None.
        relax: Solve the relaxation.
        limits: Time [s], relative gap and threads.
        on_progress: Function that is called in that thread with every better plan.
        start: Result whose plan starts the search.

    Returns:
        The result, as :func:`solve`.

    Raises:
        MrdslError: As :func:`solve`.
    """
    import asyncio
    from threading import Event

    stop = Event()
    call = partial(
        solve,
        spec,
        solver,
        formulation=formulation,
        relax=relax,
        limits=limits,
        on_progress=on_progress,
        stop=stop,
        start=start,
    )
    running = asyncio.ensure_future(asyncio.to_thread(_without_interrupt, call))
    try:
        result = await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # what it raised is of no interest any longer, and not of the loop's either
        raise
    if result is None:
        raise asyncio.CancelledError
    return result


def _without_interrupt(call: Callable[[], Result]) -> Result | None:
    """Return the result; None for a KeyboardInterrupt, which would end the event loop that the thread belongs to."""
    try:
        return call()
    except KeyboardInterrupt:
        return None


@checked
def compile(spec: Spec, *, formulation: str | None = None, relax: bool = False) -> CompiledModel:
    """Compile a spec to a Pyomo model that you can change and solve again.

    Args:
        spec: The spec.
        formulation: Formulation of the family; its default if None.
        relax: Compile the relaxation.

    Returns:
        The model, with methods to solve it and to read a plan from it.

    Raises:
        MrdslError: If the spec has errors, or the family does not support the formulation.
    """
    from mrdsl.planning.solver_files import CompiledModel

    return CompiledModel(spec, formulation=formulation, relax=relax)


@checked
def simulate(
    spec: Spec | Result,
    *,
    runs: int = 10,
    seed: int | None = None,
    jobs: int | None = None,
    processes: int = 1,
    slowstart: float | None = None,
    stragglers: tuple[float, float] | None = None,
    lose: int | None = None,
    burst: int | None = None,
    what_if: WhatIf | None = None,
    limits: Limits | None = None,
) -> Result:
    """Simulate a spec or the plan of a result.

    A spec of a family with plans is solved first. The options from `slowstart` on replace values of the spec.

    Args:
        spec: Spec or result.
        runs: Number of independent runs.
        seed: Seed that replaces the one of the spec.
        jobs: Jobs that each user completes in a run.
        processes: Number of processes; it does not change the result.
        slowstart: Share of map tasks after which reduce tasks start, between 0 and 1.
        stragglers: Share of slow task attempts, and how many times as long they take.
        lose: Machines of every class that are removed after the warm-up.
        burst: Jobs in each arrival.
        what_if: All four options in one value.
        limits: Limits of the solve of a spec, not of the runs.

    Returns:
        The result with the observed times and verdicts in its plan.

    Raises:
        MrdslError: If the spec or a number is wrong, or the family does not support a simulation or an option.
    """
    from mrdsl.planning.simulate_spec import simulate as run
    from mrdsl.simulation.settings import Settings, WhatIf

    said = WhatIf(slowstart, stragglers, lose, burst)
    settings = Settings(runs, 0, jobs, processes, said if what_if is None else what_if.but(said))
    solved = spec if isinstance(spec, Result) else None
    return run(spec.spec if isinstance(spec, Result) else spec, settings, seed, solved, limits)


@checked
def report(
    plan: Spec | Result,
    output: str | Path | None = None,
    solver: str = "auto",
    *,
    formulation: str | None = None,
    relax: bool = False,
    limits: Limits | None = None,
    simulate: int | None = None,
    spend: float = 30.0,
    markdown: bool = False,
    force: bool = False,
) -> str:
    """Write a report on a plan as an HTML page or as Markdown.

    Args:
        plan: Result, or a spec, which is solved first.
        output: Output file; its extension selects the format.
        solver: Name of a solver or heuristic.
        formulation: Formulation of the family; its default if None.
        relax: Solve the relaxation.
        limits: Time [s], relative gap and threads.
        simulate: Number of simulation runs.
        spend: Time for the sensitivity of constraints, and again for what-if curves [s].
        markdown: Write Markdown if there is no `output`.
        force: Replace an existing file.

    Returns:
        Text of the report.

    Raises:
        MrdslError: As :func:`solve`; `missing-extra` for a page without the extra `report`.
    """
    from mrdsl.core.writer import write_text
    from mrdsl.explaining.report import report as run
    from mrdsl.explaining.sensitivity import How
    from mrdsl.reporting.report_files import check_ending, written
    from mrdsl.simulation.settings import Settings

    path = Path("report.md" if markdown else "report.html") if output is None else Path(output)
    check_ending(path)
    spec = plan.spec if isinstance(plan, Result) else plan
    how = How(solver, formulation, relax, limits or Limits(), spend)
    runs = None if simulate is None else Settings(runs=simulate)
    made = run(spec, how, "mrdsl.report", plan=plan if isinstance(plan, Result) else None, runs=runs)
    text = written(made[0], path)
    if output is not None:
        write_text(path, text, force=force)
    return text


def _spec(loaded: Loaded) -> Spec:
    errors = [d for d in loaded.diagnostics if d.severity == "error" and not d.impossible]
    if loaded.spec is None or errors:
        raise MrdslError(loaded.diagnostics)
    return loaded.spec


def _diagnostics_of_plan(path: str | Path) -> tuple[Diagnostic, ...]:
    from mrdsl.planning.verified_plans import open_plan

    try:
        verified = open_plan(path)
    except MrdslError as wrong:
        return wrong.diagnostics
    return (*verified.found, *diagnose(verified.result.spec))
