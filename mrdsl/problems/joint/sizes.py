"""The joint greedy for many cluster sizes at once: units are sorted once, every size is one look-up per period."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrdsl.problems.joint.allocation import least_vms, marginal_worth
from mrdsl.problems.joint.workload import ROUNDING, Floats, Workload


@dataclass(frozen=True)
class Sweep:
    """Optimal plans' totals for every size and period, shape (sizes, periods); NaN where the least demand is too much.

    ``class_vms`` and ``service_vms`` are what classes and services hold; costs are in the spec's currency.
    """

    operation: Floats
    penalties: Floats
    class_vms: Floats
    service_vms: Floats

    @property
    def total(self) -> Floats:
        """Operation and penalties."""
        return self.operation + self.penalties

    def __add__(self, other: Sweep) -> Sweep:
        """The totals of two parts of one cluster."""
        return Sweep(
            self.operation + other.operation,
            self.penalties + other.penalties,
            self.class_vms + other.class_vms,
            self.service_vms + other.service_vms,
        )


def sweep(work: Workload, sizes: Floats, relax: bool, part: slice | None = None) -> Sweep:
    """The greedy for every one of ``sizes`` (VMs, shape (sizes,)), for the units of ``part`` or for all.

    The part has each size to itself; ``work.size`` and ``work.partitioned`` play no role. The same as
    :func:`mrdsl.problems.joint.allocation.fill` size by size, without the allocation to single units.
    """
    part = slice(0, len(work.worth)) if part is None else part
    base = least_vms(work, relax)[:, part]
    keys, room = marginal_worth(work, part, base, relax)
    is_class = np.arange(len(work.worth))[part] < work.classes
    curves = _Curves(keys, room * (keys >= work.vm_cost), np.tile(is_class, 1 if relax else 2))
    vms, avoided, by_classes = curves.at(np.asarray(sizes)[:, None] - base.sum(axis=1))
    class_base, all_base = base @ is_class.astype(float), base.sum(axis=1)
    unserved = work.need_high[:, part] - np.minimum(base, work.need_high[:, part])
    return Sweep(
        operation=work.vm_cost * (all_base + vms),
        penalties=_without_noise(unserved @ work.worth[part], avoided),
        class_vms=class_base + by_classes,
        service_vms=all_base - class_base + vms - by_classes,
    )


class _Curves:
    """Per period, by the number of VMs beyond the least: the penalty that they avoid, and those that classes hold."""

    def __init__(self, keys: Floats, wanted: Floats, is_class: Floats) -> None:
        self.order = np.broadcast_to(np.argsort(-keys, axis=-1, kind="stable"), wanted.shape)
        self.keys = np.take_along_axis(np.broadcast_to(keys, wanted.shape), self.order, axis=1)
        self.is_class = np.asarray(is_class, dtype=float)[self.order]
        self.room = np.take_along_axis(wanted, self.order, axis=1)
        self.vms = _from_zero(self.room)
        self.avoided = _from_zero(self.room * self.keys)
        self.by_classes = _from_zero(self.room * self.is_class)

    def at(self, left: Floats) -> tuple[Floats, Floats, Floats]:
        """VMs taken, penalty avoided and VMs taken by classes where ``left`` (sizes, periods) VMs are free."""
        scale = ROUNDING * np.maximum(1.0, self.vms[:, -1])
        left = np.where(left < -scale, np.nan, np.maximum(left, 0.0))
        vms, avoided, by_classes = (np.empty_like(left) for _ in range(3))
        for t in range(left.shape[1]):
            column = left[:, t]
            i = np.minimum(np.searchsorted(self.vms[t], column, side="right") - 1, self.room.shape[1] - 1)
            part = np.minimum(column - self.vms[t, i], self.room[t, i])
            vms[:, t] = self.vms[t, i] + part
            avoided[:, t] = self.avoided[t, i] + part * self.keys[t, i]
            by_classes[:, t] = self.by_classes[t, i] + part * self.is_class[t, i]
        return vms, avoided, by_classes


def _without_noise(all_penalties: Floats, avoided: Floats) -> Floats:
    """The penalties that are left, 0 where all are avoided but for rounding."""
    left = all_penalties - avoided
    return np.where(left < 1e-12 * all_penalties, 0.0, left)


def _from_zero(steps: Floats) -> Floats:
    return np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
