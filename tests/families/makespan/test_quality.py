"""Every method beside the proven optima of 50 small batches (`python -m studies makespan-quality` proves them anew)."""

from __future__ import annotations

from pathlib import Path

import mrdsl
from mrdsl.contracts.pipeline import Draft
from mrdsl.core.resources import resource
from mrdsl.families.makespan.methods import orders as steps
from mrdsl.families.makespan.methods.balanced_pools import balanced_pools, genetic
from mrdsl.families.makespan.methods.priorities import priorities
from mrdsl.families.makespan.verify import verify

BATCHES = resource("models") / "makespan" / "batches"
LINES = (Path(__file__).parent / "optima.tsv").read_text(encoding="utf-8").splitlines()[1:]
OPTIMA = {int(batch): float(seconds) for batch, seconds, _ in (line.split("\t") for line in LINES)}
STEPS = {"fifo": steps.fifo, "johnson": steps.johnson, "genetic": genetic, "pools": balanced_pools}


def test_no_method_beats_the_optimum_and_ours_is_within_half_a_percent_of_it() -> None:
    ratios = []
    for index, optimum in OPTIMA.items():
        spec = mrdsl.load(BATCHES / f"{index:02d}.mrspec")
        drafts = {name: steps.conclude(step(Draft(spec, seed=index))) for name, step in STEPS.items()}
        best = min(drafts.values(), key=lambda draft: draft.value)
        ours = steps.conclude(priorities(best, neighbours=500))
        for draft in (*drafts.values(), ours):
            assert list(verify(spec, draft.plan)) == []
            assert draft.bound - 1e-9 <= optimum <= draft.value + 1e-9
        ratios.append(ours.value / optimum)
    assert len(ratios) == 50
    assert sum(ratios) / len(ratios) <= 1.005
