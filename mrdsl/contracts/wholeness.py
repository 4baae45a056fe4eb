"""The item `whole = slots | ... | no`: which parts of a plan are whole numbers, and the default.

Relaxations and some formulations have slots in fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, error, note
from mrdsl.core.lazy import kept
from mrdsl.spec.columns import matching
from mrdsl.spec.spec import Spec

RELAXED = "a relaxation allows fractions everywhere"
OF_A_MODEL = "its slots are those of a model, not whole ones of each job"


@dataclass(frozen=True)
class Wholeness:
    """Rules for the item `whole` of a family.

    Attributes:
        default: Function of the facts that returns the default.
        fractions: The word for slots in fractions.
    """

    default: Callable[[Any], str]
    fractions: str

    def of(self, facts: Any) -> str:
        """Return the value of `whole` for a spec, or its default.

        Args:
            facts: Facts of the spec.

        Returns:
            The word.
        """
        said: str | None = facts.whole
        return said or self.default(facts)

    def as_solved(self, spec: Spec, relax: bool) -> Spec:
        """Return the spec as a solve interprets it: with fractions for a relaxation.

        Args:
            spec: The spec.
            relax: Solve the relaxation.

        Returns:
            The spec.

        Raises:
            MrdslError: If the spec requires whole slots of a relaxation.
        """
        return self.in_fractions(spec, RELAXED) if relax else spec

    def in_fractions(self, spec: Spec, reason: str) -> Spec:
        """Return the spec with slots in fractions.

        Args:
            spec: The spec.
            reason: Reason for fractions, for the error.

        Returns:
            The spec.

        Raises:
            MrdslError: If the spec requires whole slots.
        """
        if spec.facts.whole not in (None, self.fractions):
            raise MrdslError([needs_fractions(spec.facts, reason)])
        wrong = list(means_in_fractions(spec.facts, reason))
        if wrong:
            raise MrdslError(wrong)
        return self.meant(spec, self.fractions)

    def as_planned(self, spec: Spec, wholeness: str) -> Spec:
        """Return the spec as a plan was made for it, if the spec leaves `whole` open.

        Args:
            spec: The spec.
            wholeness: Value of `whole` of the plan.

        Returns:
            The spec.
        """
        return spec if spec.facts.whole is not None else self.meant(spec, wholeness)

    def meant(self, spec: Spec, wholeness: str) -> Spec:
        """Return the spec with a value of `whole`: the same object if its meaning is the same.

        Args:
            spec: The spec.
            wholeness: Value of `whole`.

        Returns:
            The spec.
        """
        facts = spec.facts
        if self.of(facts) == wholeness:
            return spec
        return replace(spec, facts=kept(facts, f"with_whole_{wholeness}", lambda: replace(facts, whole=wholeness)))

    def mistake(self, facts: Any, planned: str, relax: bool) -> str:
        """Find the error in the value of `whole` of a plan.

        Args:
            facts: Facts of the spec.
            planned: Value of `whole` of the plan.
            relax: The plan is of the relaxation.

        Returns:
            The error in words, or an empty text.
        """
        whole = (self.default(facts), self.fractions) if facts.whole is None else (facts.whole,)
        fitting = (self.fractions,) if relax else whole
        return "" if planned in fitting else f"whole is `{planned}` in the plan, not `{fitting[0]}`"

    def implied(self, facts: Any, planned: str, place: Span | None, why: str, hint: str) -> Iterator[Diagnostic]:
        """Note that a plan has fractions although the default is whole.

        Args:
            facts: Facts of the spec.
            planned: Value of `whole` of the plan.
            place: Location of the note.
            why: Reason for fractions.
            hint: Hint of the note.

        Yields:
            At most one note.
        """
        if facts.whole is None and planned == self.fractions != self.default(facts):
            yield note("slots-in-fractions", f"the plan is one of `whole = no`: {why}", place, hint)


def means_in_fractions(facts: Any, reason: str) -> Iterator[Diagnostic]:
    """Yield an error for the first class that guarantees a mean, which is that of whole slots.

    Args:
        facts: Facts of the spec.
        reason: Reason for fractions, for the error.

    Yields:
        At most one error.
    """
    for index in matching(facts.classes, lambda c: c.word("guarantee") == "mean"):
        node = facts.classes[index]
        yield error(
            "mean-in-fractions",
            f"class {node.name} guarantees the mean on whole slots, but {reason}",
            node.span_of("guarantee"),
            "write `guarantee = average`, or plan for whole slots",
        )
        return


def needs_fractions(facts: Any, reason: str) -> Diagnostic:
    """Return the error for a spec with whole slots in a place that needs fractions.

    Args:
        facts: Facts of the spec.
        reason: Reason for fractions.

    Returns:
        The error.
    """
    return error(
        "needs-fractions",
        f"`whole = {facts.whole}` requires whole slots, but {reason}",
        facts.span_of("whole"),
        "remove `whole`, or write `whole = no`",
    )


def fractional_slots_hint(solved: str) -> str:
    """Return the hint of :func:`needs_fractions`.

    Args:
        solved: What plans with whole slots, in words.

    Returns:
        The hint.
    """
    return f"write `whole = no` if you mean fractions; {solved} plan for whole slots"
