"""A capacity spec of several VM types, or of VMs bought in several ways, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mrdsl.families.capacity.class_bounds import class_bounds_of
from mrdsl.families.capacity.facts import NO, CapacityFacts
from mrdsl.families.capacity.instance import whole_jobs
from mrdsl.families.capacity.market import Market, market_of
from mrdsl.families.capacity.pairs import Floats, Pairs, kept_together, pairs_of
from mrdsl.families.capacity.slot_sizes import SlotSizes, has_vectors, slot_sizes
from mrdsl.families.capacity.spot import kept_work
from mrdsl.families.capacity.wholeness import wholeness_of
from mrdsl.formulas.estimates import stage_counts
from mrdsl.spec.columns import column, names_of
from mrdsl.spec.spec import Spec
from mrdsl.spec.stages import Stage, dags_of


@dataclass(frozen=True)
class Mix:
    """The numbers of a spec, by class, by VM type and by lane (see :mod:`mrdsl.families.capacity.market`).

    ``map_slots``, ``reduce_slots`` and ``gamma`` have the shape (lanes, classes): the slots of one job by Theorem 4.1,
    those for lost work included, and the VMs that they take; infinite where a class cannot run in a lane.
    ``map_kept`` and ``reduce_kept`` are the parts of the slots that do work which is not lost. ``spot_share`` is the
    part of a class's VM time that may be spot; ``sizes`` are those of slots where some are containers of which cores
    and memory have to fit: ``gamma`` is then VM time, by how many slots of one kind a VM hosts. ``together`` says whose
    jobs all stay on one type. The rest is as :class:`mrdsl.families.capacity.instance.Instance` has it.
    """

    names: Sequence[str]
    market: Market
    pairs: Pairs
    map_slots: Floats
    reduce_slots: Floats
    map_kept: Floats
    reduce_kept: Floats
    gamma: Floats
    spot_share: Floats
    together: NDArray[np.bool_]
    deadline: Floats
    low: Floats
    expected: Floats
    penalty: Floats
    stages: NDArray[np.int64]
    dags: Mapping[str, tuple[Stage, ...]]
    wholeness: str = NO
    sizes: SlotSizes | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def possible(self) -> NDArray[np.bool_]:
        """The lanes in which each class can run."""
        return np.isfinite(self.gamma)

    def taken(self, maps: Floats, reduces: Floats) -> Floats:
        """The VMs that slots, (lanes, classes), ask for of each resource, (resources, lanes, classes)."""
        vms, pairs = self.market.vm_of_lane, self.pairs
        maps, reduces = np.where(np.isfinite(maps), maps, 0.0), np.where(np.isfinite(reduces), reduces, 0.0)
        if self.sizes is None:
            return np.asarray((maps / pairs.map_per_vm[vms] + reduces / pairs.reduce_per_vm[vms])[None])
        parts = self.sizes.parts[:, :, vms]
        return np.asarray(maps * parts[0] + reduces * parts[1])

    def vm_cost(self, bought: Floats) -> float:
        """What so many VMs of each offer cost for one period."""
        return float(self.market.prices @ bought)

    def cost(self, bought: Floats, jobs: Floats) -> float:
        """Equation (5); ``jobs`` has the shape (lanes, classes)."""
        return self.vm_cost(bought) + float(self.penalty @ (self.expected - jobs.sum(axis=0)))


def mix_of(spec: Spec) -> Mix:
    """The arrays of a spec that has passed its checks."""
    facts: CapacityFacts = spec.facts
    classes = facts.classes
    names = names_of(classes)
    low, expected = whole_jobs(facts)
    deadline = column(classes, "deadline")
    market = market_of(facts)
    limit = class_bounds_of(spec).tighten(names, "completion", deadline, at_most=True)
    pairs = pairs_of(facts, limit)
    whole = wholeness_of(facts) != NO
    firm = pairs.slots_per_job(whole)
    by_lane = firm[0][market.vm_of_lane], firm[1][market.vm_of_lane]
    kept = kept_work(facts, market, pairs, by_lane)
    slots = list(pairs.slots_with_losses(market.vm_of_lane, kept, whole) if market.spot.any() else by_lane)
    spot_share = np.nan_to_num(column(classes, "spot", missing=1.0), nan=1.0)
    never = market.spot[:, None] & (spot_share[None, :] <= 0.0)
    slots = [np.where(never, np.inf, each) for each in slots]
    per_vm = pairs.map_per_vm[market.vm_of_lane], pairs.reduce_per_vm[market.vm_of_lane]
    return Mix(
        names=names,
        market=market,
        pairs=pairs,
        map_slots=slots[0],
        reduce_slots=slots[1],
        map_kept=kept[0],
        reduce_kept=kept[1],
        gamma=slots[0] / per_vm[0] + slots[1] / per_vm[1],
        spot_share=spot_share,
        together=kept_together(facts),
        deadline=deadline,
        low=low,
        expected=expected,
        penalty=column(classes, "penalty"),
        stages=stage_counts(classes),
        dags=dags_of(classes),
        wholeness=wholeness_of(facts),
        sizes=slot_sizes(facts) if has_vectors(facts) else None,
    )


def of_lanes(mix: Mix, lanes: NDArray[np.int64]) -> Mix:
    """The mix of some of its lanes; all VM types keep their numbers."""
    market = mix.market
    number = {lane: place for place, lane in enumerate(lanes.tolist())}
    mine = np.flatnonzero(np.isin(market.lane_of_offer, lanes)).tolist()
    offers = tuple(replace(market.offers[each], lane=number[market.offers[each].lane]) for each in mine)
    return replace(
        mix,
        market=replace(market, lanes=tuple(market.lanes[lane] for lane in number), offers=offers),
        map_slots=mix.map_slots[lanes],
        reduce_slots=mix.reduce_slots[lanes],
        map_kept=mix.map_kept[lanes],
        reduce_kept=mix.reduce_kept[lanes],
        gamma=mix.gamma[lanes],
    )
