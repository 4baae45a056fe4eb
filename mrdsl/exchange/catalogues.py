"""VM types of a provider, read from two kinds of files.

EC2's types of a region as one CSV file: size, price on demand, saving on spot, interruptions a month, platforms.

    instance_type,vcpu,memory_mib,on_demand_usd_h,spot_saving_percent,interruption_per_month,emr

Prices are those of AWS's price list. Saving and interruptions are those of its spot instance advisor, which gives the
share of a type's VMs that were interrupted in the last month in bands: ``<5%``, ``5-10%``, up to ``>20%``. The upper
end of a band becomes a rate; the last band has none. A type without a band is not sold on spot. Other columns are
optional.

EC2's types as ``aws ec2 describe-instance-types`` prints them: JSON, a page of types or its list alone. A page has
sizes and no prices; the prices come from another file or from the user. Spot types have no rate of interruptions here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, log1p, nan
from typing import TYPE_CHECKING, Any

from mrdsl.core import budgets, units
from mrdsl.core.diagnostics import Diagnostic, Span, error
from mrdsl.core.json_text import json_value
from mrdsl.core.units import HOUR, UNITS
from mrdsl.exchange.cells import CellReader, RawTable, read_raw
from mrdsl.exchange.text import FormatError, Mistakes, read_text
from mrdsl.spec.schema import Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MONTH = 8760.0 / 12.0 * units.HOUR
"""Seconds of a month, a twelfth of a year."""

PRICE, SPOT_PRICE, INTERRUPTIONS = "on_demand.price", "spot.price", "spot.interruptions"
UNKNOWN_RATE = inf
"""In the place of interruptions: the type is sold on spot, and the file does not say how often one is taken back."""


@dataclass(frozen=True, eq=False)
class Catalogue:
    """VM types, one element for each in the order of the file.

    ``values`` are numbers in SI by the dotted path of a vm's attribute, NaN for missing ones: ``cores``, ``memory``,
    :data:`PRICE` and :data:`SPOT_PRICE` in ``currency`` per second, :data:`INTERRUPTIONS` of a VM per second, NaN if
    the type is not sold on spot. ``numbers`` and ``words`` are only for requirements, by word; numbers have the name of
    their kind. ``place`` gives the place of an attribute of a type, or of the type for "".
    """

    currency: str
    names: Sequence[str]
    values: Mapping[str, NDArray[np.float64]]
    numbers: Mapping[str, tuple[NDArray[np.float64], str]]
    words: Mapping[str, Sequence[str]]
    place: Callable[[int, str], Span]


def rate_of_share(share: float) -> float:
    """Return the interruptions of one VM per second for a share of VMs that is interrupted within a month.

    Times to an interruption are exponential, so that 1 - exp(-r T) are interrupted within T: r = -ln(1 - share) / T. Up
    to 5 % a month are at most 7.03e-5 an hour.
    """
    return -log1p(-share) / MONTH


NAME, BAND, SAVING = "instance_type", "interruption_per_month", "spot_saving_percent"
CORES, MEMORY, ON_DEMAND = "vcpu", "memory_mib", "on_demand_usd_h"
NEEDED = (NAME, CORES, MEMORY, ON_DEMAND)
NUMBERS = {
    "network": ("network_mbit_s", UNITS["Mbit"].factor, "data_rate"),
    "ebs": ("ebs_mbit_s", UNITS["Mbit"].factor, "data_rate"),
    "nvme": ("local_nvme_gib", UNITS["GiB"].factor, "data"),
    "gpus": ("gpus", 1.0, "number"),
}
"""Further numbers that ``require`` accepts: column, unit of the column, and kind; an empty cell is 0."""
WORDS = {"emr": "emr", "arch": "arch", "manufacturer": "cpu_manufacturer"}
_BAND = re.compile(r"(?:<|[0-9]+-)([0-9]+)%|>[0-9]+%")


def read_ec2_catalogue(path: str, mistakes: list[Diagnostic]) -> Catalogue:
    """Return the types of a file; errors in its cells go to ``mistakes``. Raises FormatError."""
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
        line, column = (first.span.line, first.span.column) if first.span is not None else (1, 1)
        super().__init__(first.message, first.hint, line, column)


@dataclass(frozen=True)
class _Places:
    """The places of the attributes of a type."""

    raw: RawTable
    columns: dict[str, int]

    def __call__(self, row: int, path: str) -> Span:
        return self.raw.cell_span(row, self.columns[path]) if path in self.columns else self.raw.span(row)


def _places(raw: RawTable) -> dict[str, int]:
    """Return the number of each column by its head. Raises FormatError."""
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
            f'its first line names {heads}; for your own table write `vms from "types.csv"`',
            raw.line(-1),
        )
    return places


def _check_names(names: Sequence[str], raw: RawTable, column: int, report: Mistakes) -> None:
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        if not name:
            report.add(error("empty-cell", "this type has no name", raw.cell_span(row, column), "name it"))
        elif name in first:
            message = f"`{name}` is defined twice, in rows {raw.line(first[name])} and {raw.line(row)}"
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
    """Report numbers that are not above 0 (or at least ``least``), or above ``most``; empty cells are reported
    elsewhere.
    """
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
    """Return prices and interruptions of spot VMs; NaN for types that are not sold on spot."""
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
            message = f"`{band}` is not a band of monthly interruptions"
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


COMMAND = "aws ec2 describe-instance-types --output json"
MIB, GB, GBIT = (UNITS[name].factor for name in ("MiB", "GB", "Gbit"))
LARGEST = 1e15
_NAME = re.compile(r'"InstanceType"\s*:\s*"([^"\\]*)"')


def read_instance_types(path: str, mistakes: list[Diagnostic]) -> Catalogue:
    """Return the types of a page; types without a size are left out and reported in ``mistakes``. Raises
    FormatError.
    """
    text = read_text(path)
    if len(text) > budgets.DOCUMENT_BYTES:
        raise FormatError(f"it has more than {budgets.DOCUMENT_BYTES >> 20} MB, the most that is read")
    entries = _entries(text)
    lines = _lines_of_names(text)
    kept: list[_Type] = []
    for number, entry in enumerate(entries, 1):
        found = _type_of(entry)
        if isinstance(found, _Type):
            kept.append(found)
            continue
        line = lines.get(str(entry.get("InstanceType", "")), 1) if isinstance(entry, dict) else 1
        message = f"type {number}: {found}"
        mistakes.append(error("broken-catalogue", message, Span(path, line, 1, line, 2), f"write it with: {COMMAND}"))
    names = tuple(each.name for each in kept)
    _tell_repeated(names, lines, path, mistakes)
    return Catalogue(
        "USD",
        names,
        {
            "cores": _array([each.cores for each in kept]),
            "memory": _array([each.memory for each in kept]),
            PRICE: _array([nan] * len(kept)),
            SPOT_PRICE: _array([nan] * len(kept)),
            INTERRUPTIONS: _array([UNKNOWN_RATE if each.spot else nan for each in kept]),
        },
        {
            "network": (_array([each.network for each in kept]), "data_rate"),
            "nvme": (_array([each.storage for each in kept]), "data"),
            "gpus": (_array([each.gpus for each in kept]), "number"),
        },
        {
            "arch": [each.arch for each in kept],
            "manufacturer": [each.manufacturer for each in kept],
            "current": [each.current for each in kept],
        },
        _Lines(path, tuple(lines.get(name, 1) for name in names)),
    )


@dataclass(frozen=True)
class _Type:
    name: str
    cores: float
    memory: float
    spot: bool
    network: float
    storage: float
    gpus: float
    arch: str
    manufacturer: str
    current: str


@dataclass(frozen=True)
class _Lines:
    """The line of each type's name."""

    path: str
    lines: tuple[int, ...]

    def __call__(self, row: int, _: str) -> Span:
        line = self.lines[row]
        return Span(self.path, line, 1, line, 2)


