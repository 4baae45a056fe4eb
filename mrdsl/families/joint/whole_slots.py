"""What of a joint plan is whole: ``whole = slots | no``, and what follows where the spec does not say.

A relaxation has fractions of everything, P0 and P1 have slots of their own, and ``concurrency = fractional`` has
fractions of jobs: they take slots as fractions.
"""

from __future__ import annotations

from dataclasses import replace

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.core.kept_values import kept
from mrdsl.families.joint.facts import NO, SLOTS, JointFacts
from mrdsl.spec.spec import Spec

DEFAULT = SLOTS
"""What holds where a spec says nothing."""
RELAXED = "a relaxation has fractions of everything"


def wholeness_of(facts: JointFacts) -> str:
    """What the spec's plans have in whole numbers."""
    return facts.whole or (NO if facts.cluster.concurrency == "fractional" else DEFAULT)


def as_solved(spec: Spec, relax: bool) -> Spec:
    """The spec with what a solve of it means: fractions where it is relaxed. Raises MrdslError."""
    return in_fractions(spec, RELAXED) if relax else spec


def in_fractions(spec: Spec, reason: str) -> Spec:
    """The spec with slots in fractions; refuses one that says otherwise, for a ``reason``. Raises MrdslError."""
    facts: JointFacts = spec.facts
    if facts.whole == SLOTS:
        raise MrdslError([needs_fractions(facts, reason)])
    return as_planned(spec, NO)


def as_planned(spec: Spec, wholeness: str) -> Spec:
    """The spec as a plan of that wholeness was made for it, where the spec leaves it open."""
    facts: JointFacts = spec.facts
    if facts.whole is not None or wholeness_of(facts) == wholeness:
        return spec
    return replace(spec, facts=kept(facts, f"with_whole_{wholeness}", lambda: replace(facts, whole=wholeness)))


def needs_fractions(facts: JointFacts, reason: str) -> Diagnostic:
    """What is told there."""
    return error(
        "needs-fractions",
        f"`whole = slots` asks for whole slots, and {reason}",
        facts.span_of("whole"),
        "leave out `whole`, or write whole = no",
    )
