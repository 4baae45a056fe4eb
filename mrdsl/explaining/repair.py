"""The cheapest combination of changes after which a spec has a plan: branch and bound over the promises' values.

What a combination costs is the sum of its relative changes: 600 s to 660 s is 0.1. Easier promises never lose a plan,
so this is monotonic optimization (Tuy 2000, SIAM Journal on Optimization 11): boxes without a plan are cut off one
after another, and what is left begins at a finite number of corners, the least of which bounds every combination from
below. From the least corner a search goes along the diagonal to the first point with a plan, an irreducible set of the
promises there says which of them the cut speaks of, and the point itself is drawn back as far as it goes to a
combination that can be told. It ends when the two sides meet within ``TOLERANCE``, or when the oracle has no time left.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from mrdsl.core.result import Result
from mrdsl.explaining.oracle import Oracle, OutOfTimeError, irreducible
from mrdsl.explaining.promises import Line, moved
from mrdsl.explaining.space import LEAST_STEP, Point, Space, axes_of, boundary
from mrdsl.spec.spec import Spec

TOLERANCE = 0.05
"""Of the cost: a combination is called the cheapest where none is cheaper by more than this."""
CUT_PRECISION = 0.05


@dataclass(frozen=True)
class Change:
    """One promise at another value; ``shown`` is that value as a person writes it."""

    line: Line
    value: float
    shown: str


@dataclass(frozen=True)
class Repair:
    """A combination of changes that was verified: the spec with these values, as they are shown, has a plan.

    ``size`` is the sum of the relative changes. Every combination changes at least ``least``; ``proven`` says that
    none is smaller by more than a twentieth.
    """

    changes: tuple[Change, ...]
    size: float
    least: float

    @property
    def proven(self) -> bool:
        return self.size - self.least <= TOLERANCE * self.size + len(self.changes) * _ROUNDING

    def short(self) -> str:
        """``deadline of sort to 21.4 min, budget of sort to 3 USD``."""
        return ", ".join(f"{change.line.label} to {change.shown}" for change in self.changes)


_ROUNDING = 0.005
"""What three digits may add to one change."""


@dataclass
class Search:
    """The search for the cheapest combination; what it has found stays when it has to stop."""

    spec: Spec
    lines: tuple[Line, ...]
    oracle: Oracle
    alone: dict[Line, float] = field(default_factory=dict)
    """Promises that no plan keeps even where all others are given up, with the nearest value at which one does."""
    best: Point | None = None
    least: float = 0.0
    slack: float = 0.0

    def __post_init__(self) -> None:
        self.space = Space(self.spec, axes_of(self.lines), self.oracle)

    def start(self) -> bool:
        """Finds some combination, fast; False where no values have a plan. Raises OutOfTimeError."""
        space = self.space
        if not space.axes or not space.has_plan(space.easiest):
            return False
        self._across((0.0,) * len(space.axes))
        return True

    def run(self) -> None:
        """Looks for the cheapest combination; ``start`` found some. Raises OutOfTimeError."""
        space = self.space
        low, high = self._alone()
        self.least, self.slack = space.size(low), space.size(high) - space.size(low)
        self._branch(high)

    def note(self, changes: tuple[Change, ...]) -> None:
        """Takes a combination that is known to leave a plan."""
        values = {change.line: change.value for change in changes}
        point = tuple(axis.change(values.get(axis.line, axis.line.value)) for axis in self.space.axes)
        self.space.with_plan.append(point)
        if self.best is None or self.space.size(point) < self.space.size(self.best):
            self.best = point

    def repair(self) -> Repair | None:
        """The cheapest combination that was found."""
        if self.best is None:
            return None
        values = self.space.values(self.best)
        changes = tuple(change_of(self.spec, line, value) for line, value in values.items())
        return Repair(changes, self.space.size(self.best), self.least)

    def _alone(self) -> tuple[Point, Point]:
        """What every combination must change at least, promise by promise, with all others given up."""
        space = self.space
        low, high = [0.0] * len(space.axes), [0.0] * len(space.axes)
        for i in self._impossible(tuple(range(len(space.axes)))):
            axis = space.axes[i]
            edge = boundary(partial(self._at, space.easiest, i, 0.0), axis.most)
            low[i], high[i] = (axis.most, axis.most) if edge is None else map(axis.snapped, edge)
            if axis.line.whole:
                low[i] = high[i]
            self.alone[axis.line] = axis.value(axis.shown(high[i]))
        return tuple(low), tuple(high)

    def _impossible(self, group: tuple[int, ...]) -> Iterator[int]:
        """The promises of a group that no plan keeps by themselves."""
        space = self.space
        if space.has_plan(space.at(space.easiest, dict.fromkeys(group, 0.0))):
            return
        if len(group) == 1:
            yield from group
            return
        half = len(group) // 2
        yield from self._impossible(group[:half])
        yield from self._impossible(group[half:])

    def _branch(self, start: Point) -> None:
        space = self.space
        corners = [(space.size(start), start)]
        seen = {start}
        while corners:
            size, corner = heapq.heappop(corners)
            self.least = max(self.least, size - self.slack)
            if self._settled(size):
                return
            if space.has_plan(corner):
                self._note(corner)
                continue
            for child in self._cut(corner):
                if child not in seen and not self._settled(space.size(child)):
                    seen.add(child)
                    heapq.heappush(corners, (space.size(child), child))
        if self.best is not None:
            self.least = max(self.least, (1.0 - TOLERANCE) * space.size(self.best) - self.slack)

    def _settled(self, size: float) -> bool:
        return self.best is not None and size >= (1.0 - TOLERANCE) * self.space.size(self.best) - LEAST_STEP

    def _across(self, corner: Point) -> tuple[Point, Point] | None:
        """From a corner without a plan along the diagonal: the last point without one, and the first with one.

        A combination is noted from the latter. None where there is no such point.
        """
        space = self.space

        def along(t: float) -> Point:
            return tuple(axis.held(at + t) for at, axis in zip(corner, space.axes, strict=True))

        most = max(top - at for top, at in zip(space.easiest, corner, strict=True))
        edge = boundary(lambda t: space.has_plan(along(t)), most, CUT_PRECISION)
        if edge is None:
            return None
        without, with_plan = along(edge[0]), along(edge[1])
        self._draw_back(corner, with_plan)
        return without, with_plan

    def _cut(self, corner: Point) -> Iterator[Point]:
        """Cuts off a box without a plan that begins at a corner; the corners that take its place."""
        space = self.space
        edge = self._across(corner)
        if edge is None:
            return
        without, with_plan = edge
        every = tuple(range(len(corner)))

        def conflicts(kept: tuple[int, ...]) -> bool:
            return not space.has_plan(space.at(space.easiest, {i: without[i] for i in kept}))

        for i in irreducible(every, conflicts):
            axis = space.axes[i]
            beyond = axis.beyond(without[i]) if without[i] > corner[i] or axis.line.whole else with_plan[i]
            if corner[i] < beyond <= axis.most:
                yield space.at(corner, {i: beyond})

    def _draw_back(self, corner: Point, point: Point) -> None:
        """Notes a combination from a point with a plan, each promise drawn back as near to the corner as it goes."""
        space = self.space

        def enough(raised: tuple[int, ...]) -> bool:
            return space.has_plan(space.at(corner, {i: point[i] for i in raised}))

        raised = irreducible(tuple(i for i, at in enumerate(point) if at > corner[i]), enough)
        drawn = space.at(corner, {i: point[i] for i in raised})
        for i in raised:
            edge = boundary(partial(self._at, drawn, i, corner[i]), drawn[i] - corner[i], CUT_PRECISION)
            if edge is not None:
                drawn = space.at(drawn, {i: space.axes[i].snapped(corner[i] + edge[1])})
        self._note(drawn)

    def _at(self, point: Point, i: int, start: float, by: float) -> bool:
        """Whether there is a plan where one coordinate of a point is ``start + by``."""
        return self.space.has_plan(self.space.at(point, {i: self.space.axes[i].snapped(start + by)}))

    def _note(self, point: Point) -> None:
        """Takes a point with a plan where it is better than the best, at values with few digits, verified once more."""
        space = self.space
        for candidate in (space.shown(point), point):
            if self.best is not None and space.size(candidate) >= space.size(self.best):
                return
            if space.oracle.has_plan(space.moved(candidate)):
                space.with_plan.append(candidate)
                self.best = candidate
                return


def change_of(spec: Spec, line: Line, value: float) -> Change:
    """A promise at a value, with the words for it."""
    return Change(line, value, line.told(value, spec.currency))


def price_of(spec: Spec, changes: tuple[Change, ...], oracle: Oracle) -> Result | None:
    """What the spec's best plan is after these changes, as far as time goes; None where there was none left."""
    try:
        return oracle.best(moved(spec, {change.line: change.value for change in changes}))
    except OutOfTimeError:
        return None
