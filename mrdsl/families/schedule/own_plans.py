"""Plans from policies, for methods that are not part of mrdsl."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mrdsl.core.decisions import plan_builder, wrong
from mrdsl.core.diagnostics import MrdslError, described
from mrdsl.families.schedule.facts import ScheduleFacts
from mrdsl.families.schedule.methods.policy import DECIDES, decisions, policy_of, simulation
from mrdsl.families.schedule.plan import SchedulePlan, plan_of
from mrdsl.simulation.scheduling import Policy
from mrdsl.spec.spec import Spec


@plan_builder("schedule")
def plan_with(
    spec: Spec, make: Callable[[ScheduleFacts], Policy] = policy_of, *, seed: int | None = None
) -> SchedulePlan:
    """Return the plan of one run of a policy, which decides when jobs, evictions and times occur.

    Args:
        spec: The spec.
        make: Function of ``spec.facts`` that returns a new policy, by default the policy of the spec. A policy has the
            methods `ready`, `lost`, `decide` and `clock` of :class:`mrdsl.simulation.scheduling.Policy`.
        seed: The seed of arrivals and prices, by default that of the spec.

    Returns:
        The plan. mrdsl checks it against the spec when a method returns it.

    Raises:
        MrdslError: `wrong-value` if `make` does not return a policy.
    """
    made = make(spec.facts)
    missing = [name for name in DECIDES if not callable(getattr(made, name, None))]
    if missing:
        hint = f"write a function that returns an object with the methods {', '.join(DECIDES)}"
        raise MrdslError([wrong(f"the policy must have the method `{missing[0]}`, got {described(made)}", hint)])
    seed = (spec.seed or 0) if seed is None else seed
    run = simulation(spec.facts, seed, make=make)
    return plan_of(run.run(), sum(run.machine.slots), partial(decisions, spec.facts, seed, make=make))
