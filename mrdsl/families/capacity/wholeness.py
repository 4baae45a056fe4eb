"""What of a plan is a whole number: ``whole = slots | machines | no``, and what follows where the spec does not say.

A relaxation has fractions of everything, and P0, P1 and P0-cone have slots of their own: they take slots as fractions.
"""

from __future__ import annotations

from dataclasses import replace

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.kept_values import kept
from mrdsl.families.capacity.facts import NO, SLOTS, CapacityFacts
from mrdsl.spec.spec import Spec

DEFAULT = SLOTS
"""What holds where a spec says nothing."""


def wholeness_of(facts: CapacityFacts) -> str:
    """What the spec's plans have in whole numbers."""
    return facts.whole or DEFAULT


def as_solved(spec: Spec, relax: bool) -> Spec:
    """The spec with what a solve of it means: fractions where it is relaxed. Raises MrdslError."""
    return in_fractions(spec, "a relaxation has fractions of everything") if relax else spec


def in_fractions(spec: Spec, reason: str) -> Spec:
    """The spec with slots in fractions; refuses one that says otherwise, for a ``reason``. Raises MrdslError."""
    facts: CapacityFacts = spec.facts
    if facts.whole not in (None, NO):
        raise MrdslError(
            [
                error(
                    "needs-fractions",
                    f"`whole = {facts.whole}` asks for whole slots, and {reason}",
                    facts.span_of("whole"),
                    "leave out `whole`, or write whole = no",
                )
            ]
        )
    return _with(spec, NO)


def as_planned(spec: Spec, wholeness: str) -> Spec:
    """The spec as a plan of that wholeness was made for it, where the spec leaves it open."""
    return spec if spec.facts.whole is not None else _with(spec, wholeness)


def shared(spec: Spec) -> Spec:
    """The spec with whole slots on VMs that classes share."""
    return _with(spec, SLOTS)


def _with(spec: Spec, wholeness: str) -> Spec:
    """The spec, the same one wherever it means the same, so that what is worked out once stays known."""
    facts: CapacityFacts = spec.facts
    if wholeness_of(facts) == wholeness:
        return spec
    return replace(spec, facts=kept(facts, f"with_whole_{wholeness}", lambda: replace(facts, whole=wholeness)))
