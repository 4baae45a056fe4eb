"""All answers to one question, held against each other: what one solver finds, no other's bound may exclude."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Limits, Plan, Result, SolutionStatus, Termination
from mrdsl.families import family as family_named
from mrdsl.families.hybrid.plan import HybridPlan
from mrdsl.planning.results import goal_of
from mrdsl.solving import registry
from mrdsl.solving.claims import CRASHED
from mrdsl.spec.spec import Spec
from tests.cross_check import hybrids, schedules
from tests.cross_check.oracles import Known, known

SOLVERS = ("highs", "glpk", "cbc", "scip")
SECONDS = 4.0
CLOSE = 2e-5
"""How far value and bound of two answers may cross, relative to them: points hold to 1e-5, and gaps to 1e-6."""
REFUSALS = frozenset(
    (
        "unable-solver",
        "unserved-family",
        "needs-minimum",
        "needs-formulation",
        "unknown-formulation",
        "off-grid",
        "too-large",
        "no-delay-bound",
        "needs-fractions",
    )
)
"""What a method may say of a spec that is right: that it is not made for it."""
ONE_RELAXATION = frozenset(("capacity", "bounds", "deadline"))
"""Families whose formulations have the same relaxation; elsewhere one may be tighter than another."""
ANOTHER_QUESTION = frozenset((hybrids.REJECTS,))
"""Hybrid policies that reject more than was asked: their plans are no plans of the others' question."""
SLOW = frozenset(("cp-sat", "portfolio", "exact", "genetic", "slot-search", "balanced-pools-genetic"))
"""Methods that take a second of search whatever the spec."""


ORACLE = "enumeration"
SAMPLE = 4
"""How many ways each spec is solved in where not all are."""


@dataclass(frozen=True)
class Way:
    """One method to ask; ``formulation`` is "" for a pipeline."""

    solver: str
    formulation: str
    relax: bool
    nonlinear: bool = False
    """Tolerances weigh more here: a proof that does not hold may be withdrawn, as long as that is told."""

    def __str__(self) -> str:
        form = f" --formulation {self.formulation}" if self.formulation else ""
        return f"--solver {self.solver}{form}{' --relax' if self.relax else ''}"


def ways(spec: Spec, quick: bool = True) -> Iterator[Way]:
    """Every solver on every formulation that it can take, and every pipeline that serves the spec."""
    family = family_named(spec.problem)
    assert family is not None
    declared = {name: _declared(name) for name in SOLVERS}
    for relax in (False, True):
        for formulation in family.formulations:
            kind = formulation.needs(spec, relax).kind
            yield from (
                Way(name, formulation.name, relax, kind in ("NLP", "MINLP"))
                for name, d in declared.items()
                if kind in d.solves
            )
        for name in _names():
            pipeline = _declared(name).pipelines.get(spec.problem)
            if pipeline is not None and (pipeline.relax or not relax) and not (quick and name in SLOW):
                yield Way(name, "", relax)


_declared = cache(registry.find)
_names = cache(registry.names)


def disagreements(
    text: str, quick: bool = True, sample: Random | None = None, crashes: list[str] | None = None
) -> tuple[str, ...]:
    """What is wrong with the answers to a spec, a line each; () where all agree. ``sample`` draws some of the ways.

    A solver whose own process died of a signal has not disagreed: that goes to ``crashes``.
    """
    crashes = [] if crashes is None else crashes
    with TemporaryDirectory() as folder:
        try:
            spec = schedules.loaded(text, Path(folder))
        except MrdslError as refusal:
            return tuple(f"the drawn spec is refused: {d.code}: {d.message}" for d in refusal.diagnostics)
        if spec.problem == "schedule":
            return tuple(schedules.faults(spec, sample, crashes))
    found: list[str] = []
    answers = {}
    asked = list(ways(spec, quick))
    for way in asked if sample is None else sample.sample(asked, min(SAMPLE, len(asked))):
        answer = _asked(spec, way, found, crashes)
        if answer is not None:
            answers[way] = answer
    for relax in (False, True):
        worth = known(spec, relax)
        if worth is not None:
            answers[Way(ORACLE, "", relax)] = _as_answer(worth)
    found.extend(_compared(spec, answers))
    return tuple(found)


