"""Shared against pre-partitioned clusters over their size: section 4.2 of Cano et al."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mrdsl.families.joint.workload import Floats, Workload
from studies.joint_sizes import Sweep, sweep

STEPS = 40


@dataclass(frozen=True)
class Comparison:
    """One instance under both managements, for every step from 1.1 V_max down to V_min (41 sizes).

    ``class_sizes`` and ``service_sizes`` are the two parts; the shared cluster has their sum. With whole jobs at once
    VMs are whole, and so are all sizes; otherwise both are fractional, as in the paper.
    """

    work: Workload
    class_sizes: Floats
    service_sizes: Floats

    @property
    def sizes(self) -> Floats:
        return self.class_sizes + self.service_sizes

    @cached_property
    def without_rejections(self) -> float:
        """V_max: the VMs of the partitioned cluster that turns nothing away."""
        return float(sum(part.max() for part in _by_part(self.work, _needs(self.work)[1])))

    @cached_property
    def shared(self) -> Sweep:
        """The optimum on the shared cluster."""
        return sweep(self.work, self.sizes, not self.work.whole)

    @cached_property
    def partitioned(self) -> Sweep:
        """The optimum on the two parts."""
        classes, services = self.by_part
        return classes + services

    @cached_property
    def by_part(self) -> tuple[Sweep, Sweep]:
        """The optimum of the classes on their part, and of the services on theirs."""
        split = self.work.classes
        relax = not self.work.whole
        return (
            sweep(self.work, self.class_sizes, relax, slice(0, split)),
            sweep(self.work, self.service_sizes, relax, slice(split, len(self.work.worth))),
        )

    @cached_property
    def savings(self) -> Floats:
        """By how much the shared cluster is cheaper, relative to the partitioned one; per size."""
        shared, apart = self.shared.total.sum(axis=1), self.partitioned.total.sum(axis=1)
        saved: Floats = (apart - shared) / apart
        return saved


def compare(work: Workload, steps: int = STEPS) -> Comparison:
    """Both managements from 1.1 V_max down to V_min, in ``steps`` equal steps of each part."""
    least, most = _needs(work)
    highest = [1.1 * float(need.max()) for need in _by_part(work, most)]
    lowest = [float(need.max()) for need in _by_part(work, least)]
    classes, services = (np.linspace(high, low, steps + 1) for high, low in zip(highest, lowest, strict=True))
    return _whole_sizes(Comparison(work, classes, services))


def at_size(work: Workload, share: float | Floats) -> Comparison:
    """Both managements at ``share`` of V_max, or at several, split by daily peaks (4.1.2)."""
    classes, services = (np.atleast_1d(share) * float(need.max()) for need in _by_part(work, _needs(work)[1]))
    return _whole_sizes(Comparison(work, classes, services))


def _needs(work: Workload) -> tuple[Floats, Floats]:
    """The VMs of every unit for its least demand and for all of it, (periods, units)."""
    return (work.whole_vms(work.low), work.whole_vms(work.high)) if work.whole else (work.need_low, work.need_high)


def _whole_sizes(run: Comparison) -> Comparison:
    if not run.work.whole:
        return run
    return replace(run, class_sizes=np.rint(run.class_sizes), service_sizes=np.rint(run.service_sizes))


def vms_held(totals: Sweep) -> Floats:
    """All VMs that are held, per size and period."""
    return totals.class_vms + totals.service_vms


def _by_part(work: Workload, need: Floats) -> tuple[Floats, Floats]:
    """VMs that classes and services need in every period."""
    return need[:, : work.classes].sum(axis=1), need[:, work.classes :].sum(axis=1)