def _entries(text: str) -> list[Any]:
    """Return the list of types. Raises FormatError."""
    try:
        document = json_value(text)
    except (ValueError, RecursionError) as cause:
        message = f"it is not JSON: {getattr(cause, 'msg', 'nested too deeply')}"
        raise FormatError(
            message, f"write it with: {COMMAND}", getattr(cause, "lineno", 1), getattr(cause, "colno", 1)
        ) from None
    entries = document.get("InstanceTypes") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise FormatError("it has no list InstanceTypes", f"write it with: {COMMAND}")
    if not entries:
        raise FormatError("its list of types is empty", f"write it with: {COMMAND}")
    if len(entries) > budgets.CATALOGUE_TYPES:
        raise FormatError(f"it has {len(entries)} types, more than the {budgets.CATALOGUE_TYPES} that are read")
    return entries


def _lines_of_names(text: str) -> dict[str, int]:
    """Return the line of the first occurrence of each type's name."""
    found: dict[str, int] = {}
    line, before = 1, 0
    for match in _NAME.finditer(text):
        line, before = line + text.count("\n", before, match.start()), match.start()
        found.setdefault(match[1], line)
    return found


def _type_of(entry: Any) -> _Type | str:
    """Return one type, or its mistake in words."""
    if not isinstance(entry, dict):
        return "it is no object"
    name = entry.get("InstanceType")
    if not isinstance(name, str) or not name:
        return "InstanceType is missing or no text"
    cores = _number(entry, "VCpuInfo", "DefaultVCpus")
    memory = _number(entry, "MemoryInfo", "SizeInMiB")
    for key, value in (("VCpuInfo.DefaultVCpus", cores), ("MemoryInfo.SizeInMiB", memory)):
        if value is None:
            return f"{name} has no {key} that is a number above 0"
    assert cores is not None
    assert memory is not None
    return _Type(
        name,
        cores,
        memory * MIB,
        "spot" in _list(entry, "SupportedUsageClasses"),
        sum(_number(card, "BaselineBandwidthInGbps") or 0.0 for card in _list(entry, "NetworkInfo", "NetworkCards"))
        * GBIT,
        (_number(entry, "InstanceStorageInfo", "TotalSizeInGB") or 0.0) * GB,
        sum(_number(gpu, "Count") or 0.0 for gpu in _list(entry, "GpuInfo", "Gpus")),
        next((str(each) for each in reversed(_list(entry, "ProcessorInfo", "SupportedArchitectures"))), ""),
        str(_within(entry, "ProcessorInfo", "Manufacturer") or "").lower(),
        "yes" if entry.get("CurrentGeneration") is True else "no",
    )


def _within(entry: Any, *keys: str) -> Any:
    for key in keys:
        entry = entry.get(key) if isinstance(entry, dict) else None
    return entry


def _number(entry: Any, *keys: str) -> float | None:
    """Return a number above 0, or None."""
    value = _within(entry, *keys)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= LARGEST:
        return None
    return float(value) if isfinite(value) else None


def _list(entry: Any, *keys: str) -> list[Any]:
    value = _within(entry, *keys)
    return value if isinstance(value, list) else []


def _array(values: Sequence[float]) -> NDArray[np.float64]:
    import numpy as np

    return np.array(values, dtype=np.float64)


def _tell_repeated(names: Sequence[str], lines: dict[str, int], path: str, mistakes: list[Diagnostic]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            line = lines.get(name, 1)
            place = Span(path, line, 1, line, 2)
            mistakes.append(error("duplicate", f"`{name}` is there twice", place, "keep one of them"))
        seen.add(name)
