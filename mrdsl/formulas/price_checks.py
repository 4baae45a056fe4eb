"""Prices of VMs that are far above those of any on sale: likely a price per hour that was taken for one per second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.core.units import HOUR, show
from mrdsl.spec.columns import Columns, parts_of
from mrdsl.spec.matching import Reader, matching
from mrdsl.spec.schema import Block, Node, declarations
from mrdsl.spec.spec import Spec

DEAREST = 500.0
"""USD/h: above the dearest VM on sale, EC2's u7inh-32tb.480xlarge at about 407 USD/h on demand."""
DEAREST_CORE = 5.0
"""USD/h for each core: ten times the dearest of EC2's types, where cores are stated."""
_PER_USD = {"JPY": 200.0, "INR": 100.0, "CNY": 10.0, "SEK": 12.0, "NOK": 12.0, "DKK": 8.0, "PLN": 5.0, "BRL": 7.0}
"""Units of a currency for one USD, rounded up; 2 of any other."""
_PRICES = ("on_demand.price", "reserved.price", "spot.price", "fee")


def implausible_prices(spec: Spec) -> Iterator[Diagnostic]:
    """Warn of prices of VM types that are above those of any VM on sale."""
    units = _PER_USD.get(spec.currency, 2.0) if spec.currency != "USD" else 1.0
    vms: Sequence[Any] = getattr(spec.facts, "vms", ())
    known = _numbers_of(vms)
    for path in _PRICES:
        if path not in known:
            continue
        for index in matching(vms, lambda vm, path=path: _is_above(vm, path, units, "cores" in known)):  # type: ignore[misc]
            node: Any = vms[index]
            block, _, item = path.rpartition(".")
            owner = getattr(node, block) if block else node
            price = getattr(owner, item)
            told = warning(
                "implausible-price",
                f"`{path}` of vm {node.name} is {show(price, 'price', spec.currency)}, above that of any VM on sale",
                owner.span_of(item),
                f"a number without a unit is per second: if it is per hour, write `{price:g} {spec.currency}/h`",
            )
            yield told if told.span is not None else replace(told, path=f"vms[{index}].{path}")


def _is_above(vm: Reader, path: str, units: float, with_cores: bool) -> Any:
    price = vm(path)
    above = price > DEAREST * units / HOUR
    return above | (price > DEAREST_CORE * units / HOUR * vm("cores")) if with_cores else above


def _numbers_of(vms: Sequence[Any]) -> frozenset[str]:
    """The paths of numbers that VM types declare; none if the family has no such types."""
    part = next(iter(parts_of(vms)), ()) if len(vms) else ()
    kind = part.node_type if isinstance(part, Columns) else type(part[0]) if len(part) else None
    return frozenset() if kind is None else _quantities(kind, "")


def _quantities(kind: type[Node], before: str) -> frozenset[str]:
    found: set[str] = set()
    for name, declared in declarations(kind).items():
        if isinstance(declared, Block):
            found |= frozenset() if declared.repeated else _quantities(declared.node, f"{before}{name}.")
        elif declared.form == "quantity":
            found.add(before + name)
    return frozenset(found)
