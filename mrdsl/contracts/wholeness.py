"""What of a plan is whole: ``whole = slots | ... | no``, and what follows where a spec does not say.

A relaxation has fractions of everything, and some formulations have slots of their own: they take slots as fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, error, note
from mrdsl.core.lazy import kept
from mrdsl.spec.spec import Spec

RELAXED = "a relaxation allows fractions everywhere"
OF_A_MODEL = "its slots are those of a model, not whole ones of each job"


@dataclass(frozen=True)
class Wholeness:
    """How a family's plans count, whose facts have an item ``whole``.

    ``default`` is what holds, by the facts, where a spec says nothing; ``fractions`` the word for slots in fractions.
    """

    default: Callable[[Any], str]
    fractions: str

    def of(self, facts: Any) -> str:
        """What the spec's plans have in whole numbers."""
        said: str | None = facts.whole
        return said or self.default(facts)

    def as_solved(self, spec: Spec, relax: bool) -> Spec:
        """Return the spec with what a solve of it means: fractions where it is relaxed. Raises MrdslError."""
        return self.in_fractions(spec, RELAXED) if relax else spec

    def in_fractions(self, spec: Spec, reason: str) -> Spec:
        """Return the spec with slots in fractions; refuses one that says otherwise, for a ``reason``. Raises
        MrdslError.
        """
        if spec.facts.whole not in (None, self.fractions):
            raise MrdslError([needs_fractions(spec.facts, reason)])
        return self.meant(spec, self.fractions)

    def as_planned(self, spec: Spec, wholeness: str) -> Spec:
        """Return the spec as a plan of that wholeness was made for it, where the spec leaves it open."""
        return spec if spec.facts.whole is not None else self.meant(spec, wholeness)

    def meant(self, spec: Spec, wholeness: str) -> Spec:
        """Return the spec, the same one wherever it means the same, so that what is worked out once stays known."""
        facts = spec.facts
        if self.of(facts) == wholeness:
            return spec
        return replace(spec, facts=kept(facts, f"with_whole_{wholeness}", lambda: replace(facts, whole=wholeness)))

    def mistake(self, facts: Any, planned: str, relax: bool) -> str:
        """What is wrong with a plan of that wholeness, in words; "" where the spec, or a relaxation, allows it."""
        whole = (self.default(facts), self.fractions) if facts.whole is None else (facts.whole,)
        fitting = (self.fractions,) if relax else whole
        return "" if planned in fitting else f"whole is `{planned}` in the plan, not `{fitting[0]}`"

    def implied(self, facts: Any, planned: str, place: Span | None, why: str, hint: str) -> Iterator[Diagnostic]:
        """Yield a note where the spec leaves open what is whole, and the plan has fractions that are not the
        default.
        """
        if facts.whole is None and planned == self.fractions != self.default(facts):
            yield note("slots-in-fractions", f"the plan is one of `whole = no`: {why}", place, hint)


def needs_fractions(facts: Any, reason: str) -> Diagnostic:
    """What is told where a spec asks for whole slots, and there are fractions for a ``reason``."""
    return error(
        "needs-fractions",
        f"`whole = {facts.whole}` requires whole slots, but {reason}",
        facts.span_of("whole"),
        "remove `whole`, or write `whole = no`",
    )


def where_fractions_are_meant(solved: str) -> str:
    """What to write instead, where what is ``solved`` in words plans for whole slots."""
    return f"write `whole = no` if you mean fractions; {solved} plan for whole slots"
