"""API functions for explanations, sweeps and solution files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrdsl.core.arguments import checked
from mrdsl.core.guarded import scratch_folder
from mrdsl.core.result import Limits, Result
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.explaining.why import Explained
    from mrdsl.sweeping.sweep import Summary

Values = str | Iterable[float | str]
"""The values of a param: each as ``-D`` takes it, or all of them as ``--over`` does (``"0.8:1.4:0.1"``)."""


@checked
def why(
    plan: Spec | Result,
    solver: str = "auto",
    *,
    formulation: str | None = None,
    relax: bool = False,
    limits: Limits | None = None,
    worth: bool = True,
) -> Explained:
    """Explain a plan, or find the conflicting constraints if there is no plan.

    Args:
        plan: Result, or a spec, which is solved first.
        solver: Name of a solver or heuristic.
        formulation: Formulation of the family; its default if None.
        relax: Explain the relaxation.
        limits: Limits of each solve; `limits.time` [s] also limits the search for reasons (30 s by default).
        worth: Measure the sensitivity to each constraint, with one solve for each step.

    Returns:
        Tables and texts.

    Raises:
        MrdslError: As :func:`solve`.
    """
    from mrdsl.explaining.why import why as run

    return run(plan, solver, formulation, relax, limits or Limits(), worth)


@checked
def sweep(
    spec: str | Path,
    over: Mapping[str, Values] | None = None,
    output: str | Path | None = None,
    solver: str = "auto",
    *,
    cases: str | Path | Iterable[Mapping[str, float | str]] = (),
    seeds: str | Iterable[int] = (),
    parameters: Mapping[str, Any] | None = None,
    formulation: str | None = None,
    relax: bool = False,
    limits: Limits | None = None,
    processes: int | None = None,
    executor: str = "processes",
    progress: Callable[[int, int], None] | None = None,
    allow_outside: bool = False,
    force: bool = False,
) -> Summary:
    """Solve a spec for all combinations of parameters, cases and seeds, in parallel.

    The same call continues an interrupted sweep.

    Args:
        spec: File of the spec.
        over: Values of each parameter: a sequence, or a text such as `"0.8:1.4:0.1"`.
        output: Table to write: .csv, .jsonl or .parquet.
        solver: Name of a solver or heuristic.
        cases: Values of parameters that belong together: a CSV file, or a mapping for each case, such as
            `frame.to_dict("records")`.
        seeds: Seeds, or a text such as `"1..5"`.
        parameters: Values of other parameters.
        formulation: Formulation of the family; its default if None.
        relax: Solve relaxations.
        limits: Limits of each solve.
        processes: Number of processes; one for each core if None.
        executor: `processes`, or `dask://HOST:PORT` for a Dask scheduler.
        progress: Function that is called with the number of finished runs and of all runs.
        allow_outside: Permit files outside the folder of the spec.
        force: Replace an existing table.

    Returns:
        A summary whose `table` has a row for each run.

    Raises:
        MrdslError: With the diagnostics of `mrdsl sweep`.
    """
    from mrdsl.sweeping.cells import Setting, axis_of, seeds_of
    from mrdsl.sweeping.sweep import cases_in, cases_of
    from mrdsl.sweeping.sweep import sweep as run

    axes = [axis_of(name, values) for name, values in (over or {}).items()]
    if isinstance(cases, str | Path):
        paired = cases_in(Path(cases))
    else:
        listed = list(cases)
        paired = cases_of(listed) if listed else ()
    setting = Setting(str(spec), solver, formulation, relax, limits or Limits(), allow_outside, dict(parameters or {}))
    with scratch_folder() as folder:
        path = folder / "sweep.jsonl" if output is None else Path(output)
        return run(
            setting,
            axes,
            seeds_of(seeds),
            path,
            cases=paired,
            workers=processes,
            executor=executor,
            progress=progress or (lambda done, total: None),
            force=force,
        )


@checked
def read(
    spec: Spec,
    solution: str | Path,
    *,
    format: str | None = None,
    formulation: str | None = None,
    relax: bool = False,
    names: str | Path | None = None,
    gap: float | None = None,
    bound: float | None = None,
) -> Result:
    """Read and check the plan in a solution file of a compiled model.

    Args:
        spec: Spec of the model.
        solution: Solution file of another program.
        format: Format of the file; detected if None.
        formulation: Formulation of the model.
        relax: The model is the relaxation.
        names: The `names.json` of the model. Without it, no bound is used.
        gap: Relative gap that the program proved.
        bound: Bound that the program proved, in the unit of the objective.

    Returns:
        The plan, as the result of a solve.

    Raises:
        MrdslError: If the file cannot be read, or belongs to another model.
    """
    from mrdsl.planning.solver_files import Proof, read_solution

    proof = Proof(None if names is None else Path(names), gap, bound)
    return read_solution(spec, solution, format, formulation, relax, proof)


@checked
def explain(code: str) -> str:
    """Explain the code of a diagnostic as Markdown, with examples.

    Args:
        code: Code, such as `unknown-name`.

    Returns:
        Text of the explanation.

    Raises:
        MrdslError: If the code is unknown.
    """
    from mrdsl.core.resources import page

    return page(code)
