"""The cheapest combination of changes that gives a spec a plan: branch and bound over the constraints' values."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import ceil, floor

from mrdsl.core.result import Result
from mrdsl.core.rounding import ROUNDING
from mrdsl.explaining.promises import Line, Oracle, OutOfTimeError, easiest, irreducible, moved
from mrdsl.spec.spec import Spec

Point = tuple[float, ...]
PRECISION = 0.01
"""Of a change: how near a bisection comes."""
FIRST_STEP = 0.05
LEAST_STEP = 1e-4
"""A change below this share of the value counts as none."""


@dataclass(frozen=True)
class Axis:
    """One constraint that can change: ``scale`` is the size of a change of 1, ``most`` the change to its
    easiest value.
    """

    line: Line
    scale: float
    most: float

    def value(self, change: float) -> float:
        """Return the value of the constraint after a change; whole if the constraint is."""
        if change <= 0.0:
            return self.line.value
        if change >= self.most:
            return easiest(self.line)
        step = change * self.scale
        return self.line.value + self.line.direction * (ceil(step - ROUNDING) if self.line.whole else step)

    def change(self, value: float) -> float:
        """Return the distance of a value from the written one, in the easy direction."""
        return max((value - self.line.value) * self.line.direction / self.scale, 0.0)

    def snapped(self, change: float) -> float:
        """Return the change to a value that can be written: whole if the constraint is."""
        return self.change(self.value(change)) if self.line.whole else min(change, self.most)

    def held(self, change: float) -> float:
        """Return the change to the last value before this one that can be written: whole if the constraint is."""
        if not self.line.whole or change >= self.most:
            return min(change, self.most)
        return floor(change * self.scale + ROUNDING) / self.scale

    def shown(self, change: float) -> float:
        """Return the change of the value with few digits that is shown for this one."""
        if not 0.0 < change < self.most:
            return change
        return min(self.change(self.line.rounded(self.value(change))), self.most)

    def beyond(self, change: float) -> float:
        """Return the next change that differs."""
        return min(floor(change * self.scale + 1.5) / self.scale, self.most) if self.line.whole else change


def axes_of(lines: tuple[Line, ...]) -> tuple[Axis, ...]:
    """Return the promises that have a number to move."""
    out = []
    for line in lines:
        if line.direction:
            scale = abs(line.value) or 1.0
            out.append(Axis(line, scale, (easiest(line) - line.value) * line.direction / scale))
    return tuple(axis for axis in out if axis.most > 0.0)


@dataclass
class Space:
    """The points of a spec, and the known answers for them."""

    spec: Spec
    axes: tuple[Axis, ...]
    oracle: Oracle
    with_plan: list[Point] = field(default_factory=list)
    without: list[Point] = field(default_factory=list)

    @property
    def easiest(self) -> Point:
        return tuple(axis.most for axis in self.axes)

    def size(self, point: Point) -> float:
        """Return the sum of the relative changes."""
        return sum(point)

    def values(self, point: Point) -> Mapping[Line, float]:
        """Return the promises that a point moves, with their values."""
        return {axis.line: axis.value(change) for axis, change in zip(self.axes, point, strict=True) if change > 0.0}

    def moved(self, point: Point) -> Spec:
        return moved(self.spec, self.values(point))

    def snapped(self, point: Point) -> Point:
        return tuple(axis.snapped(change) for axis, change in zip(self.axes, point, strict=True))

    def shown(self, point: Point) -> Point:
        return tuple(axis.shown(change) for axis, change in zip(self.axes, point, strict=True))

    def has_plan(self, point: Point) -> bool:
        """Return True if the spec has a plan at a point; ask only if no other answer implies it."""
        if any(_beyond(point, known) for known in self.with_plan):
            return True
        if any(_beyond(known, point) for known in self.without):
            return False
        answer = self.oracle.has_plan(self.moved(point))
        (self.with_plan if answer else self.without).append(point)
        return answer

    def at(self, point: Point, changes: Mapping[int, float]) -> Point:
        """Return a point with some coordinates changed."""
        return tuple(changes.get(i, change) for i, change in enumerate(point))


def _beyond(point: Point, other: Point) -> bool:
    return all(a >= b for a, b in zip(point, other, strict=True))


def boundary(reaches: Callable[[float], bool], most: float, precision: float = PRECISION) -> tuple[float, float] | None:
    """Return the change at which ``reaches`` turns from false to true, between two that lie near each other; looked for
    in
    growing steps from 0, where it is false. None where it is false at ``most`` too."""
    low, high = 0.0, min(FIRST_STEP, most)
    while not reaches(high):
        if high >= most:
            return None
        low, high = high, min(4.0 * high, most)
    while high - low > max(precision * high, LEAST_STEP):
        middle = (low + high) / 2.0
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return low, high


NARROWINGS = 3
"""Values with few digits that are tried between the two ends of a boundary."""


def edge_of(axis: Axis, reaches: Callable[[float], bool]) -> tuple[float, float] | None:
    """Return the boundary of one constraint, narrowed at values with few digits, of which a true edge is often one."""
    edge = boundary(reaches, axis.most)
    for _ in range(NARROWINGS):
        if edge is None or edge[1] >= axis.most or axis.line.whole:
            return edge
        low, high = edge
        middle = axis.change(axis.line.between(axis.value(low), axis.value(high)))
        if not low < middle < high:
            break
        edge = (low, middle) if reaches(middle) else (middle, high)
    return edge


TOLERANCE = 0.05
"""Of the cost: a combination is called the cheapest where none is cheaper by more than this."""
CUT_PRECISION = 0.05


@dataclass(frozen=True)
class Change:
    """One constraint at another value; ``shown`` is that value as a person writes it."""

    line: Line
    value: float
    shown: str


@dataclass(frozen=True)
class Repair:
    """A verified combination of changes: the spec with these values, as shown, has a plan.

    ``size`` is the sum of the relative changes. Every combination changes at least ``least``. ``proven``: none is
    smaller by more than a twentieth.
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
"""Largest relative effect of rounding a change to three digits."""


