"""The Python API: what an embedding program calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.core.arguments import checked
from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.core.reading import is_json_object
from mrdsl.core.result import Limits, Result
from mrdsl.families.diagnosis import diagnose
from mrdsl.language.loading import Loaded, load_file, load_text
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from threading import Event

    from mrdsl.core.watching import Progress
    from mrdsl.planning.compiled_model import CompiledModel
    from mrdsl.planning.difference import Difference
    from mrdsl.planning.verified_plans import Verified
    from mrdsl.profiling.profiles import Profiles, Watch
    from mrdsl.reporting.comparison import Comparison
    from mrdsl.simulation.settings import WhatIf

Parameters = Mapping[str, Any]


@checked
def load(path: str | Path, parameters: Parameters | None = None, *, seed: int | None = None) -> Spec:
    """Return the spec in a file. ``parameters`` overrides its params: numbers, or text with a unit (``"15 min"``).

    Of a saved plan it is the spec in it, whose params are settled. Raises MrdslError with every diagnostic where the
    text is no valid spec.
    """
    if is_json_object(path) and not parameters:
        spec: Spec = load_plan(path).spec
        return spec if seed is None else replace(spec, seed=seed)
    return _spec(load_file(path, parameters, seed=seed))


@checked
def load_plan(path: str | Path) -> Result:
    """Return the result in a saved plan, as ``mrdsl solve -o`` and :meth:`Result.to_json` write it, held against its
    spec.

    Raises MrdslError where the file is none, and where its plan breaks a promise or is not worth what it says.
    """
    from mrdsl.planning.verified_plans import open_plan

    return open_plan(path).require()


@checked
def verify(path: str | Path, *, again: bool = False) -> Verified:
    """What may be believed of a saved plan: the result, what is wrong with it, and which files behind it have changed.

    ``again`` makes its runs once more. Raises MrdslError where the file is none, and where there are no
    such runs.
    """
    from mrdsl.planning.verified_plans import open_plan, read_file, run_again
    from mrdsl.planning.verified_plans import verify as check

    if not again:
        return open_plan(path)
    saved = read_file(path)
    return run_again(saved, check(saved))


@checked
def compare(*plans: Spec | Result, names: Sequence[str] = ()) -> Comparison:
    """Compare plans side by side: their goals, and every number that they have in common; a spec is solved for it.

    ``names`` tell them apart. Raises MrdslError ``different-problems`` where their families or goals differ.
    """
    from mrdsl.reporting.comparison import compare as run

    try:
        return run(*(each if isinstance(each, Result) else solve(each) for each in plans), names=names)
    except ValueError as problem:
        raise MrdslError(
            [error("different-problems", str(problem), None, "compare plans of the same problem kind")]
        ) from None


@checked
def diff(last: Spec | Result, now: Spec | Result, names: tuple[str, str] = ("last", "now")) -> Difference:
    """What an operator must do to come from one plan to the other, the smallest change first; a spec is solved for it.

    Raises MrdslError where the families differ (``different-problems``), and where there is nothing that somebody sets
    (``not-operated``).
    """
    from mrdsl.planning.difference import diff as run

    before, after = (each if isinstance(each, Result) else solve(each) for each in (last, now))
    return run(before, after, names)


@checked
def loads(
    text: str, parameters: Parameters | None = None, *, folder: str | Path = ".", seed: int | None = None
) -> Spec:
    """Return the spec in a text; ``folder`` is where its imports and tables are looked up. Raises MrdslError."""
    return _spec(load_text(text, parameters, folder=folder, seed=seed))


@checked
def dumps(spec: Spec) -> str:
    """Return the text of a spec, in SI units and exact: ``loads`` of it gives the same spec. Raises MrdslError for
    mistakes.

    Params, imports, tables and generators are written out as what they made.
    """
    from mrdsl.language.printing import print_spec

    wrong = tuple(d for d in check(spec) if d.severity == "error" and not d.impossible)
    if wrong:
        raise MrdslError(wrong)
    return print_spec(spec)


@checked
def check(spec: str | Path | Spec, parameters: Parameters | None = None) -> tuple[Diagnostic, ...]:
    """Return every diagnostic of a spec file, or of a spec built in Python, errors and warnings in order; ()
    for none.
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
    """Return the text of a spec in its canonical form. Raises MrdslError where it does not parse."""
    from mrdsl.language.formatting import format_text

    formatted, problems = format_text(text, "<text>")
    if formatted is None:
        raise MrdslError(problems)
    return formatted