def _as_answer(worth: Known) -> Result:
    if worth.value is None:
        return Result(Termination.INFEASIBLE, SolutionStatus.NONE)
    return Result(Termination.OPTIMAL, SolutionStatus.FEASIBLE, plan=Plan(), value=worth.value, bound=worth.bound)


def _asked(spec: Spec, way: Way, found: list[str], crashes: list[str]) -> Result | None:
    try:
        result = mrdsl.solve(
            spec, way.solver, formulation=way.formulation or None, relax=way.relax, limits=Limits(time=SECONDS)
        )
    except MrdslError as refusal:
        strange = [d for d in refusal.diagnostics if d.code not in REFUSALS]
        found.extend(f"{way}: {d.code}: {d.message}" for d in strange)
        return None
    except Exception as crash:
        found.append(f"{way}: crash: {type(crash).__name__}: {crash}")
        return None
    if (died := crash_of(result)) is not None:
        crashes.append(f"{way}: {died}")
        return None
    told = () if way.nonlinear else ("objective-differs", "contradicted-claim")
    bad = [d for d in result.diagnostics if d.code in ("broken-plan", *told)]
    value, bound = result.objective.value, result.objective.bound
    if value is not None and bound is not None and _beyond(_sign(spec) * bound, _sign(spec) * value):
        found.append(f"{way}: its bound {bound!r} lies beyond its own value {value!r}")
    if isinstance(result.plan, HybridPlan):
        found.extend(f"{way}: {said}" for said in hybrids.broken(spec, way.solver, result.plan))
    if result.termination is Termination.ERROR:
        bad = bad or list(result.diagnostics)
        found.append(f"{way}: it ends with an error")
    found.extend(f"{way}: {d.code}: {d.message}" for d in bad)
    return result


def crash_of(result: Result) -> str | None:
    """What is told of a solver whose process died of a signal of its own."""
    failed = (d.message for d in result.diagnostics if d.code == "solver-failed")
    return next((message for message in failed if CRASHED in message), None)


def _compared(spec: Spec, answers: dict[Way, Result]) -> Iterator[str]:
    sign = _sign(spec)
    whole = {w: r for w, r in answers.items() if not w.relax}
    relaxed = {w: r for w, r in answers.items() if w.relax}
    groups = [whole]
    if spec.problem in ONE_RELAXATION:
        groups.append(relaxed)
    else:
        forms = dict.fromkeys(w.formulation for w in relaxed)
        groups.extend({w: r for w, r in relaxed.items() if w.formulation == form} for form in forms)
    for group in groups:
        yield from _crossed(group, group, sign)
    yield from _crossed(relaxed, whole, sign)


def _crossed(claims: dict[Way, Result], plans: dict[Way, Result], sign: float) -> Iterator[str]:
    """Claims that a plan contradicts: a bound that it passes, "optimal" above it, "infeasible" where it stands."""
    known = {
        w: sign * r.objective.value
        for w, r in plans.items()
        if r.plan is not None and r.objective.value is not None and w.solver not in ANOTHER_QUESTION
    }
    if not known:
        return
    best = min(known, key=known.__getitem__)
    for way, result in claims.items():
        if result.termination is Termination.INFEASIBLE:
            yield f"{way}: infeasible, but {best} has a plan worth {sign * known[best]!r}"
        bound = result.objective.bound
        if bound is not None and _beyond(sign * bound, known[best]):
            yield f"{way}: bound {bound!r}, but {best} has a plan worth {sign * known[best]!r}"
        value, gap = result.objective.value, result.objective.gap
        if result.solution is SolutionStatus.OPTIMAL and value is not None:
            least = sign * value - (gap or 0.0) * abs(value)
            if _beyond(least, known[best]):
                yield f"{way}: optimal at {value!r}, but {best} has a plan worth {sign * known[best]!r}"


def _sign(spec: Spec) -> float:
    family = family_named(spec.problem)
    assert family is not None
    return -1.0 if goal_of(spec, family).sense == "maximize" else 1.0


def _beyond(bound: float, value: float) -> bool:
    return bound - value > CLOSE * max(abs(bound), abs(value), 1e-9)
