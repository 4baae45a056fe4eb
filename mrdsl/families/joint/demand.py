"""What is expected in every period: the same all day, a typical day, or the columns of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mrdsl.formulas.typical_days import typical_demand
from mrdsl.simulation.sampling import stream
from mrdsl.spec.columns import column

if TYPE_CHECKING:
    from mrdsl.core.diagnostics import Diagnostic
    from mrdsl.families.joint.facts import JointFacts
    from mrdsl.spec.spec import Spec

Floats = NDArray[np.float64]


def expected_demand(spec: Spec) -> tuple[Floats, Floats]:
    """The least and the expected demand of a checked spec, each of the shape (periods, classes + services).

    ``floor`` of the demand block says which part of the expected demand is the least one; without it, that is the
    ratio of the ends of ``jobs`` and ``rate`` (all of it where they are left out).
    """
    facts: JointFacts = spec.facts
    low = np.concatenate([column(facts.classes, "jobs.low"), column(facts.services, "rate.low")])
    high = np.concatenate([column(facts.classes, "jobs.high"), column(facts.services, "rate.high")])
    demand = facts.demand
    if demand is None:
        return low[None, :], high[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        written = np.where(high > 0, low / high, 1.0)
    share = demand.floor if demand.floor is not None else np.where(np.isnan(written), 1.0, written)
    shifts = np.concatenate([column(facts.classes, "shift"), column(facts.services, "shift")])
    if demand.from_ is not None:
        table, _ = read_table(spec)
        expected = _shifted(table, np.rint(shifts / facts.cluster.period).astype(int))
    elif demand.day == "bimodal":
        draw = stream(spec.seed or 0, "bimodal day")
        expected = high * typical_demand(draw, shifts, demand.periods, facts.cluster.period, demand.noise)
    else:
        expected = np.tile(high, (demand.periods, 1))
    return expected * share, expected


def read_table(spec: Spec) -> tuple[Floats, tuple[Diagnostic, ...]]:
    """The demand table as (periods, classes + services), and what is wrong with it."""
    from mrdsl.exchange.demand import Wanted, read_demand

    facts: JointFacts = spec.facts
    assert facts.demand is not None
    assert facts.demand.from_ is not None
    wanted = [Wanted("class", one.name, one.span) for one in facts.classes]
    wanted += [Wanted("service", one.name, one.span) for one in facts.services]
    return read_demand(
        facts.demand.from_,
        wanted,
        facts.demand.periods,
        facts.demand.span_of("periods"),
        _beside(spec.file, facts.demand.from_.written),
    )


def _beside(spec_file: str, written: str) -> str:
    """A file's name as messages show it: as seen from where the spec's own name is."""
    return str(Path(spec_file).parent / written)


def _shifted(table: Floats, steps: NDArray[np.int_]) -> Floats:
    """Every column moved cyclically: what is ``steps`` periods ahead happens as much earlier."""
    rows = (np.arange(len(table))[:, None] + steps) % len(table)
    return np.take_along_axis(table, rows, axis=0)
