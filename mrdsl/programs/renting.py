"""What one rental program is about: VMs in lanes, the offers that sell them, jobs on slots, and limits on both.

A *lane* is a VM type in one reliability, firm or spot. Lanes that jobs cannot tell apart are of one *kind*. A job of a
class has one of several pairs of map and reduce slots, by kind, and takes a part of each resource of a VM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

WEIGHTS = {
    1: np.ones((1, 1)),
    2: np.array([[part, 1.0 - part] for part in (1e-6, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0 - 1e-6)]),
}
"""Weights of resources at which jobs are compared where no prices of resources are known, by number of resources."""


class Choices(NamedTuple):
    """Slots that one job of a class can have in lanes of a kind.

    Attributes:
        pairs: Map and reduce slots, (pairs, 2).
        takes: What they take of a VM, (pairs, resources).
        near: A factor by which what any slots take can be below what the best of these pairs takes, at any prices.
    """

    pairs: Floats
    takes: Floats
    near: float = 1.0


class Comparison(NamedTuple):
    """A limit: ``vms`` times the VMs of offers plus ``jobs`` times the admitted jobs is at most ``most``."""

    vms: Floats
    jobs: Floats
    most: float


@dataclass(frozen=True)
class SpotLimits:
    """Limits on the part of classes on spot, in VM time.

    Attributes:
        share: The part of each class, (classes,).
        limited: The classes with a limit between 0 and 1 that can run on both.
        vm_time: VM time of one slot by lane, kind of slot and class.
        parts: What one slot takes by lane, kind of slot, resource and class.
        most: Slots of one job by lane, kind of slot and class, beyond which more are of no use.
        useful: Slots of one job beyond a pair, beyond which they make no more room for jobs on spot.
    """

    share: Floats
    limited: Places
    vm_time: Floats
    parts: Floats
    most: Floats
    useful: Floats

    def more(self, lane: int, index: int, slots: Floats) -> Floats:
        """Return how many slots a firm job can hold beyond others, (..., 2)."""
        room = np.maximum(self.most[lane, :, index] - slots, 0.0)
        return np.asarray(np.minimum(room, self.useful[lane, :, index]))


@dataclass(frozen=True)
class Renting:
    """The arrays of a rental program; lanes, offers and classes are numbered, (lanes, classes) is the order of axes.

    Attributes:
        offer_lane: The lane of each offer.
        prices: The price of one VM of each offer.
        there: VMs of each offer.
        vm_of_lane: The VM type of each lane.
        kind: The kind of each lane.
        spot: Flags of lanes.
        masters: VMs of each lane that hold no slots.
        available: VMs of each type.
        cores: Cores of one VM in each quota, (quotas, lanes).
        core_limits: Most cores of each quota.
        stored: Data on the disks of one VM of each lane.
        stored_least: The least data on the disks of all VMs.
        comparisons: Other limits.
        low: Least jobs of each class.
        high: Most jobs of each class.
        worth: What one admitted job saves.
        constant: Cost of a plan without jobs and VMs.
        spots: Limits on the part of classes on spot.
        together: Flags of classes whose jobs all stay on one VM type.
        possible: Flags, (lanes, classes).
        least: Least part of a VM that one job takes at weights of resources, (weights, kinds, classes).
        whole_slots: True if slots are whole.
        reaches_all: True if any slots of a job are some choice, and whole slots beyond that.
        choices_of: Returns the slots of a job of a class in lanes of a kind.
    """

    offer_lane: Places
    prices: Floats
    there: Floats
    vm_of_lane: Places
    kind: Places
    spot: Flags
    masters: Floats
    available: Floats
    cores: Floats
    core_limits: Floats
    stored: Floats
    stored_least: float
    comparisons: Sequence[Comparison]
    low: Floats
    high: Floats
    worth: Floats
    constant: float
    spots: SpotLimits
    together: Flags
    possible: Flags
    least: Floats
    whole_slots: bool
    reaches_all: bool
    choices_of: Callable[[int, int], Choices]

    @property
    def weights(self) -> Floats:
        """Weights of resources at which ``least`` is known, (weights, resources)."""
        return WEIGHTS[self.resources]

    @property
    def resources(self) -> int:
        """The number of resources that jobs take."""
        return 1 if len(self.least) == 1 else 2

    @cached_property
    def lane_of_kind(self) -> Places:
        """One lane of each kind."""
        return np.unique(self.kind, return_index=True)[1]

    @property
    def has_firm_jobs(self) -> Floats:
        """1 for classes with jobs, and 0 for those that may have none: with a limit on spot, some job is firm."""
        return np.where(self.low >= 1.0, 1.0, 0.0)

    @property
    def firm_jobs_of_one(self) -> Floats:
        """The part of a firm job that one job of a class asks for if the class may have none."""
        return np.where(self.low >= 1.0, 0.0, 1.0 / np.maximum(self.high, 1.0))

    @cached_property
    def limited_types(self) -> Places:
        """VM types of limited number."""
        return np.flatnonzero(np.isfinite(self.available))


class Table(NamedTuple):
    """The choices of all classes in lanes of a kind, one after another: class, pair, and what each takes."""

    classes: Places
    starts: Places
    of_class: Places
    pairs: Floats
    takes: Floats
    near: Floats


def table_of(renting: Renting, kind: int) -> Table:
    """Return the choices of all classes that can run in lanes of a kind."""
    lane = int(renting.lane_of_kind[kind])
    classes = np.flatnonzero(renting.possible[lane] & (renting.high > 0.0))
    found = [renting.choices_of(kind, index) for index in classes.tolist()]
    sizes = np.array([len(each.pairs) for each in found], dtype=np.int64)
    pairs = np.concatenate([each.pairs for each in found]) if found else np.zeros((0, 2))
    takes = np.concatenate([each.takes for each in found]) if found else np.zeros((0, renting.resources))
    return Table(
        classes,
        np.cumsum(sizes) - sizes,
        np.repeat(classes, sizes),
        pairs,
        takes,
        np.array([each.near for each in found]),
    )
