"""What a plan says of its promises about runs: what fresh runs showed, and what the search for it came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mrdsl.core.result import MONEY, Table


@dataclass(frozen=True)
class Evidence:
    """What runs that no search saw showed of a promise: ``jobs`` of the class in ``runs`` runs from ``seed``.

    ``share`` of them ended within ``limit`` seconds, and with ``confidence`` no less than ``low`` do; promised is
    ``level``. Of the same plan, ``mrdsl simulate --seed`` with so many runs shows the same.
    """

    name: str
    level: float
    limit: float
    seed: int
    runs: int
    jobs: int
    share: float
    low: float
    confidence: float


@dataclass(frozen=True)
class FittedWork:
    """A, B and C of equation (4) with which P2 takes a class's slots [s]."""

    A: float
    B: float
    C: float


@dataclass(frozen=True)
class Calibration:
    """How a plan was found whose promises are kept in simulation.

    ``formula``: the estimate whose plan was the start, at ``formula_cost``, None where no estimate has one.
    ``lp_bound`` is the relaxed P2's cost at the ``coefficients`` by class: no bound on what other plans cost.
    ``looks`` of at most ``most_looks`` full evaluations were taken; ``confidence`` is that of all promises and looks
    together. ``runs`` of single classes were made in all.
    """

    formula: str | None
    formula_cost: float | None
    formula_vms: float | None
    lp_bound: float | None
    coefficients: Mapping[str, FittedWork]
    promises: tuple[Evidence, ...]
    looks: int
    most_looks: int
    confidence: float
    runs: int

    def tables(self) -> tuple[Table, ...]:
        """What fresh runs showed of the promises, and what the search came to."""
        shown = [
            (each.name, each.level, each.limit, each.share, each.low, each.confidence, each.jobs, each.runs)
            for each in self.promises
        ]
        head = ("class", "promised", "within [s]", "in time", "at least", "confidence", "jobs", "runs")
        found = (self.formula or "none", self.formula_vms, self.formula_cost, self.lp_bound, self.looks, self.runs)
        names = (
            "formula",
            "its VMs",
            f"its total {MONEY}",
            f"LP at the fit {MONEY}",
            "full evaluations",
            "runs in all",
        )
        return Table("Kept in simulation", head, shown), Table("Search", names, [found])
