"""Python functions for files: catalogues, exports, plug-ins and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mrdsl.api.plans import solve
from mrdsl.core import units
from mrdsl.core.arguments import checked
from mrdsl.core.diagnostics import MrdslError, error, one_error
from mrdsl.core.result import Result
from mrdsl.language.given_tables import Arrow, blocks_from, blocks_of_file, blocks_of_rows, is_arrow

if TYPE_CHECKING:
    from mrdsl.exchange.targets.deployment import Exported
    from mrdsl.extending import PluginReport
    from mrdsl.families.capacity.facts import VmType
    from mrdsl.spec.spec import Spec


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
