"""Hybrid clouds: a private cloud that queues, outsources or rejects tasks as they come (paper 004, III-IV)."""

from __future__ import annotations

from mrdsl.contracts.family import Experiment, Family, GoalKind, Promise
from mrdsl.families.hybrid import hooks
from mrdsl.families.hybrid.checks import check
from mrdsl.families.hybrid.facts import HybridFacts

FAMILY = Family(
    name="hybrid",
    summary="a private cloud that queues, outsources or rejects tasks as they come, at the least average cost",
    paper="Cost-Minimized VM Allocation on Hybrid clouds (draft), III-IV",
    facts=HybridFacts,
    goals=(GoalKind("minimize", "cost", "currency", "average cost of outsourcing and preemption in one slot"),),
    method="controller",
    promises=(Promise("queues.delay", 1),),
    check=check,
    choose=hooks.choose,
    report=hooks.report,
    verify=hooks.verify,
    measure=hooks.measure,
    why=hooks.why,
    simulate=hooks.simulate,
    experiments=(
        Experiment(
            "hybrid-bridge",
            "the delays of a job's tasks (II.B) become queues of a hybrid cloud (III, IV)",
            hooks.study_bridge,
            {
                "spec": ("", "a spec of `deadline`; default: models/deadline/reference.mrspec"),
                "slot": (10.0, "seconds of a slot"),
                "jobs": (0.2, "jobs that arrive in a slot, on average"),
                "price": (0.05, "USD for a slot of a task outside"),
                "horizon": (3000, "slots of the run"),
                "seed": (1, "seed of the arrivals"),
            },
            draws=False,
        ),
        Experiment(
            "hybrid-regimes",
            "every policy over loads, queues, mixes, delays, acceptances and arrivals; where the calendar loses",
            hooks.study_regimes,
            {
                "sample": (200, "regimes of the 1,944 of the grid"),
                "drawn": (0, "regimes drawn between the ends of the axes instead, if any"),
                "horizon": (600, "slots per run"),
                "seed": (1, "seed of the sample and of the arrivals"),
            },
            draws=False,
        ),
    ),
    plans=hooks.plans,
    operated=hooks.operated,
)
