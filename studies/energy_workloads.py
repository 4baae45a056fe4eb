"""What the studies of the energy family share: the workloads, proven optima, and what a method decides unchecked."""

from __future__ import annotations

import mrdsl
from mrdsl.contracts.pipeline import Draft, last_draft
from mrdsl.core.resources import resource
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.core.rounding import FEASIBILITY, PROVEN
from mrdsl.families.energy.assignment import Dealt, job_use
from mrdsl.families.energy.methods.steps import report
from mrdsl.families.energy.models import counted
from mrdsl.families.energy.plan import EnergyPlan, JobUse
from mrdsl.solving import registry
from mrdsl.solving.checked_answer import solve_model
from mrdsl.solving.pipelines import steps_of
from mrdsl.spec.spec import Spec

SCALES = ("small", "medium", "large")
WORKLOADS = {
    "adjlist": "Adjlist",
    "classif": "Classif",
    "hismov": "HisMov",
    "invind": "InvInd",
    "raninvind": "RanInvInd",
    "selfjoin": "Selfjoin",
    "seqcou": "SeqCou",
    "worcou": "WorCou",
}
TITLES = {
    "dsps": "DSPS",
    "mvps": "MVPS",
    "mrdsl-energy": "mrdsl-energy",
    "mspan": "MSPAN",
    "em": "EM",
    "emrsa-1": "EMRSA",
    "emrsaps": "EMRSAPS",
}


def workload(name: str, scale: str) -> Spec:
    """One of the 24 workloads of Table 3."""
    return mrdsl.load(resource("models") / "energy" / f"{name}-{scale}.mrspec")


def optimum(spec: Spec, seconds: float = 60.0) -> EnergyPlan | None:
    """The proven optimum by HiGHS on the counted model, None where there is no plan.

    Raises TimeoutError where neither was proven within ``seconds``.
    """
    model = counted.build(spec)
    answer = solve_model(model, "highs", Limits(time=seconds, gap=PROVEN))
    if answer.solution is SolutionStatus.OPTIMAL:
        return counted.decode(spec, model)
    if answer.termination == "infeasible":
        return None
    raise TimeoutError(f"{spec.title}: {answer.termination} after {seconds:g} s")


def bound(spec: Spec) -> float | None:
    """The LP bound on the energy."""
    answer = solve_model(counted.build(spec, relax=True), "highs")
    return answer.value


def decide(spec: Spec, method: str) -> JobUse | None:
    """What a method decides for a spec with one job, before anybody checks it against the promises.

    None where it ends without having placed every task.
    """
    steps = steps_of(registry.find(method), "energy", {})
    draft = last_draft([one for one in steps if one[0] is not report], Draft(spec))
    if draft.termination is Termination.INFEASIBLE:
        return None
    if isinstance(draft.plan, EnergyPlan):
        return next(iter(draft.plan.jobs.values()))
    if not isinstance(draft.state, Dealt):
        return None
    dealt: Dealt = draft.state
    job = dealt.jobs[0]
    return None if job.kept is None else job_use(dealt.machines, job.job, job.share(job.kept))


def excess(value: float, limit: float | None) -> float:
    """By how many percent a limit is exceeded, 0 where it is kept or there is none."""
    return 0.0 if limit is None or value <= limit * (1 + FEASIBILITY) else 100.0 * (value / limit - 1.0)
