"""What is asked of plans besides: why they are so, many of them side by side, studies, solutions of other programs."""

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
    from mrdsl.sweeping.study.study import Studied
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
    """What a plan means and what each promise is worth; without a plan, which promises exclude each other.

    ``plan`` is a spec, which is solved as :func:`mrdsl.solve` does, or a result. ``limits.time`` bounds the seconds for
    reasons too (30 without). ``worth`` moves each promise a step, which takes a solve each. Raises MrdslError as
    ``solve`` does.
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
    """Solve a spec's file for every combination of params and seeds, in parallel: a row for each in ``.table``.

    ``output`` (.csv, .jsonl, .parquet) gets the table; the same call goes on where an interrupted one stopped.
    ``progress`` is called with the runs that are done, and all. Raises MrdslError as ``mrdsl sweep`` tells it.
    """
    from mrdsl.sweeping.cells import Setting, axis_of, seeds_of
    from mrdsl.sweeping.sweep import sweep as run

    axes = [axis_of(name, values) for name, values in (over or {}).items()]
    setting = Setting(str(spec), solver, formulation, relax, limits or Limits(), allow_outside, dict(parameters or {}))
    with scratch_folder() as folder:
        path = folder / "sweep.jsonl" if output is None else Path(output)
        return run(
            setting,
            axes,
            seeds_of(seeds),
            path,
            workers=processes,
            executor=executor,
            progress=progress or (lambda done, total: None),
            force=force,
        )


@checked
def study(
    file: str | Path,
    output: str | Path | None = None,
    *,
    processes: int | None = None,
    executor: str = "processes",
    retry: bool = False,
    plots: bool = True,
    progress: Callable[[int, int], None] | None = None,
    allow_outside: bool = False,
    force: bool = False,
) -> Studied:
    """Run the study in a file, or the shipped one of that name, into a folder (default: the file's name).

    ``.table`` has a row per run, in the study's order; ``.tables`` what the runs say together. The same call goes on
    where an interrupted one stopped, and runs nothing twice; ``retry`` runs again what failed. ``progress`` is called
    with the runs that are done, and all. Raises MrdslError as ``mrdsl study`` tells it.
    """
    from mrdsl.sweeping.study.shipped import study_file
    from mrdsl.sweeping.study.study import Way, run_study_file

    path = study_file(str(file))
    way = Way(processes, executor, allow_outside, force, retry, plots)
    return run_study_file(path, Path(output or path.stem), way, progress or (lambda done, total: None))


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
    """Return the plan in a solution file of the model that :func:`mrdsl.compile` wrote of the spec, checked like any
    other.

    ``format`` is whose file it is; its own look decides without. ``names`` is the model's names.json, without which
    nothing is proven; ``gap`` (relative) and ``bound`` (in the goal's unit) are what the solver proved. Raises
    MrdslError for a file that cannot be read, or is of another model.
    """
    from mrdsl.planning.solver_files import Proof, read_solution

    proof = Proof(None if names is None else Path(names), gap, bound)
    return read_solution(spec, solution, format, formulation, relax, proof)


@checked
def explain(code: str) -> str:
    """What a diagnostic's code means, with a bad and a good spec, as Markdown. Raises MrdslError for an unknown one."""
    from mrdsl.core.resources import page

    return page(code)
