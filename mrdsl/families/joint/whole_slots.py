"""Where slots are whole: what cannot plan for them refuses."""

from __future__ import annotations

from mrdsl.core.diagnostics import Diagnostic, MrdslError, error
from mrdsl.families.joint.facts import SLOTS, JointFacts
from mrdsl.spec.spec import Spec

RELAXED = "a relaxation has fractions of everything"


def refuse_whole_slots(spec: Spec, reason: str) -> None:
    """Refuses a spec that asks for whole slots, for a ``reason``. Raises MrdslError."""
    facts: JointFacts = spec.facts
    if facts.whole == SLOTS:
        raise MrdslError([needs_fractions(facts, reason)])


def needs_fractions(facts: JointFacts, reason: str) -> Diagnostic:
    """What is told there."""
    return error(
        "needs-fractions",
        f"`whole = slots` asks for whole slots, and {reason}",
        facts.span_of("whole"),
        "leave out `whole`, or write whole = no",
    )
