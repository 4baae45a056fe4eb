"""Policies against the offline optimum: none pays less than the least cost with as many late jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits, Result, SolutionStatus, Termination
from mrdsl.families.schedule.plan import SchedulePlan
from mrdsl.solving.claims import CRASHED
from mrdsl.spec.spec import Spec
from tests.cross_check.texts import ALGORITHMS, TABLE

SECONDS = 8.0
CLOSE = 1e-6


def loaded(text: str, folder: Path) -> Spec:
    """The spec of a text, its table written into a folder."""
    rows = [line.removeprefix(TABLE) for line in text.splitlines() if line.startswith(TABLE)]
    if rows:
        (folder / "jobs.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return mrdsl.loads(text, folder=folder)


def faults(spec: Spec, sample: Random | None, crashes: list[str]) -> Iterator[str]:
    """What is wrong with the policies and the offline optimum of a small schedule, a line each."""
    ends: dict[str, Result] = {}
    for algorithm in ALGORITHMS if sample is None else sample.sample(ALGORITHMS, 2):
        one = _with_policy(spec, algorithm=algorithm)
        try:
            ends[algorithm] = mrdsl.solve(one)
        except MrdslError as refusal:
            yield from (f"{algorithm}: {d.code}: {d.message}" for d in refusal.diagnostics)
    least: dict[float, list[Result]] = {}
    asked = ("highs", "scip") if sample is None else (sample.choice(["highs", "highs", "cbc", "scip"]),)
    for algorithm, result in ends.items():
        yield from (f"{algorithm}: {d.code}: {d.message}" for d in result.diagnostics if d.code == "broken-plan")
        if not isinstance(result.plan, SchedulePlan):
            yield f"{algorithm}: no plan, {result.termination}"
            continue
        share = result.plan.jobs.tardy_share
        if share not in least:
            least[share] = [
                mrdsl.solve(
                    _with_policy(spec, tardy_share=share), name, formulation="offline", limits=Limits(time=SECONDS)
                )
                for name in asked
            ]
        for optimum in least[share]:
            name = f"offline by {optimum.solver['name']} with {share:.0%} late"
            died = [d.message for d in optimum.diagnostics if d.code == "solver-failed" and CRASHED in d.message]
            if died:
                crashes.extend(f"{name}: {message}" for message in died)
                continue
            yield from (f"{name}: {d.code}: {d.message}" for d in optimum.diagnostics if d.code in BAD)
            if optimum.termination in (Termination.INFEASIBLE, Termination.ERROR):
                yield f"{name}: {optimum.termination}, where {algorithm} has a plan"
            bound, cost = optimum.objective.bound, result.objective.value
            if bound is not None and cost is not None and bound > cost + CLOSE * max(bound, cost):
                yield f"{name}: no plan below {bound!r}, but {algorithm} pays {cost!r}"
    for found in least.values():
        values = [o.objective.value for o in found if o.solution is SolutionStatus.OPTIMAL]
        known = [value for value in values if value is not None]
        if known and max(known) - min(known) > 2e-5 * max(known):
            yield f"two solvers, two optima: {known}"


BAD = frozenset(("broken-plan", "objective-differs", "contradicted-claim"))


def _with_policy(spec: Spec, **items: object) -> Spec:
    return replace(spec, facts=replace(spec.facts, policy=replace(spec.facts.policy, **items)))
