"""What of a joint plan is whole: ``whole = slots | no``, and what follows where the spec does not say.

A relaxation has fractions of everything, P0 and P1 have slots of their own, and ``concurrency = fractional`` has
fractions of jobs: they take slots as fractions.
"""

from __future__ import annotations

from mrdsl.contracts.wholeness import Wholeness
from mrdsl.families.joint.facts import NO, SLOTS

WHOLENESS = Wholeness(
    default=lambda facts: NO if facts.cluster.concurrency == "fractional" else SLOTS,
    fractions=NO,
)
wholeness_of, as_solved = WHOLENESS.of, WHOLENESS.as_solved
in_fractions, as_planned = WHOLENESS.in_fractions, WHOLENESS.as_planned
