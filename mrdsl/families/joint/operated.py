"""What somebody who runs a joint plan sets, period by period: VMs that run; who has them, and what is let in."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.contracts.operated import ADMIT, GIVE, RUN, SET, Operated, Setting
from mrdsl.families.joint.plan import JointPlan
from mrdsl.spec.spec import Spec


def operated(_: Spec, plan: JointPlan) -> Operated:
    """The settings of a plan."""
    return Operated(tuple(_settings(plan)))


def _settings(plan: JointPlan) -> Iterator[Setting]:
    several = len(plan.vms) > 1
    for t, vms in enumerate(plan.vms.tolist()):
        when = f"period {t}" if several else ""
        yield Setting(RUN, "VMs", vms, "", when)
        got = plan.classes
        for i, name in enumerate(plan.class_names):
            what = f"class {name}"
            yield Setting(GIVE, what, float(got.vms[t, i]), "VMs", when)
            yield Setting(ADMIT, what, float(got.admitted[t, i]), "jobs", when)
            yield Setting(SET, f"the weight of {what}", float(got.weight[t, i]), "", when)
        for i, name in enumerate(plan.service_names):
            yield Setting(GIVE, f"service {name}", float(plan.services.vms[t, i]), "VMs", when)
            yield Setting(ADMIT, f"service {name}", float(plan.services.rate[t, i]), "requests/s", when)
