"""An energy plan as machines: each job has its own, so each is a cluster."""

from __future__ import annotations

from mrdsl.core.units import HOUR
from mrdsl.exchange.registry import DATAPROC, EMR, Target
from mrdsl.exchange.targets.deployment import FIRM, Deployment, Group, MachineType, TargetError
from mrdsl.families.energy.facts import EnergyFacts
from mrdsl.families.energy.plan import EnergyPlan
from mrdsl.spec.spec import Spec


def deployments(spec: Spec, plan: EnergyPlan) -> tuple[Deployment, ...]:
    """Return a cluster per job. Raises TargetError if the plan has parts of machines."""
    if plan.relaxed:
        raise TargetError("the plan has fractions of machines, which cannot be rented", "solve it without --relax")
    facts: EnergyFacts = spec.facts
    types = tuple(MachineType(vm.name, price=vm.on_demand.price) for vm in facts.vms)
    return tuple(
        Deployment(
            types,
            tuple(Group(vm.name, FIRM, count) for vm in facts.vms if (count := _held(plan, name, vm.name))),
            (),
            currency=spec.currency,
            part=name if len(plan.jobs) > 1 else "",
            notes=(
                f"which task of {name} runs where - a scheduler of YARN places tasks as they come",
                f"when to give the machines back - {name} ends after {job.uptime / HOUR:.4g} h",
            ),
        )
        for name, job in plan.jobs.items()
    )


def _held(plan: EnergyPlan, job: str, vm: str) -> int:
    return sum(use.job == job and use.type == vm for use in plan.vms)


def targets() -> tuple[Target, ...]:
    """Return the export targets of plans."""
    return EMR, DATAPROC
