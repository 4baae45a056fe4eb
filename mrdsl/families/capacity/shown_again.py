"""What runs showed of a plan's promises, seen again: the same runs, from what its evidence says of them."""

from __future__ import annotations

from dataclasses import replace

from mrdsl.families.capacity.evidence import Evidence
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.simulate import times_of_classes
from mrdsl.simulation.settings import Settings
from mrdsl.simulation.verdicts import judge_share
from mrdsl.spec.options import SIMULATION, require_options
from mrdsl.spec.spec import Spec


def shown_again(spec: Spec, plan: CapacityPlan, processes: int) -> CapacityPlan | None:
    """The plan with evidence made anew; None where it has none.

    Raises MrdslError where somebody wrote runs that nobody can make.
    """
    if plan.calibration is None:
        return None
    made: dict[tuple[int, int], dict[str, list[tuple[float, ...]]]] = {}
    found = []
    for each in plan.calibration.promises:
        key = (each.runs, each.seed)
        if key not in made:
            require_options(SIMULATION, {"runs": each.runs, "seed": each.seed, "processes": processes})
            made[key] = times_of_classes(spec, plan, Settings(each.runs, each.seed, None, processes))
        found.append(_seen(each, made[key].get(each.name, [])))
    return replace(plan, calibration=replace(plan.calibration, promises=tuple(found)))


def _seen(said: Evidence, times: list[tuple[float, ...]]) -> Evidence:
    """What the times of a class say of a promise; of a class that did not run, that no job was seen."""
    if not any(times):
        return replace(said, jobs=0, share=0.0, low=0.0)
    verdict = judge_share(times, said.limit, said.level, said.confidence)
    assert verdict.seen is not None
    assert verdict.low is not None
    return replace(said, runs=verdict.runs, jobs=verdict.jobs, share=verdict.seen, low=verdict.low)
