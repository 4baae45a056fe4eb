"""Joint specs built in Python: the reference spec, and random small ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrdsl.core.diagnostics import Severity
from mrdsl.families.joint.facts import Cluster, JobClass, JointFacts, Service
from mrdsl.families.joint.verify import verify
from mrdsl.spec.blocks import Coefficients, MapPhase, ReducePhase, ShufflePhase, Slots
from mrdsl.spec.schema import Range
from mrdsl.spec.spec import Spec

CENT, HOUR = 0.01, 3600.0


def broken(spec: Spec, plan: Any, relax: bool = False) -> list[str]:
    """The promises that a plan breaks, in words; warnings are none."""
    return [d.message for d in verify(spec, plan, relax) if d.severity is Severity.ERROR]


def reference(peak: float = 1.0, **cluster: Any) -> Spec:
    """Much as models/joint/reference.mrspec, in SI; fractional jobs at once."""
    recommendations = JobClass(
        name="recommendations",
        map=MapPhase(tasks=370, avg=30.0, max=42.0),
        shuffle=ShufflePhase(first_max=11.0, avg=37.0, max=40.0),
        reduce=ReducePhase(tasks=64, avg=22.0, max=44.0),
        slots=Slots(map=2, reduce=2),
        jobs=Range(0.8 * 16 * peak, 16 * peak),
        deadline=900.0,
        penalty=45 * CENT,
    )
    checkout = Service(
        name="checkout",
        rate=Range(960 * peak, 1200 * peak),
        service_rate=15.0,
        delay=0.25,
        response=1.4,
        penalty=0.002 * CENT,
    )
    search = Service(
        name="search",
        rate=Range(1200 * peak, 1500 * peak),
        service_rate=20.0,
        delay=0.1,
        response=1.25,
        penalty=0.0012 * CENT,
    )
    options = {"size": 210, "vm_cost": 1.0943 * CENT / HOUR, "concurrency": "fractional", **cluster}
    facts = JointFacts(
        estimates="paper",
        cluster=Cluster(**options),
        classes=(recommendations,),
        services=(checkout, search),
        whole="no",
    )
    return Spec(problem="joint", facts=facts)


def random_spec(seed: int, most_vms: int = 4, **cluster: Any) -> Spec:
    """One or two classes and services of a few VMs each, on a cluster that is often too small for all of them.

    Fractional jobs at once unless ``cluster`` says otherwise.
    """
    draw = np.random.default_rng(seed)
    classes = tuple(_class(draw, f"c{i}", most_vms) for i in range(draw.integers(0, 3)))
    services = tuple(_service(draw, f"s{k}", most_vms) for k in range(draw.integers(1, 3)))
    units = len(classes) + len(services)
    size = int(draw.integers(units, most_vms * units + 1))
    rule = "paper" if cluster.get("concurrency") == "whole" else None
    options = {"size": size, "vm_cost": 0.02 / HOUR, "concurrency": "fractional", "reuse": rule, **cluster}
    facts = JointFacts(estimates="paper", cluster=Cluster(**options), classes=classes, services=services, whole="no")
    return Spec(problem="joint", facts=facts)


def _class(draw: np.random.Generator, name: str, most_vms: int) -> JobClass:
    a, b = draw.uniform(500, 3000, 2)
    slots, deadline = Slots(map=int(draw.integers(1, 5)), reduce=int(draw.integers(1, 5))), draw.uniform(600, 1800)
    per_job = (np.sqrt(a / slots.map) + np.sqrt(b / slots.reduce)) ** 2 / (deadline - 100) * deadline / HOUR
    high = draw.uniform(0.3, most_vms) / per_job
    return JobClass(
        name=name,
        coefficients=Coefficients(A=a, B=b, C=100.0),
        slots=slots,
        deadline=deadline,
        jobs=Range(high * draw.uniform(0, 1), high),
        penalty=per_job * draw.uniform(0.005, 0.1),
    )


def _service(draw: np.random.Generator, name: str, most_vms: int) -> Service:
    rate, delay = draw.uniform(10, 20), draw.uniform(0.01, 0.5)
    response = delay + draw.uniform(1.5, 10) / rate
    per_vm = rate - 1 / (response - delay)
    high = draw.uniform(0.3, most_vms) * per_vm
    return Service(
        name=name,
        service_rate=rate,
        delay=delay,
        response=response,
        rate=Range(high * draw.uniform(0, 1), high),
        penalty=draw.uniform(0.005, 0.1) / per_vm / HOUR,
    )


def wild_spec(seed: int, **cluster: Any) -> Spec:
    """Small specs far outside the paper's ranges.

    One job, deadlines of exactly a period, beyond it, or of an odd part of it; map-only jobs, few tasks, tiny jobs of
    which a VM holds several; penalties of zero, equal ones; classes without services and services without classes.
    """
    draw = np.random.default_rng(seed)
    kinds = ((1, 0), (0, 1), (1, 1), (2, 1), (1, 2), (3, 0))[int(draw.integers(0, 6))]
    equal = 0.05 if draw.random() < 0.3 else None
    classes = tuple(_wild_class(draw, f"c{i}", equal) for i in range(kinds[0]))
    services = tuple(_service(draw, f"s{k}", 3) for k in range(kinds[1]))
    options = {
        "size": int(draw.integers(1, 14)),
        "vm_cost": 0.02 / HOUR,
        "reuse": "paper",
        "sharing": "partitioned" if draw.random() < 0.3 else "shared",
        **cluster,
    }
    return Spec(
        problem="joint",
        facts=JointFacts(estimates="paper", cluster=Cluster(**options), classes=classes, services=services, whole="no"),
    )


def _wild_class(draw: np.random.Generator, name: str, penalty: float | None) -> JobClass:
    deadline = float(draw.choice([HOUR, 2 * HOUR, 5000.0, 900.0, 1100.0, 1500.0, draw.uniform(300, 9000)]))
    slots = Slots(map=int(draw.integers(1, 5)), reduce=int(draw.integers(1, 5)))
    work = deadline * float(draw.choice([0.1, 0.5, 2.0, 5.0]))
    few = bool(draw.random() < 0.4)
    maps, reduces = (int(draw.integers(2, 9)) if few else 100 for _ in range(2))
    average, reduce_average = 0.6 * work / maps, 0.3 * work / reduces
    high = float(draw.choice([1.0, 1.0, 2.0, 3.0, draw.uniform(0.2, 6)]))
    profile: dict[str, Any] = {"map": MapPhase(tasks=maps, avg=average, max=1.1 * average)}
    if draw.random() < 0.7:
        profile["shuffle"] = ShufflePhase(first_max=0.0, avg=reduce_average / 4, max=reduce_average / 3)
        profile["reduce"] = ReducePhase(tasks=reduces, avg=reduce_average, max=1.1 * reduce_average)
    if draw.random() < 0.25:
        profile = {"coefficients": Coefficients(A=0.6 * work, B=float(draw.choice([0.0, 0.3])) * work, C=0.01 * work)}
    worth = penalty if penalty is not None else float(draw.choice([0.0, 0.01, 0.05, 0.3]))
    return JobClass(
        name=name,
        slots=slots,
        deadline=deadline,
        jobs=Range(high * float(draw.choice([0.0, 0.5, 0.8, 1.0])), high),
        penalty=worth,
        guarantee=None if "coefficients" in profile else str(draw.choice(["average", "upper", "lower"])),
        **profile,
    )
