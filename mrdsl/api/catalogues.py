"""VM types of a table, a provider's list, or rows of a program, for specs that are built in Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mrdsl.core.csv_text import csv_text
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.guarded import scratch_folder
from mrdsl.exchange.arrow import Arrow, is_arrow
from mrdsl.language.given_tables import blocks_from
from mrdsl.language.loading import load_text

if TYPE_CHECKING:
    from mrdsl.families.capacity.facts import VmType

_SPEC = """problem capacity
vms from {source} {{
{braces}
}}
class any {{
  coefficients {{ A = 1 s, B = 0 s, C = 0 s }}
  slots {{ map = 1, reduce = 1 }}
  jobs = 1, deadline = 1 d, penalty = 1 cent
}}
minimize cost
"""
_ROWS = "rows.csv"


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
        path = Path(source)
        return _loaded(path.parent, path.name, braces, reader)
    if is_arrow(source):
        return tuple(blocks_from("capacity", "vms", source, braces, ""))
    rows = [dict(row) for row in cast("Iterable[Mapping[str, Any]]", source)]
    heads = list(dict.fromkeys(head for row in rows for head in row))
    with scratch_folder() as folder:
        text = csv_text(heads, ([row.get(head) for head in heads] for row in rows))
        (folder / _ROWS).write_text(text, encoding="utf-8")
        return _loaded(folder, _ROWS, braces, reader)


def _loaded(folder: Path, name: str, braces: str, reader: str | None) -> tuple[VmType, ...]:
    quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    text = _SPEC.format(source=quoted if reader is None else f"{reader}({quoted})", braces=braces)
    loaded = load_text(text, folder=folder)
    if loaded.spec is None:
        raise MrdslError(loaded.diagnostics)
    return tuple(loaded.spec.facts.vms)
