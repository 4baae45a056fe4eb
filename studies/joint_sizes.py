"""The optimum for many cluster sizes together, every size one look-up per period.

If the greedy is optimal, units are sorted once. With whole concurrent jobs dynamic programming over the classes' VMs
finds the penalty that they avoid on every number of them. Services, whose values are concave, take the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrdsl.core.rounding import ROUNDING, SAME_SUM
from mrdsl.families.joint.allocation import choices, least_vms, marginal_worth
from mrdsl.families.joint.workload import Floats, Workload

MOST_WORK = 10**9
"""Choices times VMs, per period, up to which dynamic programming is worth its time."""


@dataclass(frozen=True)
class Sweep:
    """Optimal plans' totals for every size and period, shape (sizes, periods); NaN if the demand does not fit.

    ``class_vms`` and ``service_vms`` are the VMs of classes and services; costs are in the spec's currency.
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
        """Return the totals of two parts of one cluster."""
        return Sweep(
            self.operation + other.operation,
            self.penalties + other.penalties,
            self.class_vms + other.class_vms,
            self.service_vms + other.service_vms,
        )


def sweep(work: Workload, sizes: Floats, relax: bool, part: slice | None = None) -> Sweep:
    """Return the optimum for every one of ``sizes`` (VMs, shape (sizes,)), for the units of ``part`` or for all.

    The part has all VMs of each size; ``work.size`` and ``work.partitioned`` have no effect. The result is the same as
    :func:`mrdsl.families.joint.allocation.fill` size by size, without the allocation to single units. Raises ValueError
    if whole concurrent jobs would take more than ``MOST_WORK`` steps.
    """
    part = slice(0, len(work.worth)) if part is None else part
    if work.whole and not relax:
        return _sweep_whole(work, np.floor(np.asarray(sizes)), part)
    base = least_vms(work, relax)[:, part]
    keys, room = marginal_worth(work, part, base, relax)
    is_class = np.arange(len(work.worth))[part] < work.classes
    curves = _Curves(keys, room * (keys >= work.vm_cost), np.tile(is_class, 1 if relax else 2))
    vms, avoided, by_classes = curves.at(np.asarray(sizes)[:, None] - base.sum(axis=1))
    class_base, all_base = base @ is_class.astype(float), base.sum(axis=1)
    unserved = work.need_high[:, part] - np.minimum(base, work.need_high[:, part])
    lost = work.lost[:, part] @ work.penalty[part]
    return Sweep(
        operation=work.vm_cost * (all_base + vms),
        penalties=_without_noise(unserved @ work.worth[part] + lost, avoided),
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
        """Return VMs taken, penalty avoided and VMs of classes if ``left`` (sizes, periods) VMs are free."""
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
    """Return the remaining penalties, 0 if all are avoided up to rounding."""
    left = all_penalties - avoided
    return np.where(left < SAME_SUM * all_penalties, 0.0, left)


def _from_zero(steps: Floats) -> Floats:
    return np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)


def _sweep_whole(work: Workload, sizes: Floats, part: slice) -> Sweep:
    base = least_vms(work, False)[:, part]
    split = int(np.clip(work.classes - part.start, 0, base.shape[1]))
    shape = (len(sizes), work.periods)
    vms, avoided, by_classes = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, np.nan)
    known: dict[bytes, int] = {}
    for t in range(work.periods):
        same = known.setdefault(work.low[t, part].tobytes() + work.high[t, part].tobytes(), t)
        left = sizes - base[t].sum()
        fits = left >= 0.0
        if same != t:
            vms[:, t], avoided[:, t], by_classes[:, t] = vms[:, same], avoided[:, same], by_classes[:, same]
        elif fits.any():
            vms[fits, t], avoided[fits, t], by_classes[fits, t] = _best_split(work, part, split, t, left[fits])
    all_base, class_base = base.sum(axis=1), base[:, :split].sum(axis=1)
    return Sweep(
        operation=work.vm_cost * (all_base + vms),
        penalties=_without_noise(work.expected[:, part] @ work.penalty[part], avoided),
        class_vms=class_base + by_classes,
        service_vms=all_base - class_base + vms - by_classes,
    )


def _best_split(work: Workload, part: slice, split: int, period: int, left: Floats) -> tuple[Floats, Floats, Floats]:
    """VMs beyond the least, the penalty avoided by all, and the classes' VMs, for every one of ``left`` free VMs."""
    by_class = _by_class_vms(work, slice(part.start, part.start + split), period, int(left.max()))
    services = slice(part.start + split, part.stop)
    base = least_vms(work, False)[period : period + 1, services]
    keys, room = marginal_worth(work.period(period), services, base, False)
    keys, room = (np.pad(rows, ((0, 0), (0, 1))) for rows in (keys, room))  # there may be no service
    curve = _Curves(keys, room * (keys >= work.vm_cost), np.zeros(keys.shape[-1]))
    least_avoided = np.minimum(base, work.need_high[period : period + 1, services]) @ work.worth[services]
    every = np.arange(int(left.max()) + 1)
    rest, gained, _ = (each[:, 0] for each in curve.at(every[:, None].astype(float)))
    net_classes, net_services = by_class - work.vm_cost * every[: len(by_class)], gained - work.vm_cost * rest
    splits = []
    for free in left.astype(int).tolist():
        most = min(free, len(by_class) - 1)
        best = int(np.argmax(net_classes[: most + 1] + net_services[free - most : free + 1][::-1]))
        others = free - best
        splits.append((best + rest[others], by_class[best] + gained[others] + least_avoided[0], float(best)))
    vms, avoided, class_vms = np.array(splits).T
    return vms, avoided, class_vms


def _by_class_vms(work: Workload, part: slice, period: int, left: int) -> Floats:
    """Return the most penalty that the classes of ``part`` avoid on exactly 0, 1, ... VMs beyond their least,
    or -inf.
    """
    options = choices(work, part, period, float(left))
    more = (options.vms - options.vms[options.first][options.unit]).astype(int)
    room = int(np.minimum(left, np.bincount(options.unit, more).sum() if len(more) else 0))
    if len(more) * room > MOST_WORK or options.slack > 0.0:
        raise ValueError("too many choices and VMs for dynamic programming")
    best = np.full(room + 1, -np.inf)
    best[0] = 0.0
    for unit, start in enumerate(options.first.tolist()):
        end = options.first[unit + 1] if unit + 1 < len(options.first) else len(options.unit)
        old = best + options.avoided[start]
        best = old.copy()
        for row in range(start + 1, int(end)):
            if more[row] <= room:
                np.maximum(
                    best[more[row] :],
                    old[: room + 1 - more[row]] + (options.avoided[row] - options.avoided[start]),
                    out=best[more[row] :],
                )
    return best
