"""VM types of a table, a provider's list, or rows of a program, for specs that are built in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mrdsl.api.arguments import checked
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.exchange.arrow import Arrow, is_arrow
from mrdsl.language.given_tables import blocks_from, blocks_of_file, blocks_of_rows

if TYPE_CHECKING:
    from mrdsl.families.capacity.facts import VmType


@checked
def vm_types(
    source: str | Path | Arrow | Iterable[Mapping[str, Any]], braces: str = "", *, reader: str | None = None
) -> tuple[VmType, ...]:
    """The VM types of a file, of a table, or of rows that name each column as a file does.

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
        hint = "give the file's name, or no reader"
        raise MrdslError([error("wrong-option", f"the reader `{reader}` reads files, not tables or rows", None, hint)])
    if is_arrow(source):
        return tuple(blocks_from("capacity", "vms", source, braces, ""))
    rows = cast("Iterable[Mapping[str, Any]]", source)
    return tuple(blocks_of_rows("capacity", "vms", rows, braces, ""))
