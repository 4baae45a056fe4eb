"""What runs showed of a saved plan: held against itself, and seen again where that is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.result import Outcome, Result
from mrdsl.families.diagnosis import find_family
from mrdsl.simulation.kept import Verdict
from mrdsl.simulation.observed import Simulated
from mrdsl.simulation.settings import Settings, WhatIf
from mrdsl.simulation.verdicts import doubt_about


def evidence_of(plan: Any) -> Simulated | None:
    """How a plan was run; None where it was not."""
    simulated = getattr(plan, "simulated", None)
    return simulated if isinstance(simulated, Simulated) else None


def doubts(plan: Any) -> Iterator[tuple[str, str]]:
    """Where verdicts of a plan do not follow from the numbers beside them, and why."""
    simulated = evidence_of(plan)
    for path, verdict in _verdicts(plan, "state"):
        doubt = doubt_about(verdict)
        if not doubt and (simulated is None or verdict.runs > simulated.runs):
            doubt = "rests on more runs than there were"
        if doubt:
            yield path, doubt


def _verdicts(value: Any, path: str) -> Iterator[tuple[str, Verdict]]:
    if isinstance(value, Verdict):
        yield path, value
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _verdicts(getattr(value, field.name), f"{path}.{field.name}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _verdicts(item, f"{path}.{key}")
    elif isinstance(value, list | tuple) and value and not isinstance(value[0], int | float | str):
        for index, item in enumerate(value):
            yield from _verdicts(item, f"{path}[{index}]")


def said_of(plan: Any) -> str:
    """In a word, what runs say of all promises together; nothing where there are none."""
    outcomes = set(plan.outcomes().values())
    worst = next((one for one in (Outcome.BROKEN, Outcome.UNDECIDED, Outcome.KEPT) if one in outcomes), None)
    return "" if worst is None else str(worst)


def seen_again(result: Result[Any], processes: int = 1) -> Result[Any]:
    """The result with what the same runs of its plan show now: of its own search, and of a simulation of it.

    Raises MrdslError where its plan was not run, or is itself what a simulation saw.
    """
    from mrdsl.planning.simulate_spec import observe, require_runs_of_plans

    simulated = evidence_of(result.plan)
    family = find_family(result.spec)
    shown = family.shown_again(result.spec, result.plan, processes) if family.shown_again is not None else None
    if shown is not None:
        result = replace(result, plan=shown)
        if simulated is None:
            return result
    if simulated is None:
        require_runs_of_plans(result.spec, "--again")
        hint = "`mrdsl simulate plan.json -o run.json` or `mrdsl solve SPEC --validate -o run.json` makes such a file"
        raise MrdslError([error("wrong-option", "the plan was not run, so there is nothing to see again", None, hint)])
    jobs = simulated.jobs_per_user if simulated.warm_up > 0.0 or simulated.jobs_per_user > 1 else None
    settings = Settings(simulated.runs, simulated.seed, jobs, processes, _what_if(simulated.what_if))
    spec = replace(result.spec, seed=simulated.seed)
    again = observe(spec, result, settings)
    assert again is not None
    return again


def _what_if(said: Mapping[str, Any]) -> WhatIf:
    """Raises MrdslError where it is none: whoever wrote the file may have written anything."""
    try:
        slow = said.get("stragglers")
        pair = None if slow is None else (float(slow["share"]), float(slow["factor"]))
        return WhatIf(said.get("slowstart"), pair, said.get("lose"), said.get("burst"))
    except (LookupError, TypeError, ValueError):
        hint = "simulate the plan again"
        raise MrdslError([error("malformed-plan", "`simulation.what_if` is none", None, hint)]) from None
