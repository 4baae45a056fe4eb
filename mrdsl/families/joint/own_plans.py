"""Plans from VMs and admitted demand, for methods that are not part of mrdsl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mrdsl.core.decisions import numbers_by_name, plan_builder
from mrdsl.families.joint.plan import JointPlan, assemble
from mrdsl.families.joint.workload import workload
from mrdsl.spec.spec import Spec


@plan_builder("joint")
def plan_with(
    spec: Spec,
    vms: Mapping[str, float | Sequence[float]],
    demand: Mapping[str, float | Sequence[float]],
    *,
    relax: bool = False,
) -> JointPlan:
    """Return the plan that gives each class and service these VMs, and admits this demand.

    Args:
        spec: The spec.
        vms: VMs by class and service, one number for each period or one for all.
        demand: Admitted jobs of a period by class, and admitted requests [1/s] by service, like ``vms``.
        relax: Keep fractions of concurrent jobs, as in a relaxation.

    Returns:
        The plan. mrdsl checks it against the spec when a method returns it.

    Raises:
        MrdslError: `unknown-name`, `missing-item` or `wrong-value`.
    """
    work = workload(spec)
    units, periods = [*work.class_names, *work.service_names], len(work.expected)
    held = numbers_by_name(vms, units, "class or service", "VMs", periods).T
    return assemble(work, held, numbers_by_name(demand, units, "class or service", "demand", periods).T, relax)
