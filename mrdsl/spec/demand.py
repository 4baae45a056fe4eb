"""Demand over several periods: a table or a typical day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mrdsl.core.diagnostics import Diagnostic, error, warning
from mrdsl.spec.schema import Node, Source, choice, path, quantity
from mrdsl.spec.typing import OptionalQuantity, Quantity, Whole

DAYS = FLAT, BIMODAL = ("flat", "bimodal")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Demand(Node):
    """Expected demand over several periods: a table with a column per class or service, or a typical day."""

    periods: Whole = quantity("number", "how many periods are planned", at_least=1, whole=True)
    from_: Source | None = path("a CSV file with one column per class or service, one row per period", default=None)
    floor: OptionalQuantity = quantity(
        "share",
        "the part of the expected demand that must be served; default: as in each `jobs` and `rate`",
        default=None,
        at_least=0.0,
        at_most=1.0,
    )
    day: str = choice(
        DAYS,
        "without a table: every period as in `jobs` and `rate`, or those at the peak of a two-peaked day",
        default="flat",
    )
    noise: Quantity = quantity("share", "standard deviation of the noise on a typical day", default=0.0, at_least=0.0)


def check_demand(demand: Demand, seed: int | None) -> Iterator[Diagnostic]:
    """Yield contradictions between the items of a demand block."""
    if demand.from_ is not None and demand.day != "flat":
        yield error(
            "demand-twice",
            "the demand has both `from` and `day`, but only one of them can define it",
            demand.span_of("day"),
            "remove `day` to use the table, or remove `from` to use the typical day",
        )
    if demand.day != "flat" and seed is None:
        yield error(
            "missing-seed",
            "a typical day is drawn at random, but the spec has no seed",
            demand.span_of("day"),
            "write `seed = 42` at the top level",
        )
    if demand.noise > 0 and demand.day == "flat":
        yield warning(
            "unused",
            "`noise` has no effect without `day = bimodal`",
            demand.span_of("noise"),
            "leave it out, or add `day = bimodal`",
        )
