"""Why a run of a hybrid cloud costs what it costs: the slack to every guarantee, and how low the cost could be."""

from __future__ import annotations

from mrdsl.core.result import Result, Table
from mrdsl.core.tolerances import FEASIBILITY
from mrdsl.families.hybrid.arrivals import arrivals_of
from mrdsl.families.hybrid.bounds import control_of
from mrdsl.families.hybrid.facts import HybridFacts
from mrdsl.families.hybrid.models.look_ahead import LARGEST, look_ahead, size
from mrdsl.families.hybrid.plan import HybridPlan, QueueRun
from mrdsl.solving.programs import UnsolvedError
from mrdsl.spec.spec import Spec


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """What `mrdsl why` prints for a hybrid cloud."""
    plan = result.plan
    if not isinstance(plan, HybridPlan):
        return ()
    facts: HybridFacts = spec.facts
    told: list[Table | str] = [slack(plan), _money(facts, plan)]
    if size(facts) > LARGEST:
        told.append("The run is too long for the look-ahead program; a shorter horizon shows what foresight is worth.")
        return tuple(told)
    try:
        told += _foresight(spec, facts, plan)
    except UnsolvedError as cause:
        told.append(f"The look-ahead program was not solved ({cause}): what foresight is worth is not known.")
    return tuple(told)


def _foresight(spec: Spec, facts: HybridFacts, plan: HybridPlan) -> list[str]:
    """What the run would have cost at least, had all arrivals been known."""
    told = []
    arrivals = arrivals_of(facts, spec.seed or 0)
    least = look_ahead(facts, arrivals, plan)
    short = [name for name, run in plan.queues.items() if _fell_short(run, control_of(facts).acceptance)]
    rejecting = ", with as many tasks turned away" if short else ""
    told.append(
        f"Had all arrivals been known, the run would still have cost {least:.4g} per slot{rejecting}; it cost "
        f"{plan.cost.average:.4g}."
    )
    if short:
        asked = look_ahead(facts, arrivals, plan, as_rejected=False)
        told.append(
            f"The acceptance of {', '.join(short)} is below the {control_of(facts).acceptance:.4g} asked for; with "
            f"it no run costs less than {asked:.4g} per slot."
        )
    return told


def _fell_short(run: QueueRun, asked: float) -> bool:
    """Whether more tasks were turned away than the acceptance and the policy's own debt allow."""
    return run.rejected > (1.0 - asked) * run.submitted + (run.debt_bound or 0.0) + FEASIBILITY


def slack(plan: HybridPlan) -> Table:
    """Each guarantee of the policy, (12) to (15), what the run reached, and what is left to it."""
    rows = [(name, *row) for name, run in plan.queues.items() for row in _guarantees(run)]
    return Table("Slack to the guarantees", ("queue", "guarantee", "reached", "bound", "slack"), rows)


def _guarantees(run: QueueRun) -> list[tuple[str, float, float, float]]:
    named: tuple[tuple[str, float, float | None], ...] = (
        ("K, acceptance debt (12)", run.debt_max, run.debt_bound),
        ("Q, backlog (13)", run.backlog_max, run.backlog_bound),
        ("Z, persistence (14)", run.persistence_max, run.persistence_bound),
        ("delay in slots (15)", run.worst_delay, run.delay_bound),
    )
    return [(name, reached, bound, bound - reached) for name, reached, bound in named if bound is not None]


def _money(facts: HybridFacts, plan: HybridPlan) -> Table:
    rows = []
    for queue in facts.queues:
        run = plan.queues[queue.name]
        price = queue.outsourcing / facts.horizon
        rows.append((queue.name, run.outsourced * price, run.outsourced_after * price, run.finished, run.preemptions))
    head = ("queue", "sent out on arrival", "sent out later", "finished here", "preempted")
    return Table("Where the money goes", head, rows)
