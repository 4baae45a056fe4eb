"""Evidence of simulated runs, for verification alone: whether the runs that a plan states can have shown it."""

from __future__ import annotations

from typing import Any

from mrdsl.core.rounding import ROUNDING


def doubt_about(found: Any) -> str:
    """Explain why evidence cannot be a result of runs; return an empty text if it can.

    Its bound is at most Clopper's and Pearson's for as many independent jobs: jobs of one run are worth fewer.
    """
    from scipy.stats import beta

    if not 0.5 < found.confidence < 1.0 or not 0 < found.runs <= found.jobs:
        return "rests on numbers that no runs give"
    if not 0.0 <= found.low <= found.share * (1.0 + ROUNDING) or not found.share <= 1.0:
        return "has bounds on one side of what was seen"
    on_time = found.share * found.jobs
    most = float(beta.ppf(1.0 - found.confidence, on_time, found.jobs - on_time + 1.0)) if on_time > 0.0 else 0.0
    return "has bounds closer than so many jobs allow" if found.low > most + ROUNDING else ""
