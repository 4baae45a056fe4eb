"""The plan of a capacity spec, held as columns: 100,000 classes are a handful of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.lazy import ByName
from mrdsl.core.result import MONEY, Outcome, Plan, Table, lacking, plain
from mrdsl.core.tables import Rows
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.instance import Instance
from mrdsl.families.capacity.market import ON_DEMAND, RESERVED
from mrdsl.families.capacity.packing import Packing
from mrdsl.families.capacity.plan_parts import (
    NO_OWN,
    UNKNOWN,
    Bought,
    Calibration,
    ClassPlan,
    Mixture,
    StagedClassPlan,
    class_document,
    class_plan,
    known,
    summed,
)
from mrdsl.formulas import mapreduce
from mrdsl.formulas.estimates import kinds_of
from mrdsl.formulas.pairs import Floats
from mrdsl.simulation.observed import Observed, Simulated, outcomes_of, table_of
from mrdsl.spec.blocks import Stage, dags_of, is_plain
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.core.charts import Graph

NO_EXECUTORS = np.zeros(0, dtype=np.int64)
SHOWN = 20
"""Most classes that the terminal shows."""


@dataclass(frozen=True, eq=False)
class CapacityPlan(Plan):
    """VMs to rent and, per class, jobs to admit and slots to give; arrays have one element per class.

    - ``map_slots`` and ``reduce_slots`` are those of the whole class.
    - ``stages`` counts the stages of the class, 0 if it has none; ``dags`` has them by class. Their slots are
      ``map_slots``.
    - ``completion_*`` is NaN if the estimate is not known or no job is admitted.
    - ``observed`` has the results of a simulation of the plan, by class. Without one it is empty and ``simulated``
      is None.
    - ``mix`` has the parts by type and purchase option if there are several. VMs and slots are then sums, and times are
      those of the slowest jobs of a class.
    - ``wholeness`` is its integrality in addition to jobs and VMs, see :mod:`mrdsl.families.capacity.forms`.
    - ``packing`` has the slots on each VM if slots are whole.
    - ``executor_tasks`` has the tasks of an executor of each class, 0 without; empty if no class has executors or
      drivers. A driver of stages is a reduce slot.
    - ``disk_cost`` is the part of ``vm_cost`` that pays for disks, and ``transfer_cost`` that of the data of all jobs.
    - ``sunk`` is the cost of the prepaid contract of the only type; with several, ``mix`` has it.
    - ``completion_mean`` is empty if no mean is computed; ``own`` marks classes whose jobs have their own slots, with
      estimates for them.
    - ``calibration`` describes how service levels of runs are met, if there are any.
    """

    planned: ClassVar[str] = "Classes"

    vm: str
    on_demand: float
    reserved: float
    names: Sequence[str]
    admitted: Floats
    rejected: Floats
    map_slots: Floats
    reduce_slots: Floats
    vms: Floats
    completion_lower: Floats = field(metadata=lacking("no job is admitted, or the estimate is not known"))
    completion_average: Floats = field(metadata=lacking("no job is admitted, or the estimate is not known"))
    completion_upper: Floats = field(metadata=lacking("no job is admitted, or the estimate is not known"))
    deadline: Floats
    penalty: Floats
    vm_cost: float
    whole: bool
    stages: NDArray[np.int64]
    dags: Mapping[str, tuple[Stage, ...]] = field(default_factory=dict)
    observed: Mapping[str, Observed] = field(default_factory=dict)
    simulated: Simulated | None = None
    mix: Mixture | None = None
    wholeness: str = NO
    packing: Packing | None = None
    calibration: Calibration | None = None
    executor_tasks: NDArray[np.int64] = field(default_factory=lambda: NO_EXECUTORS)
    disk_cost: float = 0.0
    transfer_cost: float = 0.0
    sunk: float = 0.0
    completion_mean: Floats = field(default_factory=lambda: UNKNOWN, metadata=lacking("no job is admitted"))
    own: NDArray[np.bool_] = field(default_factory=lambda: NO_OWN)

    @property
    def penalties(self) -> float:
        """Cost of all rejected jobs."""
        return float(self.penalty.sum())

    @property
    def total(self) -> float:
        """Equation (5)."""
        return self.vm_cost + self.penalties + self.transfer_cost

    @cached_property
    def mixture(self) -> Mixture:
        """The parts of classes by VM type and contract; of one type and one contract, one part a class."""
        if self.mix is not None:
            return self.mix
        here = np.flatnonzero(self.admitted > 0.0)
        jobs, maps, reduces, vms, *times = (
            column[here]
            for column in (
                *(self.admitted, self.map_slots, self.reduce_slots, self.vms),
                *(self.completion_lower, self.completion_average, self.completion_upper),
            )
        )
        mean = self.completion_mean[here] if len(self.completion_mean) else UNKNOWN
        bought = Bought(self.vm, ON_DEMAND, "", self.on_demand), Bought(self.vm, RESERVED, "", self.reserved)
        one, firm = np.zeros_like(here), np.zeros(len(here), dtype=bool)
        shares = here, one, firm, jobs, maps, reduces, vms, *times
        return Mixture((self.vm,), np.zeros(1), bought, self.sunk, *shares, mean=mean)

    @property
    def rented(self) -> float:
        """All VMs, however bought."""
        return self.mixture.total()

    @property
    def classes(self) -> ByName[ClassPlan | StagedClassPlan]:
        """Plans of single classes, by name."""
        return ByName(self.names, self.of_class)

    @property
    def types(self) -> tuple[str, ...]:
        """The names of the VM types."""
        return self.mixture.types

    def of_class(self, index: int) -> ClassPlan | StagedClassPlan:
        """Return the plan of the class at ``index`` in the spec's order."""
        return self._classes(slice(index, index + 1))[0]

    def again(self, now: Plan) -> CapacityPlan | None:
        """Return this plan as a plan of the spec of ``now``; None if it has other classes, jobs or VM types.

        Results of runs are left out, since they are of another spec. Plans with service levels of runs are not reused
        either.
        """
        if not isinstance(now, CapacityPlan) or self.calibration is not None or now.calibration is not None:
            return None
        same = (
            list(self.names) == list(now.names)
            and (self.types, self.whole, self.wholeness) == (now.types, now.whole, now.wholeness)
            and (self.mix is None) == (now.mix is None)
            and np.array_equal(self.admitted + self.rejected, now.admitted + now.rejected)
            and np.array_equal(self.stages, now.stages)
        )
        mine, theirs = self.mixture, now.mixture
        if not same or not np.array_equal(mine.masters, theirs.masters) or mine.sunk != theirs.sunk:
            return None
        return replace(self, deadline=now.deadline, dags=now.dags, observed={}, simulated=None)

    def document(self) -> dict[str, Any]:
        """Return the object under ``plan`` in the JSON result."""
        number = int if self.whole else float
        how = {} if self.simulated is None else {"simulation": plain(self.simulated)}
        plain_vms = {self.vm: {"on_demand": number(self.on_demand), "reserved": number(self.reserved)}}
        mixture = self.mixture
        sunk = {"sunk": mixture.sunk} if mixture.sunk else {}
        whole: dict[str, Any] = {"whole": self.wholeness}
        if self.packing is not None:
            whole["packing"] = self.packing.document(self.types, self.names, self.stages)
        return {
            "vms": plain_vms if self.mix is None else self.mix.document(self.whole),
            "classes": self._placed(
                self._seen(
                    self._staged(dict(zip(self.names, map(class_document, self._rows(slice(None))), strict=True)))
                )
            ),
            "cost": {**{name.split()[-1].lower(): cost for name, cost in self.costs().items()}, **sunk},
            **whole,
            **how,
            **({} if self.calibration is None else {"calibration": plain(self.calibration)}),
        }

    def costs(self) -> dict[str, float]:
        """Return the parts of the cost, and the parts of the cost of VMs after it; those that are 0 are left out."""
        mixture = self.mixture
        parts = {
            "VMs": self.vm_cost,
            **({"for masters": mixture.masters_cost} if mixture.masters.any() else {}),
            **({"for disks": self.disk_cost} if self.disk_cost else {}),
            "penalties": self.penalties,
            **({"transfer": self.transfer_cost} if self.transfer_cost else {}),
        }
        return {**parts, "total": self.total}

    def on_spot(self) -> dict[str, float]:
        """Return the part of the VMs of each class that is on spot."""
        if self.mix is None or not self.mix.spot.any():
            return {}
        places, count = self.mix.of_class, len(self.names)
        part, whole = (summed(places, vms, count) for vms in (self.mix.vms * self.mix.spot, self.mix.vms))
        pairs = zip(self.names, part.tolist(), whole.tolist(), strict=True)
        return {name: spot / every for name, spot, every in pairs if spot > 0.0}

    def derived(self, spec: Spec) -> CapacityPlan:
        """Return the plan with the stages of its spec, and the types that it rents."""
        used = (name for name in self.mixture.types if self.mixture.total(vm=name))
        vm = spec.facts.vms[0].name if self.mix is None else ", ".join(used)
        return replace(self, dags=dags_of(spec.facts.classes), vm=vm)

    def outcomes(self) -> Mapping[str, Outcome]:
        """Return the outcome of the deadline of each class that admits jobs; inconclusive if the class cannot run."""
        return {} if self.simulated is None else outcomes_of(self.observed, compress(self.names, self.admitted > 0.0))

    def graph(self, title: str) -> Graph | None:
        """Return the stages of the classes that consist of some, with tasks and times."""
        from mrdsl.reporting.report import stage_graph

        return stage_graph(self.dags, title)

    def _staged(self, classes: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for index in np.flatnonzero(self.stages).tolist():
            classes[self.names[index]] = plain(self.of_class(index))
        return classes

    def _placed(self, classes: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        if self.mix is not None:
            for name in self.names:
                classes[name]["on"] = []
            for name, share in self.mix.shares(self.names, self.stages, self.whole):
                classes[name]["on"].append(share)
        return classes

    @cached_property
    def _bounds(self) -> list[bool | None]:
        """True if each class's upper estimate is a bound, None where it is not known."""
        kept, unknown = self.mixture.uppers_are_bounds(self.stages, self.own), np.isnan(self.completion_upper)
        kept &= np.array([is_plain(self.dags.get(name, ())) for name in self.names])
        return [None if missing else one for missing, one in zip(unknown.tolist(), kept.tolist(), strict=True)]

    @cached_property
    def _whole_slots(self) -> tuple[NDArray[np.int64], ...]:
        return tuple(each.astype(np.int64) for each in self.mixture.whole_slots(len(self.names)))

    def upper_is_bound(self, index: int) -> bool:
        """Return True if the upper estimate of the class at ``index`` is known to be a bound on its slots."""
        return self._bounds[index] is True

    def _seen(self, classes: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for name, seen in self.observed.items():
            classes[name] |= seen.beside()
        return classes

    def tables(self) -> tuple[Table, ...]:
        """Return the VMs, the classes, the cost, and the observations of simulated classes."""
        kinds, executors = kinds_of(self.stages), bool(self.executor_tasks.any())

        def rows(part: slice) -> Iterator[tuple[Any, ...]]:
            for name, c in zip(self.names[part], self._classes(part), strict=True):
                yield (
                    name,
                    c.admitted,
                    c.rejected,
                    *(getattr(c.whole_slots, kind, 0) for kind in kinds),
                    *((getattr(c, "executors", None),) if executors else ()),
                    c.vms,
                    c.completion.lower,
                    c.completion.average,
                    c.completion.upper,
                    *((getattr(c.completion, "mean", None),) if len(self.completion_mean) else ()),
                    c.deadline,
                    c.penalty,
                )

        number, packing = int if self.whole else float, self.packing
        vms = Table("VMs", ("vm", "on demand", "reserved"), [(self.vm, number(self.on_demand), number(self.reserved))])
        rented = (vms,) if self.mix is None else self.mix.tables(self.names, SHOWN, self.whole, self.stages)
        sunk = self.mixture.sunk
        costs = {**self.costs(), **({"prepaid, not in the total": sunk} if sunk else {})}
        return (
            *rented,
            Table(
                "Classes",
                (
                    "class",
                    "admitted",
                    "rejected",
                    *(f"{kind} slots" for kind in kinds),
                    *(("executors",) if executors else ()),
                    "VMs",
                    "lower [s]",
                    "average [s]",
                    "upper [s]",
                    *(("mean [s]",) if len(self.completion_mean) else ()),
                    "deadline [s]",
                    "penalty",
                ),
                Rows(len(self.names), rows),
                most=SHOWN,
            ),
            Table("Cost", tuple(f"{part} {MONEY}" for part in costs), [tuple(costs.values())]),
            *([packing.table(self.types, self.names, self.stages, SHOWN)] if packing and len(packing.count) else []),
            *(() if self.calibration is None else self.calibration.tables()),
            *((table_of(self.observed.items(), most=SHOWN),) if self.observed else ()),
        )

    def _classes(self, part: slice) -> list[ClassPlan | StagedClassPlan]:
        staged = self.stages[part].astype(bool).tolist()
        tasks = self.executor_tasks[part].tolist() or [0] * len(staged)
        return list(map(class_plan, self._rows(part), staged, tasks))

    def _rows(self, part: slice) -> Iterator[tuple[Any, ...]]:
        counts = [self.admitted[part], self.rejected[part]]
        columns = [
            *(np.rint(count).astype(np.int64).tolist() if self.whole else count.tolist() for count in counts),
            *(values[part].tolist() for values in (self.map_slots, self.reduce_slots)),
            *(values[part].tolist() for values in self._whole_slots),
            self.vms[part].tolist(),
            *(
                known(values[part])
                for values in (self.completion_lower, self.completion_average, self.completion_upper)
            ),
            *(values[part].tolist() for values in (self.deadline, self.penalty)),
            self._bounds[part],
            *((known(self.completion_mean[part]),) if len(self.completion_mean) else ()),
        ]
        return zip(*columns, strict=True)


def plan_of(
    instance: Instance,
    vms: tuple[float, float],
    admitted: Sequence[float] | Floats,
    relax: bool,
    slots: tuple[Floats, Floats] | None = None,
) -> CapacityPlan:
    """Return the plan that admits ``admitted`` jobs on ``vms`` = (on demand, reserved) VMs.

    Numbers within 1e-5 of a whole one are rounded unless ``relax``. ``slots`` of the whole classes default to Theorem
    4.1's.
    """
    jobs = np.asarray(admitted, dtype=np.float64)
    on_demand, reserved = vms
    if not relax:
        jobs, on_demand, reserved = np.rint(jobs), float(round(on_demand)), float(round(reserved))
    per_job = instance.slots_per_job
    map_slots, reduce_slots = slots or (per_job[0] * jobs, per_job[1] * jobs)
    completion = {
        name: mapreduce.completion(work, jobs, map_slots, reduce_slots) for name, work in instance.estimates.items()
    }
    rejected = np.maximum(instance.expected - jobs, 0.0)
    return CapacityPlan(
        vm=instance.prices.vm,
        on_demand=on_demand,
        reserved=reserved,
        names=instance.names,
        admitted=jobs,
        rejected=rejected,
        map_slots=map_slots,
        reduce_slots=reduce_slots,
        vms=map_slots / instance.map_per_vm + reduce_slots / instance.reduce_per_vm,
        completion_lower=completion["lower"],
        completion_average=completion["average"],
        completion_upper=completion["upper"],
        completion_mean=completion.get("mean", UNKNOWN),
        own=instance.own,
        deadline=instance.deadline,
        penalty=instance.penalty * rejected,
        vm_cost=instance.prices.cost(on_demand, reserved),
        whole=not relax,
        stages=instance.stages,
        dags=instance.dags,
        wholeness=instance.wholeness,
        disk_cost=instance.prices.disk * (on_demand + reserved),
        transfer_cost=float(instance.transfer @ jobs),
        sunk=instance.prices.sunk,
    )
