"""EC2's types as one CSV file for a region: size, price on demand, saving on spot, interruptions a month, platforms.

    instance_type,vcpu,memory_mib,on_demand_usd_h,spot_saving_percent,interruption_per_month,emr

Prices are those of AWS's price list; saving and interruptions those of its spot instance advisor, which says of each
type what share of its VMs was taken back within the last month, in bands: ``<5%``, ``5-10%``, up to ``>20%``. The upper
end of a band becomes a rate; the last one has none. A type without a band is not sold on spot. Other columns are
optional.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.source import Span
from mrdsl.core.units import HOUR, UNITS
from mrdsl.exchange.catalogue import INTERRUPTIONS, PRICE, SPOT_PRICE, UNKNOWN_RATE, Catalogue, rate_of_share
from mrdsl.exchange.cells import CellReader, RawTable, read_raw
from mrdsl.exchange.mistakes import FormatError, Mistakes
from mrdsl.spec.schema import Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME, BAND, SAVING = "instance_type", "interruption_per_month", "spot_saving_percent"
CORES, MEMORY, ON_DEMAND = "vcpu", "memory_mib", "on_demand_usd_h"
NEEDED = (NAME, CORES, MEMORY, ON_DEMAND)
MIB = UNITS["MiB"].factor
NUMBERS = {
    "network": ("network_mbit_s", UNITS["Mbit"].factor, "data_rate"),
    "ebs": ("ebs_mbit_s", UNITS["Mbit"].factor, "data_rate"),
    "nvme": ("local_nvme_gib", UNITS["GiB"].factor, "data"),
    "gpus": ("gpus", 1.0, "number"),
}
"""What may be required besides: its column, the column's unit and the kind; an empty cell is 0."""
WORDS = {"emr": "emr", "arch": "arch", "manufacturer": "cpu_manufacturer"}
_BAND = re.compile(r"(?:<|\d+-)(\d+)%|>\d+%")


def read_ec2_catalogue(path: str, mistakes: list[Diagnostic]) -> Catalogue:
    """The types of a file; what is wrong in its cells is told in ``mistakes``. Raises FormatError."""
    raw = read_raw(Source("ec2", path, path), path)
    if raw.rows > budgets.CATALOGUE_TYPES:
        raise FormatError(f"it has {raw.rows} types, more than the {budgets.CATALOGUE_TYPES} that are read")
    places = _places(raw)
    report = Mistakes(mistakes)
    before = len(mistakes)
    reader = CellReader(raw, report)
    if len(mistakes) > before:
        raise _RefusedError(mistakes[before])
    names = tuple(reader.texts(places[NAME]))
    _check_names(names, raw, places[NAME], report)
    cores, memory, price = reader.numbers([places[each] for each in NEEDED[1:]], [True, True, False])
    values = {"cores": cores, "memory": memory * MIB, PRICE: price / HOUR}
    _check_range(values["cores"], raw, places[CORES], CORES, report)
    _check_range(values["memory"], raw, places[MEMORY], MEMORY, report)
    _check_range(price, raw, places[ON_DEMAND], ON_DEMAND, report, least=0.0)
    if BAND in places and SAVING in places:
        values |= _spot(reader, raw, places, price / HOUR, report)
    columns = {PRICE: ON_DEMAND, SPOT_PRICE: SAVING, INTERRUPTIONS: BAND, "cores": CORES, "memory": MEMORY}
    return Catalogue(
        "USD",
        names,
        values,
        _numbers(reader, places),
        {word: reader.texts(places[column]) for word, column in WORDS.items() if column in places},
        _Places(raw, {path: places[column] for path, column in columns.items() if column in places}),
    )


class _RefusedError(FormatError):
    """A table whose rows cannot be read: the first of its mistakes."""

    def __init__(self, first: Diagnostic) -> None:
        line = first.span.line if first.span is not None else 1
        super().__init__(first.message, first.hint, line)