@checked
def quantity(text: str, *, currency: str = "") -> float:
    """Return the number in SI units that a text means, ``"15 min"``, ``"0.192 USD/h"``, ``"16 GiB"``, ``"85%"``.

    Seconds, bytes, joules, watts; counts and shares as plain numbers; money in the currency that is written, or only in
    ``currency`` where that is given. Fields with a unit take such texts themselves. Raises MrdslError for any other
    text.
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
) -> Profiles:
    """What logs say: classes of jobs, the cluster as it was, what was left out.

    ``paths`` are files, folders, globs and ``-`` for standard input. ``by`` is ``name``, ``queue``, ``user`` or a
    regular expression; ``cluster`` groups by k-means instead, into ``classes`` or as many as set themselves apart.
    ``longest`` is ``max`` or ``p95``, ``sort`` whether sorting counts as ``reduce`` or ``shuffle``. ``price`` is what
    one VM costs (``0.20 USD/h``). ``watch`` takes the bytes that lie there and gives a context of what is called with
    those read.
    ``allow_outside`` follows links that lead out of a folder of logs.

    What cannot be read is told in the result. Raises MrdslError where nothing could be saved, or an option is wrong.
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
    )


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
    """Return the best plan that the solver finds, with its bound, and how the run ended.

    ``on_progress`` is called, in this thread, with every better plan's value and bound, and five times a second while
    a solver works; what it raises ends the solve and passes through. Another thread ends the solve by setting ``stop``:
    the result then has the best plan so far, if any, and the termination ``interrupted``; a step of a heuristic that
    runs ends first.

    ``start`` is the result of an earlier solve, of this spec or of one like it: the search begins at its plan, and one
    that is cut short ends with nothing worse. A capacity plan that still keeps the spec and is as good as the best is
    returned itself. A note (``start-unused``) says where it is not used: where it does not fit the spec, and where what
    solves it begins at no plan.

    Raises MrdslError where the spec is wrong, the solver is missing or cannot do the problem; a
    problem without a plan is a result, not an error.
    """
    from mrdsl.planning.solve_spec import solve as run

    work = partial(run, spec, solver, formulation, relax, limits or Limits(), start=start)
    if on_progress is None and stop is None:
        return work()
    from mrdsl.planning.observed_solve import observed

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
    """:func:`solve` for asyncio, in a thread of its own; cancelling the task ends the solver too.

    ``on_progress`` is called in that thread.
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
    """Return the spec as a Pyomo model that can be changed and solved again.

    See :class:`mrdsl.planning.compiled_model.CompiledModel`.
    """
    from mrdsl.planning.compiled_model import CompiledModel

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
    """Run the spec as a simulation, where its family has one; a family that plans solves it before.

    A result is run as it is: its own plan, where its family plans.

    ``jobs`` is how many each user completes in a run. The rest stands in the place of what the spec says: reduces start
    when the share ``slowstart`` of the maps is done, ``stragglers`` is a share of tasks and how many times as long they
    take, ``lose`` machines go after the warm-up, and ``burst`` jobs come with each arrival; ``what_if`` says all four.
    ``limits`` bound the solve of a spec, not the runs.
    Raises MrdslError where the spec or a number is wrong, where the family has no simulation, and where such an option
    means nothing in it.
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
    """Return all that is known of a plan as one HTML page, or as Markdown; written to ``output`` too, where that is
    given.

    ``plan`` is a spec, which is solved as :func:`solve` does, or a result, which is not solved again. The form is that
    of ``output``'s ending; without one, ``markdown`` asks for Markdown. ``simulate`` runs the plan so many times
    besides; ``spend`` is how many seconds go into what promises are worth, and again into what-if curves. Raises
    MrdslError as :func:`solve` does, and ``missing-extra`` where a page is asked for without the extra `report`.
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
