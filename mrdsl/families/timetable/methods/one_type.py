"""Constant clusters and elastic machines of one VM type, for some or all runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from math import inf

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.watching import LateError, until_late
from mrdsl.families.timetable.bounds import fewest_machines
from mrdsl.families.timetable.methods.constant import Found, constant, too_few
from mrdsl.families.timetable.methods.elastic import elastic
from mrdsl.families.timetable.methods.per_job import Sizes, per_job
from mrdsl.families.timetable.methods.rejection import admitting, has_optional, mandatory
from mrdsl.families.timetable.night import Night
from mrdsl.families.timetable.types import alone


class Plans:
    """Plans of nights on one VM type; bounds are 0 unless they follow from the search.

    Elastic timetables begin with constant clusters, so that of the last night is kept.
    """

    def __init__(self, draft: Draft, repairs: int, sizes: int) -> None:
        self.draft, self.repairs, self.sizes = draft, repairs, sizes
        self.alone = Sizes()
        self.last: tuple[Night, Found] | None = None

    def found(self, night: Night, way: str) -> Found:
        """Return the best plan of a night in one way, `constant` or `elastic`."""
        return self._constant(night) if way == "constant" else self._elastic(night)

    def _constant(self, night: Night) -> Found:
        if self.last is None or self.last[0] is not night:
            if has_optional(night):
                found = self._admitted(night)
            else:
                found = constant(self.draft, night, self.repairs, self.sizes)
            self.last = night, found
        return self.last[1]

    def _admitted(self, night: Night) -> Found:
        """Return the best constant cluster that may leave out runs."""
        must, available = mandatory(night), night.machine.available
        if available is not None and must.runs and (fewest := fewest_machines(must)) > available:
            return Found(None, inf, too_few(self.draft.spec.facts, night, fewest))
        found = list(until_late(admitting(night)))
        best = min(found, key=lambda each: each.value, default=None)
        return Found(best, 0.0, None, tuple(each.placed for each in found))

    def _elastic(self, night: Night) -> Found:
        first, alone_best, best = Found(None, 0.0), None, None
        with suppress(LateError):  # the fastest way first: there is a plan, however little time there is
            alone_best, _ = per_job(alone(night), self.alone)
            first = self._constant(night)
            if first.impossible is not None:
                return first
            others = [*([alone_best.placed] if alone_best else []), *first.others]
            best = elastic(night, others)
        for other, is_one in ((first.best, True), (alone_best, not night.machine.masters)):
            # per job, masters are there only while jobs run
            if other is not None and is_one and (best is None or other.value < best.value):
                best = replace(other, rent="elastic")
        return Found(best, 0.0)