@dataclass(frozen=True)
class _Places:
    """Where the attributes of a type stand."""

    raw: RawTable
    columns: dict[str, int]

    def __call__(self, row: int, path: str) -> Span:
        return self.raw.cell_span(row, self.columns[path]) if path in self.columns else self.raw.span(row)


def _places(raw: RawTable) -> dict[str, int]:
    """The number of each column by its head. Raises FormatError."""
    places: dict[str, int] = {}
    for index, cell in enumerate(raw.header):
        head = cell.strip()
        if head in places:
            raise FormatError(f"it has two columns `{head}`", "keep one of them", raw.line(-1))
        places[head] = index
    lacking = [column for column in NEEDED if column not in places]
    if lacking:
        heads = ", ".join(NEEDED)
        raise FormatError(
            f"it has no column `{lacking[0]}`",
            f'its first line names {heads}; for a table of your own write `vms from "types.csv"`',
            raw.line(-1),
        )
    return places


def _check_names(names: Sequence[str], raw: RawTable, column: int, report: Mistakes) -> None:
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name:
            report.add(error("empty-cell", "this type has no name", raw.cell_span(row, column), "name it"))
        elif name in first:
            message = f"`{name}` stands in two rows, {raw.line(first[name])} and {raw.line(row)}"
            report.add(error("duplicate", message, raw.cell_span(row, column), "keep one of them"))
        first.setdefault(name, row)


def _check_range(
    values: NDArray[np.float64],
    raw: RawTable,
    column: int,
    head: str,
    report: Mistakes,
    least: float | None = None,
    most: float = 1e15,
) -> None:
    """Numbers above 0, or from ``least`` on, and no larger than ``most``; empty cells are told elsewhere."""
    import numpy as np

    with np.errstate(invalid="ignore"):
        wrong = ((values <= 0.0) if least is None else (values < least)) | (values > most)
    limit = "above 0" if least is None else f"at least {least:g}"
    beyond = f" and at most {most:g}" if most < 1e15 else ""
    for row in np.flatnonzero(wrong).tolist():
        message = f"`{head}` is {values[row]:g}, but must be {limit}{beyond}"
        report.add(error("out-of-range", message, raw.cell_span(row, column), f"write a number {limit}{beyond}"))


def _spot(
    reader: CellReader, raw: RawTable, places: dict[str, int], price: NDArray[np.float64], report: Mistakes
) -> dict[str, NDArray[np.float64]]:
    """Prices and interruptions of spot VMs; NaN where a type is not sold so."""
    import numpy as np

    saving = reader.numbers([places[SAVING]], [False])[0]
    _check_range(saving, raw, places[SAVING], SAVING, report, least=0.0, most=100.0)
    rates = np.full(len(price), np.nan)
    for row, band in enumerate(reader.texts(places[BAND])):
        if not band:
            continue
        match = _BAND.fullmatch(band)
        share = float(match[1]) / 100.0 if match is not None and match[1] else None
        if match is None or (share is not None and share >= 1.0):
            message = f"`{band}` is no band of interruptions a month"
            hint = "write `<5%`, `5-10%`, `10-15%`, `15-20%` or `>20%`, or leave it empty: it is then not sold on spot"
            report.add(error("wrong-value", message, raw.cell_span(row, places[BAND]), hint))
            continue
        rates[row] = UNKNOWN_RATE if share is None else rate_of_share(share)
    there = ~np.isnan(rates) & ~np.isnan(saving)
    spot_price = np.where(there, price * (1.0 - saving / 100.0), np.nan)
    return {SPOT_PRICE: spot_price, INTERRUPTIONS: rates}


def _numbers(reader: CellReader, places: dict[str, int]) -> dict[str, tuple[NDArray[np.float64], str]]:
    import numpy as np

    there = {word: column for word, column in NUMBERS.items() if column[0] in places}
    found = reader.numbers([places[column] for column, _, _ in there.values()], [False] * len(there))
    return {
        word: (np.nan_to_num(cells, nan=0.0) * factor, kind)
        for (word, (_, factor, kind)), cells in zip(there.items(), found, strict=True)
    }
