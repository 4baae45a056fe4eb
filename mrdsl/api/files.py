"""API functions for files, tables and plug-ins, and for explanations, sweeps and solution files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mrdsl.api.plans import solve
from mrdsl.core import units
from mrdsl.core.arguments import checked
from mrdsl.core.diagnostics import MrdslError, error, one_error
from mrdsl.core.guarded import scratch_folder
from mrdsl.core.result import Limits, Result
from mrdsl.language.given_tables import Arrow, blocks_from, blocks_of_file, blocks_of_rows, is_arrow
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.exchange.targets.deployment import Exported
    from mrdsl.explaining.why import Explained
    from mrdsl.extending import PluginReport
    from mrdsl.families.capacity.facts import VmType
    from mrdsl.spec.spec import Spec
    from mrdsl.sweeping.sweep import Summary


@checked
def vm_types(
    source: str | Path | Arrow | Iterable[Mapping[str, Any]], braces: str = "", *, reader: str | None = None
) -> tuple[VmType, ...]:
    """Read VM types for the input data of a capacity spec.

    Columns have the names of a table file, such as `"on_demand.price [USD/h]"`.

    Args:
        source: Path of a file, a table of pandas, polars or pyarrow, or rows as mappings from column names.
        braces: Block that a spec writes after the file name, such as `'require { cores >= 4 }, fee = 0.05 USD/h'`.
        reader: `"ec2"` or `"instance_types"` for the list of a provider, None for a table.

    Returns:
        One VM type for each row that meets `require`.

    Raises:
        MrdslError: With every diagnostic, if the source is not valid.

    >>> facts = CapacityFacts(vms=vm_types("types.csv", "require { cores >= 4 }"), classes=...)  # doctest: +SKIP
    """
    if isinstance(source, str | Path):
        return tuple(blocks_of_file("capacity", "vms", Path(source), reader, braces, ""))
    if reader is not None:
        hint = "pass the file name, or remove the reader"
        raise one_error("wrong-option", f"the reader `{reader}` reads files, not tables or rows", None, hint)
    if is_arrow(source):
        return tuple(blocks_from("capacity", "vms", source, braces, ""))
    rows = cast("Iterable[Mapping[str, Any]]", source)
    return tuple(blocks_of_rows("capacity", "vms", rows, braces, ""))


@checked
def export(
    plan: Spec | Result,
    target: str,
    *,
    vms: Mapping[str, str] | None = None,
    master: str = "",
    fleets: bool = False,
    log_uri: str = "",
    spot_strategy: str = "",
    candidates: int = 0,
    capacity_reservation: str = "",
    cores: float | None = None,
    memory: float | None = None,
) -> Exported:
    """Write a plan as the files of a target, such as EMR or YARN.

    Args:
        plan: Result with a plan, or a spec, which is solved first.
        target: Name of the target, as in `mrdsl export`.
        vms: Names of the provider for the VM types of the plan.
        master: VM type of the machine without tasks.
        fleets: Let EMR choose among the VM types of the plan.
        log_uri: Address of the service's logs, for EMR.
        spot_strategy: How EMR chooses among the spot types of a fleet, such as `price-capacity-optimized`.
        candidates: Number of further spot types of the spec that a fleet of EMR may use, up to 29.
        capacity_reservation: The capacity reservations that a fleet of EMR uses first: `open`, `none`, or the ARN of a
            resource group.
        cores: Cores that tasks can use on a VM type without `cores`.
        memory: Memory [bytes] that tasks can use on a VM type without `memory`.

    Returns:
        `files` with texts by name, `notes` on parts of the plan that the files do not express, and `diagnostics`, such
        as the warning `beyond-node`.

    Raises:
        MrdslError: As :func:`solve`; `unknown-form` if the family does not support the target; `target-refuses` if the
            target would reject the plan; `nothing-to-export` if there is no plan.
    """
    from mrdsl.exchange.targets.deployment import Wishes
    from mrdsl.planning.exporting import writer_of

    spec = plan.spec if isinstance(plan, Result) else plan
    write = writer_of(spec, target)
    result = plan if isinstance(plan, Result) else solve(plan)
    if result.plan is None:
        message = f"the result has no plan to export to {target}: it ended as {result.termination}"
        raise MrdslError([*result.diagnostics, error("nothing-to-export", message, spec.span, "see `mrdsl.why`")])
    strategies = spot_strategy, candidates, capacity_reservation
    return write(spec, result.plan, Wishes(master, vms or {}, cores, memory, fleets, log_uri, *strategies))


@checked
def check_plugin(folder: str | Path) -> PluginReport:
    """Check the solvers, heuristics and families of a folder on real models.

    This runs the code in the folder.

    Args:
        folder: Folder with a `pyproject.toml` or solver files.

    Returns:
        A report of all checks. Its `complaints` have file and line.

    Raises:
        MrdslError: `wrong-option` if the folder declares nothing.
    """
    from mrdsl import extending

    return extending.check_plugin(folder)


@checked
def from_table(
    problem: str, word: str, table: Arrow, braces: str = "", *, currency: str = units.DEFAULT_CURRENCY
) -> Sequence[Any]:
    """Convert a table to blocks of a spec, like `classes from "classes.csv"`.

    Args:
        problem: Name of the family.
        word: Word of the language: `"classes"`, `"vms"`, `"jobs"` or `"tasks"`.
        table: Any table with `__arrow_c_stream__`, with columns such as `"deadline [min]"`.
        braces: Block that a spec writes after the file name.
        currency: Currency of the spec.

    Returns:
        One block for each row.

    Raises:
        MrdslError: With every diagnostic, each with row (from 0) and column; `missing-extra` if nanoarrow is not
            installed.

    >>> facts = CapacityFacts(vms=vms, classes=from_table("capacity", "classes", frame))  # doctest: +SKIP
    """
    from mrdsl.language.given_tables import blocks_from

    return blocks_from(problem, word, table, braces, currency)


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
