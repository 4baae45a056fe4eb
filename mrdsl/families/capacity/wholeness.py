"""What of a plan is a whole number: ``whole = slots | machines | no``, and what follows where the spec does not say.

A relaxation has fractions of everything, and P0, P1 and P0-cone have slots of their own: they take slots as fractions.
"""

from __future__ import annotations

from mrdsl.contracts.wholeness import Wholeness
from mrdsl.families.capacity.facts import NO, SLOTS
from mrdsl.spec.spec import Spec

WHOLENESS = Wholeness(default=lambda facts: SLOTS, fractions=NO)
wholeness_of, as_solved = WHOLENESS.of, WHOLENESS.as_solved
in_fractions, as_planned = WHOLENESS.in_fractions, WHOLENESS.as_planned


def shared(spec: Spec) -> Spec:
    """The spec with whole slots on VMs that classes share."""
    return WHOLENESS.meant(spec, SLOTS)