@dataclass
class Search:
    """The search for the cheapest combination; its findings stay after a stop."""

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
        """Find a combination fast; return False if no values have a plan. Raises OutOfTimeError."""
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
        """Take a combination that is known to leave a plan."""
        values = {change.line: change.value for change in changes}
        point = tuple(axis.change(values.get(axis.line, axis.line.value)) for axis in self.space.axes)
        self.space.with_plan.append(point)
        if self.best is None or self.space.size(point) < self.space.size(self.best):
            self.best = point

    def repair(self) -> Repair | None:
        """Return the cheapest combination that was found."""
        if self.best is None:
            return None
        values = self.space.values(self.best)
        changes = tuple(change_of(self.spec, line, value) for line, value in values.items())
        return Repair(changes, self.space.size(self.best), self.least)

    def _alone(self) -> tuple[Point, Point]:
        """Return the change that every combination needs at least, constraint by constraint, without all others."""
        space = self.space
        low, high = [0.0] * len(space.axes), [0.0] * len(space.axes)
        for i in self._impossible(tuple(range(len(space.axes)))):
            axis = space.axes[i]
            edge = edge_of(axis, partial(self._at, space.easiest, i, 0.0))
            low[i], high[i] = (axis.most, axis.most) if edge is None else map(axis.snapped, edge)
            if axis.line.whole:
                low[i] = high[i]
            self.alone[axis.line] = axis.value(axis.shown(high[i]))
        return tuple(low), tuple(high)

    def _impossible(self, group: tuple[int, ...]) -> Iterator[int]:
        """Yield the promises of a group that no plan keeps by themselves."""
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
        """Return the last point without a plan on the diagonal from a corner, and the first one with a plan, or None.

        The latter is noted as a combination.
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
        """Note a combination from a point with a plan, each constraint drawn back as near to the corner as it goes."""
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
        """Return True if there is a plan with one coordinate of a point at ``start + by``."""
        return self.space.has_plan(self.space.at(point, {i: self.space.axes[i].snapped(start + by)}))

    def _note(self, point: Point) -> None:
        """Take a point with a plan where it is better than the best, at values with few digits, verified once more."""
        space = self.space
        for candidate in (space.shown(point), point):
            if self.best is not None and space.size(candidate) >= space.size(self.best):
                return
            if space.oracle.has_plan(space.moved(candidate)):
                space.with_plan.append(candidate)
                self.best = candidate
                return


def change_of(spec: Spec, line: Line, value: float) -> Change:
    """Return a constraint at a value, with the words for it."""
    return Change(line, value, line.told(value, spec.currency))


def price_of(spec: Spec, changes: tuple[Change, ...], oracle: Oracle) -> Result | None:
    """Return the best plan of the spec after these changes, within the remaining time, or None."""
    try:
        return oracle.best(moved(spec, {change.line: change.value for change in changes}))
    except OutOfTimeError:
        return None
