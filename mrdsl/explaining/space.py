"""The values that the promises of a spec may be moved to, as points: by how much each gives way, relative to what was
written.

An easier promise never loses a plan, so every point beyond one with a plan has one, and none before one without: a
question whose answer follows is not put to a solver again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil, floor

from mrdsl.core.tolerances import ROUNDING
from mrdsl.explaining.oracle import Oracle
from mrdsl.explaining.promises import Line, easiest, moved
from mrdsl.spec.spec import Spec

Point = tuple[float, ...]
PRECISION = 0.01
"""Of a change: how near a bisection comes."""
FIRST_STEP = 0.05
LEAST_STEP = 1e-4
"""A change below this share of the value counts as none."""


@dataclass(frozen=True)
class Axis:
    """One promise that can be moved: ``scale`` is what a change of 1 is, ``most`` the change to its easiest value."""

    line: Line
    scale: float
    most: float

    def value(self, change: float) -> float:
        """The promise's value after a change; whole where the promise is."""
        if change <= 0.0:
            return self.line.value
        if change >= self.most:
            return easiest(self.line)
        step = change * self.scale
        return self.line.value + self.line.direction * (ceil(step - ROUNDING) if self.line.whole else step)

    def change(self, value: float) -> float:
        """How far a value lies from what was written, in the easy direction."""
        return max((value - self.line.value) * self.line.direction / self.scale, 0.0)

    def snapped(self, change: float) -> float:
        """The change of a value that can be written: whole where the promise is."""
        return self.change(self.value(change)) if self.line.whole else min(change, self.most)

    def held(self, change: float) -> float:
        """The change of the last value that can be written before this one: whole where the promise is."""
        if not self.line.whole or change >= self.most:
            return min(change, self.most)
        return floor(change * self.scale + ROUNDING) / self.scale

    def shown(self, change: float) -> float:
        """The change of the value with few digits that is shown for this one."""
        if not 0.0 < change < self.most:
            return change
        return min(self.change(self.line.rounded(self.value(change))), self.most)

    def beyond(self, change: float) -> float:
        """The next change that differs."""
        return min(floor(change * self.scale + 1.5) / self.scale, self.most) if self.line.whole else change


def axes_of(lines: tuple[Line, ...]) -> tuple[Axis, ...]:
    """The promises that have a number to move."""
    out = []
    for line in lines:
        if line.direction:
            scale = abs(line.value) or 1.0
            out.append(Axis(line, scale, (easiest(line) - line.value) * line.direction / scale))
    return tuple(axis for axis in out if axis.most > 0.0)


@dataclass
class Space:
    """The points of a spec, and what is known of them."""

    spec: Spec
    axes: tuple[Axis, ...]
    oracle: Oracle
    with_plan: list[Point] = field(default_factory=list)
    without: list[Point] = field(default_factory=list)

    @property
    def easiest(self) -> Point:
        return tuple(axis.most for axis in self.axes)

    def size(self, point: Point) -> float:
        """The sum of the relative changes."""
        return sum(point)

    def values(self, point: Point) -> Mapping[Line, float]:
        """The promises that a point moves, with their values."""
        return {axis.line: axis.value(change) for axis, change in zip(self.axes, point, strict=True) if change > 0.0}

    def moved(self, point: Point) -> Spec:
        return moved(self.spec, self.values(point))

    def snapped(self, point: Point) -> Point:
        return tuple(axis.snapped(change) for axis, change in zip(self.axes, point, strict=True))

    def shown(self, point: Point) -> Point:
        return tuple(axis.shown(change) for axis, change in zip(self.axes, point, strict=True))

    def has_plan(self, point: Point) -> bool:
        """Whether the spec has a plan at a point, asked only where no other answer says it."""
        if any(_beyond(point, known) for known in self.with_plan):
            return True
        if any(_beyond(known, point) for known in self.without):
            return False
        answer = self.oracle.has_plan(self.moved(point))
        (self.with_plan if answer else self.without).append(point)
        return answer

    def at(self, point: Point, changes: Mapping[int, float]) -> Point:
        """A point with some coordinates changed."""
        return tuple(changes.get(i, change) for i, change in enumerate(point))


def _beyond(point: Point, other: Point) -> bool:
    return all(a >= b for a, b in zip(point, other, strict=True))


def boundary(reaches: Callable[[float], bool], most: float, precision: float = PRECISION) -> tuple[float, float] | None:
    """The change at which ``reaches`` turns from false to true, between two that lie near each other; looked for in
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
