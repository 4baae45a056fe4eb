"""The joint plan: admitted demand, VMs and cost of every period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.lazy import place_of
from mrdsl.core.result import MONEY, Outcome, Plan, Table, lacking, plain
from mrdsl.families.joint.facts import NO, SLOTS
from mrdsl.formulas.estimates import upper_is_bound
from mrdsl.formulas.mapreduce import Floats
from mrdsl.formulas.packing import of_one_class
from mrdsl.simulation.observed import Observed, Simulated, outcomes_of, table_of
from mrdsl.spec.blocks import Stage, dags_of
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.core.charts import Graph
    from mrdsl.families.joint.workload import Workload


@dataclass(frozen=True, eq=False)
class ClassPlan:
    """Allocation to the MapReduce classes; arrays of the shape (periods, classes).

    ``admitted`` and ``rejected`` are the jobs of one period, ``at_once`` the concurrent ones. Slots are the concurrent
    ones, Theorem 3.1's values, unrounded; ``weight`` is the queue's share of all slots (47). ``map_slots`` has those of
    a class of stages.
    """

    admitted: Floats
    rejected: Floats
    at_once: Floats
    vms: Floats
    map_slots: Floats
    reduce_slots: Floats
    weight: Floats


@dataclass(frozen=True, eq=False)
class ServicePlan:
    """Allocation to the services; arrays of the shape (periods, services): rates in 1/s, mean response in s (2)."""

    rate: Floats
    rejected_rate: Floats
    vms: Floats
    response: Floats = field(metadata=lacking("the service has no VM"))


@dataclass(frozen=True, eq=False)
class LanePlan:
    """Allocation by VM type and way of renting; arrays of the shape (periods, lanes, classes) or (.., services).

    ``vm`` and ``way`` name the type and the way of each lane, ``prices`` are those of a VM for one period. Of a lane,
    ``committed`` VMs are under contract, for ``contract_prices`` in each period, and cost ``saved`` less in use. All
    three are empty in plans without contracts, and have the shape (lanes,) otherwise.
    """

    vm: Sequence[str]
    way: Sequence[str]
    prices: Floats
    class_vms: Floats
    at_once: Floats
    map_slots: Floats
    reduce_slots: Floats
    service_vms: Floats
    rate: Floats
    committed: Floats = field(default_factory=lambda: np.zeros(0))
    contract_prices: Floats = field(default_factory=lambda: np.zeros(0))
    saved: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def under_contract(self) -> Floats:
        """VMs of each lane that are under contract and in use, shape (periods, lanes)."""
        return np.minimum(self.vms, self.committed) if self.committed.size else np.zeros_like(self.vms)

    @property
    def costs(self) -> Floats:
        """The cost of each lane, contracts included, shape (periods, lanes)."""
        if not self.committed.size:
            return np.asarray(self.vms * self.prices)
        paid = self.committed * self.contract_prices
        return np.asarray(self.vms * self.prices - self.under_contract * self.saved + paid)

    def commitments(self) -> list[dict[str, Any]]:
        """Return the VMs under contract of each type that has some."""
        pairs = zip(self.vm, self.committed.tolist(), strict=True)
        return [{"vm": vm, "vms": plain(count)} for vm, count in pairs if count]

    @property
    def vms(self) -> Floats:
        """VMs of each lane, shape (periods, lanes)."""
        return np.asarray(self.class_vms.sum(axis=2) + self.service_vms.sum(axis=2))

    def of_class(self, t: int, index: int) -> list[dict[str, Any]]:
        """Return the VMs and slots of a class in a period, by lane."""
        found = []
        for lane in np.flatnonzero(self.class_vms[t, :, index] > 0.0).tolist():
            slots = {"at_once": self.at_once, "map_slots": self.map_slots, "reduce_slots": self.reduce_slots}
            shown = {name: plain(each[t, lane, index]) for name, each in slots.items()}
            found.append({**self._lane(lane), "vms": plain(self.class_vms[t, lane, index]), **shown})
        return found

    def of_service(self, t: int, index: int) -> list[dict[str, Any]]:
        """Return the VMs and the rate of a service in a period, by lane."""
        return [
            {
                **self._lane(lane),
                "vms": plain(self.service_vms[t, lane, index]),
                "rate": plain(self.rate[t, lane, index]),
            }
            for lane in np.flatnonzero(self.service_vms[t, :, index] > 0.0).tolist()
        ]

    def _lane(self, lane: int) -> dict[str, Any]:
        return {"vm": self.vm[lane], "way": self.way[lane]}

    def tables(self, class_names: Sequence[str], service_names: Sequence[str]) -> tuple[Table, Table]:
        """Return the VMs and their cost by lane, then those of each class and service."""
        rows = []
        both = self.vms - self.under_contract, self.under_contract
        fees = self.prices - self.saved if self.committed.size else self.prices
        for n, (vm, way) in enumerate(zip(self.vm, self.way, strict=True)):
            there = [(way, both[0][:, n], both[0][:, n] * self.prices[n])]
            if self.committed.size and self.committed[n]:
                paid = self.committed[n] * self.contract_prices[n]
                there.append((f"reserved, {self.committed[n]:.10g}", both[1][:, n], both[1][:, n] * fees[n] + paid))
            rows += [
                (vm, name, *map(float, (held.mean(), held.max(initial=0.0), cost.sum())))
                for name, held, cost in there
                if held.any() or cost.any()
            ]
        held: list[tuple[str, Floats, Floats | None, Floats | None]]
        held = [(name, self.class_vms[:, :, i], self.at_once[:, :, i], None) for i, name in enumerate(class_names)]
        held += [(name, self.service_vms[:, :, k], None, self.rate[:, :, k]) for k, name in enumerate(service_names)]
        places = [
            (
                name,
                self.vm[n],
                "firm" if self.committed.size and self.committed[n] else self.way[n],
                float(taken[:, n].mean()),
                *(None if each is None else float(each[:, n].mean()) for each in (jobs, rate)),
            )
            for name, taken, jobs, rate in held
            for n in np.flatnonzero(taken.sum(axis=0) > 0.0).tolist()
        ]
        return (
            Table("VM types", ("VM type", "rented", "VMs (mean)", "VMs (most)", f"cost {MONEY}"), rows),
            Table(
                "Classes and services on VM types (means over the periods)",
                ("class or service", "VM type", "rented", "VMs", "at once [jobs]", "rate [1/s]"),
                places,
            ),
        )


Columns = TypeVar("Columns", ClassPlan, ServicePlan)


@dataclass(frozen=True, eq=False)
class JointPlan(Plan):
    """Allocation of each period. Arrays have the shape (periods,).

    Attributes:
        class_names: Names of the classes.
        service_names: Names of the services.
        classes: Jobs, VMs and slots of the classes, shape (periods, classes).
        services: Rates, VMs and response times of the services, shape (periods, services).
        size: VMs of the cluster; None if their number is not limited.
        vms: VMs in use.
        utilization: Share of the VMs in use.
        operation: Cost of the VMs, in the currency of the spec.
        penalties: Penalties, in the currency of the spec.
        stages: Number of stages of each class, shape (classes,); 0 for map and reduce phases.
        dags: Stages by class.
        observed: Observations of a simulation by class, over all periods.
        hourly: The same for each period.
        simulated: Settings of the simulation.
        whole: Value of `whole`.
        per_vm: Map and reduce slots of each class on a VM, if slots are whole.
        by_type: VMs of several types.
    """

    planned: ClassVar[str] = "Classes"

    class_names: Sequence[str]
    service_names: Sequence[str]
    classes: ClassPlan
    services: ServicePlan
    size: int | None
    vms: Floats
    utilization: Floats = field(metadata=lacking("the number of VMs is not limited"))
    operation: Floats
    penalties: Floats
    stages: NDArray[np.int64]
    dags: Mapping[str, tuple[Stage, ...]]
    observed: Mapping[str, Observed] = field(default_factory=dict)
    hourly: tuple[Mapping[str, Observed], ...] = ()
    simulated: Simulated | None = None
    whole: str = NO
    per_vm: tuple[Floats, ...] = ()
    by_type: LanePlan | None = None

    @property
    def total(self) -> float:
        """The cost of all periods: operation and penalties."""
        return float(self.operation.sum() + self.penalties.sum())

    def on_spot(self) -> dict[str, float]:
        """Return the part of the VMs of each class over all periods that is on spot."""
        if self.by_type is None:
            return {}
        vms, spot = self.by_type.class_vms.sum(axis=0), np.array(self.by_type.way) == "spot"
        pairs = zip(self.class_names, vms[spot].sum(axis=0).tolist(), vms.sum(axis=0).tolist(), strict=True)
        return {name: part / whole for name, part, whole in pairs if part > 0.0}

    def derived(self, spec: Spec) -> JointPlan:
        """Return the plan with the stages of its spec."""
        return replace(self, dags=dags_of(spec.facts.classes))

    def of_class(self, name: str) -> ClassPlan:
        """Return the allocation to a class: arrays of the shape (periods,). Raises KeyError for an unknown one."""
        return _column(self.classes, place_of(self.class_names, name))

    def of_service(self, name: str) -> ServicePlan:
        """Return the allocation to a service: arrays of the shape (periods,). Raises KeyError for an unknown one."""
        return _column(self.services, place_of(self.service_names, name))

    def document(self) -> dict[str, Any]:
        """``periods[]`` and ``cost`` as in the language's reference."""
        document = {
            "periods": [self._period(t) for t in range(len(self.vms))],
            "cost": _cost(self.operation.sum(), self.penalties.sum()),
            "whole": self.whole,
        }
        if self.by_type is not None and self.by_type.committed.any():
            document["committed"] = self.by_type.commitments()
        if self.simulated is not None:
            document["classes"] = {name: seen.beside() for name, seen in self.observed.items()}
            document["simulation"] = plain(self.simulated)
        return document

    def _period(self, t: int) -> dict[str, Any]:
        classes, services = _by_name(self.class_names, self.classes, t), _by_name(self.service_names, self.services, t)
        if self.by_type is not None:
            for index, name in enumerate(self.class_names):
                classes[name]["types"] = self.by_type.of_class(t, index)
            for index, name in enumerate(self.service_names):
                services[name]["types"] = self.by_type.of_service(t, index)
        return {
            "classes": self._seen(self._packed(self._staged(classes), t), t),
            "services": services,
            "vms": plain(self.vms[t]),
            "utilization": plain(self.utilization[t]),
            "cost": _cost(self.operation[t], self.penalties[t]),
        }

    def outcomes(self) -> Mapping[str, Outcome]:
        """Return the verdicts of the runs on each class that ever has jobs; one that cannot run is inconclusive."""
        most = np.max(self.classes.at_once, axis=0, initial=0.0).tolist()
        ever = (name for name, jobs in zip(self.class_names, most, strict=True) if jobs > 0.0)
        return {} if self.simulated is None else outcomes_of(self.observed, ever)

    def machines(self, t: int, index: int) -> tuple[tuple[int, int, int], ...]:
        """Return the VMs of a class in a period: number, map slots, reduce slots; empty if slots are fractions."""
        if self.whole == NO or self.by_type is not None:
            return ()
        slots = tuple(int(each[t, index].round()) for each in (self.classes.map_slots, self.classes.reduce_slots))
        return of_one_class((slots[0], slots[1]), (int(self.per_vm[0][index]), int(self.per_vm[1][index])))

    def _packed(self, classes: dict[str, dict[str, Any]], t: int) -> dict[str, dict[str, Any]]:
        """Return the slots on the VMs of each class."""
        for index, name in enumerate(self.class_names if self.whole != NO and self.by_type is None else ()):
            kinds = ("task",) if self.stages[index] else ("map", "reduce")
            classes[name]["packing"] = [
                {"count": vms, "slots": {kind: each for kind, each in zip(kinds, slots, strict=False) if each}}
                for vms, *slots in self.machines(t, index)
            ]
        return classes

    def graph(self, title: str) -> Graph | None:
        """Return the stages of the classes that consist of some, with tasks and times."""
        from mrdsl.reporting.report import stage_graph

        return stage_graph(self.dags, title)

    def _staged(self, classes: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for index in np.flatnonzero(self.stages).tolist():
            shown = classes[self.class_names[index]]
            slots = shown["task_slots"] = shown.pop("map_slots")
            shown.pop("reduce_slots")
            shown["upper_is_bound"] = bool(upper_is_bound(self.stages[index], shown["at_once"], slots))
        return classes

    def _seen(self, classes: dict[str, dict[str, Any]], t: int) -> dict[str, dict[str, Any]]:
        for name, seen in self.hourly[t].items() if self.hourly else ():
            classes[name] |= seen.beside()
        return classes

    def tables(self) -> tuple[Table, ...]:
        """Return costs and VMs of every period, then what each class and service gets over all of them."""
        periods = Table(
            "Periods",
            ("period", "VMs", "utilization [%]", *(f"{part} {MONEY}" for part in ("operation", "penalties", "total"))),
            [
                (str(t), *(float(x) for x in row))
                for t, row in enumerate(
                    zip(
                        self.vms,
                        100 * self.utilization,
                        self.operation,
                        self.penalties,
                        self.operation + self.penalties,
                        strict=True,
                    )
                )
            ],
        )
        total = (
            "Cluster",
            ("quantity", "value"),
            [
                (f"operation {MONEY}", float(self.operation.sum())),
                (f"penalties {MONEY}", float(self.penalties.sum())),
                (f"total cost {MONEY}", self.total),
                *(
                    ()
                    if self.size is None
                    else (
                        ("mean utilization [%]", float(100 * self.utilization.mean())),
                        ("largest utilization [%]", float(100 * self.utilization.max())),
                    )
                ),
            ],
        )
        seen = table_of(list(self.observed.items()))
        types = () if self.by_type is None else self.by_type.tables(self.class_names, self.service_names)
        found = (Table(*total), self._classes(), self._services(), *types, seen, periods)
        return tuple(table for table in found if table.rows)

    def _classes(self) -> Table:
        got = self.classes
        staged = self.stages > 0
        phased = not staged.all()
        columns = (
            got.admitted.sum(axis=0),
            got.rejected.sum(axis=0),
            got.at_once.mean(axis=0),
            got.vms.mean(axis=0),
            *((np.where(staged, 0.0, got.map_slots.mean(axis=0)), got.reduce_slots.mean(axis=0)) if phased else ()),
            *((np.where(staged, got.map_slots.mean(axis=0), 0.0),) if staged.any() else ()),
            got.weight.mean(axis=0),
        )
        head = (
            "class",
            "admitted [jobs]",
            "rejected [jobs]",
            "at once [jobs]",
            "VMs",
            *(("map slots", "reduce slots") if phased else ()),
            *(("task slots",) if staged.any() else ()),
            "weight",
        )
        return Table("Classes (means over the periods; jobs of all)", head, _rows(self.class_names, columns))

    def _services(self) -> Table:
        got = self.services
        served = np.where(np.isnan(got.response), 0.0, got.response)
        columns = (got.rate.mean(axis=0), got.rejected_rate.mean(axis=0), got.vms.mean(axis=0), served.max(axis=0))
        head = ("service", "rate [1/s]", "rejected [1/s]", "VMs", "worst response [s]")
        return Table("Services (means over the periods)", head, _rows(self.service_names, columns))


def assemble(work: Workload, vms: Floats, demand: Floats, relax: bool) -> JointPlan:
    """Return the plan of an allocation: Remark 4, (62)-(65).

    ``vms`` and ``demand`` (periods, units): VMs, and the admitted jobs and rates. (63), (64) as printed give the slots
    of all jobs of a period; only one round of them is concurrent.
    """
    split = work.classes
    at_once, map_each, reduce_each, _ = work.allotted(demand[:, :split], relax)
    map_slots, reduce_slots = at_once * map_each, at_once * reduce_each
    slots = map_slots + reduce_slots
    every = slots.sum(axis=1, keepdims=True)
    whole = work.execution.whole_slots and not relax
    rejected = work.expected - demand
    held = vms.sum(axis=1)
    return JointPlan(
        class_names=work.class_names,
        service_names=work.service_names,
        classes=ClassPlan(
            admitted=demand[:, :split],
            rejected=rejected[:, :split],
            at_once=at_once,
            vms=vms[:, :split],
            map_slots=map_slots,
            reduce_slots=reduce_slots,
            weight=np.divide(slots, every, out=np.zeros_like(slots), where=every > 0),
        ),
        services=ServicePlan(
            rate=demand[:, split:],
            rejected_rate=rejected[:, split:],
            vms=vms[:, split:],
            response=work.queues.mean_response(demand[:, split:], vms[:, split:]),
        ),
        size=work.size,
        vms=held,
        utilization=held / work.size,
        operation=work.vm_cost * held,
        penalties=rejected @ work.penalty,
        stages=work.execution.stages,
        dags=work.execution.dags,
        whole=SLOTS if whole else NO,
        per_vm=(work.execution.map_slots, np.nan_to_num(work.execution.reduce_slots, nan=1.0)) if whole else (),
    )


def _column(of_all: Columns, place: int) -> Columns:
    return type(of_all)(**{each.name: getattr(of_all, each.name)[:, place] for each in fields(of_all)})


def columns_of(plan: JointPlan) -> tuple[Floats, Floats]:
    """Return the VMs, and the jobs and rates that are admitted, of all units; both (periods, units)."""
    vms = np.concatenate([plan.classes.vms, plan.services.vms], axis=1)
    return vms, np.concatenate([plan.classes.admitted, plan.services.rate], axis=1)


def cost_of(work: Workload, plan: JointPlan) -> float:
    """Return the cost of a plan from its VMs and admitted demand, for a spec given as arrays."""
    vms, served = columns_of(plan)
    return float(work.vm_cost * vms.sum() + ((work.expected - served) @ work.penalty).sum())


def _by_name(names: Sequence[str], columns: ClassPlan | ServicePlan, t: int) -> dict[str, Any]:
    keys = list(columns.__dataclass_fields__)
    rows = zip(*(plain(getattr(columns, key)[t]) for key in keys), strict=True)
    return {name: plain(dict(zip(keys, row, strict=True))) for name, row in zip(names, rows, strict=True)}


def _cost(operation: Any, penalties: Any) -> dict[str, float]:
    return {"operation": float(operation), "penalties": float(penalties), "total": float(operation + penalties)}


def _rows(names: Sequence[str], columns: Sequence[Floats]) -> list[tuple[Any, ...]]:
    return [(name, *(float(x) for x in row)) for name, row in zip(names, zip(*columns, strict=True), strict=True)]


def plans() -> tuple[type[Plan], ...]:
    """Return the classes of the family's plans."""
    return (JointPlan,)
