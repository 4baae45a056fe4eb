"""EC2's types as ``aws ec2 describe-instance-types`` prints them: JSON, a page of them or its list alone.

A page knows sizes and no prices: those are another file's, or the user's. Types that are sold on spot have no rate of
interruptions here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

from mrdsl.core import budgets
from mrdsl.core.diagnostics import Diagnostic, error
from mrdsl.core.source import Span
from mrdsl.core.units import UNITS
from mrdsl.exchange.catalogue import INTERRUPTIONS, PRICE, SPOT_PRICE, UNKNOWN_RATE, Catalogue
from mrdsl.exchange.mistakes import FormatError
from mrdsl.exchange.text import read_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COMMAND = "aws ec2 describe-instance-types --output json"
MIB, GB, GBIT = (UNITS[name].factor for name in ("MiB", "GB", "Gbit"))
LARGEST = 1e15
_NAME = re.compile(r'"InstanceType"\s*:\s*"([^"\\]*)"')


def read_instance_types(path: str, mistakes: list[Diagnostic]) -> Catalogue:
    """The types of a page; those that lack their size are left out and told in ``mistakes``. Raises FormatError."""
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
    """The list of types. Raises FormatError."""
    try:
        document = json.loads(text)
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
    """The line in which each type's name stands first."""
    found: dict[str, int] = {}
    line, before = 1, 0
    for match in _NAME.finditer(text):
        line, before = line + text.count("\n", before, match.start()), match.start()
        found.setdefault(match[1], line)
    return found


def _type_of(entry: Any) -> _Type | str:
    """One type, or what is wrong with it in words."""
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
    """A number above 0, None where there is none."""
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
