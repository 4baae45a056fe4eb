"""Python functions for files: catalogues, exports, plug-ins and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mrdsl.api.plans import solve
from mrdsl.core import units
from mrdsl.core.arguments import checked
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.result import Result
from mrdsl.exchange.arrow import Arrow, is_arrow
from mrdsl.language.given_tables import blocks_from, blocks_of_file, blocks_of_rows

if TYPE_CHECKING:
    from mrdsl.exchange.targets.deployment import Exported
    from mrdsl.extending.report import PluginReport
    from mrdsl.families.capacity.facts import VmType
    from mrdsl.spec.spec import Spec


@checked
def vm_types(
    source: str | Path | Arrow | Iterable[Mapping[str, Any]], braces: str = "", *, reader: str | None = None
) -> tuple[VmType, ...]:
    """Return the VM types of a file, of a table, or of rows that name each column as a file does.

    A column is named as in ``"on_demand.price [USD/h]"``; a table is one of pandas, polars or pyarrow, see
    :func:`mrdsl.from_table`.

    ``reader`` is ``"ec2"`` or ``"instance_types"`` for a provider's list, None for a table. ``braces`` is what a spec
    writes behind its name: ``'require { cores >= 4, emr = yes }, fee = 0.05 USD/h'``. Raises MrdslError with every
    diagnostic.

    >>> facts = CapacityFacts(vms=vm_types("types.csv", "require { cores >= 4 }"), classes=...)  # doctest: +SKIP
    """
    if isinstance(source, str | Path):
        return tuple(blocks_of_file("capacity", "vms", Path(source), reader, braces, ""))
    if reader is not None:
        hint = "pass the file name, or remove the reader"
        raise MrdslError([error("wrong-option", f"the reader `{reader}` reads files, not tables or rows", None, hint)])
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
    cores: float | None = None,
    memory: float | None = None,
) -> Exported:
    """Return a plan as a target's files: ``files`` are texts by name, ``notes`` say what of the plan they do not.

    ``plan`` is a spec, which is solved, or a result. ``vms`` says what its VM types are called where they are rented,
    ``master`` the type of the machine that runs no tasks; ``fleets`` lets EMR choose among the plan's types; ``cores``
    and ``memory`` (bytes) are what tasks may use of a VM that says neither. Raises MrdslError as :func:`solve` does,
    ``unknown-form`` where the family's plans have no such form, ``target-refuses`` where the target would refuse it,
    ``nothing-to-export`` where there is no plan.
    """
    from mrdsl.core.diagnostics import MrdslError, error
    from mrdsl.exchange.targets.deployment import Wishes
    from mrdsl.planning.exporting import writer_of

    spec = plan.spec if isinstance(plan, Result) else plan
    write = writer_of(spec, target)
    result = plan if isinstance(plan, Result) else solve(plan)
    if result.plan is None:
        message = f"the result has no plan to export to {target}: it ended as {result.termination}"
        raise MrdslError([*result.diagnostics, error("nothing-to-export", message, spec.span, "see `mrdsl.why`")])
    return write(spec, result.plan, Wishes(master, vms or {}, cores, memory, fleets))


@checked
def check_plugin(folder: str | Path) -> PluginReport:
    """Run the solvers, pipelines and families that a folder declares on real models, as ``mrdsl check-plugin`` does.

    The code in the folder is run. The report says what was tried; its ``complaints`` are what is wrong, with file and
    line. Raises MrdslError ``wrong-option`` where the folder declares nothing.
    """
    from mrdsl.extending import checking

    return checking.check_plugin(folder)


@checked
def from_table(
    problem: str, word: str, table: Arrow, braces: str = "", *, currency: str = units.DEFAULT_CURRENCY
) -> Sequence[Any]:
    """Return the blocks of a table: what ``classes from "classes.csv"`` would be of the same rows, for the facts of a
    Spec.

    ``word`` is that of the language (``"classes"``, ``"vms"``, ``"jobs"``, ``"tasks"``); the table is any that has
    ``__arrow_c_stream__``, with the columns of such a file (``"deadline [min]"``). ``braces`` is what a spec writes
    behind the name, ``currency`` that of the Spec. Raises MrdslError with every diagnostic, each with its row, counted
    from 0, and its column; ``missing-extra`` where nanoarrow is not installed.

    >>> facts = CapacityFacts(vms=vms, classes=from_table("capacity", "classes", frame))  # doctest: +SKIP
    """
    from mrdsl.language.given_tables import blocks_from

    return blocks_from(problem, word, table, braces, currency)
