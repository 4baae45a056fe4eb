"""The plan of the energy family: machines, tasks per slot, phases, energy by part, cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from mrdsl.core.result import MONEY, Outcome, Plan, Table, plain
from mrdsl.simulation.observed import Observed, Simulated, Verdict, table_of

if TYPE_CHECKING:
    from mrdsl.core.charts import Bar


@dataclass(frozen=True)
class SlotUse:
    """Tasks that one slot runs, one after another; fractional in a relaxed plan.

    ``maps`` and ``reduces`` are the numbers of the tasks, from 1, of a job whose tasks differ.
    """

    map_tasks: float
    reduce_tasks: float
    maps: tuple[int, ...] = field(default=(), metadata={"document": False})
    reduces: tuple[int, ...] = field(default=(), metadata={"document": False})


@dataclass(frozen=True)
class VmUse:
    """One VM that is taken: its type, its number within the type (from 1), its job, and its tasks.

    ``map_time`` and ``reduce_time`` are the times of its busiest slot, s.
    """

    type: str
    index: int
    job: str
    map_tasks: float
    reduce_tasks: float
    slots: tuple[SlotUse, ...]
    map_time: float = field(default=0.0, metadata={"document": False})
    reduce_time: float = field(default=0.0, metadata={"document": False})

    @property
    def label(self) -> str:
        return f"{self.type} #{self.index}"


@dataclass(frozen=True)
class EnergyParts:
    """Energy above idle by part, J."""

    tasks: float
    placement: float
    shuffle: float
    total: float


@dataclass(frozen=True)
class Phases:
    """Length of each phase, s."""

    placement: float
    map: float
    shuffle: float
    reduce: float

    @property
    def total(self) -> float:
        return self.placement + self.map + self.shuffle + self.reduce


@dataclass(frozen=True)
class JobUse:
    """One job's share of the plan."""

    energy: EnergyParts
    phases: Phases
    uptime: float
    cost: float
    deadline: float | None
    budget: float | None


@dataclass(frozen=True)
class Bill:
    """Observed energy of a job above idle, J, and observed cost of its VMs; ``verdict`` is on its budget."""

    energy: float
    cost: float
    cost_p95: float
    verdict: Verdict | None = None


@dataclass(frozen=True)
class EnergyPlan(Plan):
    """VMs with their tasks, energy and cost.

    A relaxed plan uses fractions of tasks and VMs. Its phases, uptime, cost and machines are those of the relaxation.

    Attributes:
        vms: Every used VM with its job and tasks.
        energy: Parts of the energy, for all jobs [J].
        phases: Lengths of the phases of the job that ends last [s].
        uptime: Sum of these phases [s].
        cost: Cost of all jobs, in the currency of the spec.
        jobs: The same for each job.
        machines: Number of VMs.
        relaxed: The plan is of the relaxation.
        observed: Observed uptime by job in a simulation.
        bills: Observed energy and cost by job.
        simulated: Settings of the simulation.
    """

    planned: ClassVar[str] = "Jobs"

    vms: tuple[VmUse, ...]
    energy: EnergyParts
    phases: Phases
    uptime: float
    cost: float
    jobs: Mapping[str, JobUse]
    machines: float = field(default=0.0, metadata={"document": False})
    relaxed: bool = field(default=False, metadata={"document": False})
    observed: Mapping[str, Observed] = field(default_factory=dict, metadata={"document": False})
    bills: Mapping[str, Bill] = field(default_factory=dict, metadata={"document": False})
    simulated: Simulated | None = field(default=None, metadata={"document": False})

    def document(self) -> dict[str, Any]:
        """Return the object under ``plan`` in the JSON result."""
        document = super().document()
        for vm, use in zip(document["vms"], self.vms, strict=True):
            for slot, of_slot in zip(vm["slots"], use.slots, strict=True):
                if of_slot.maps or of_slot.reduces:
                    slot |= {"maps": list(of_slot.maps), "reduces": list(of_slot.reduces)}
        if self.simulated is not None:
            document["simulation"] = plain(self.simulated)
            for name, seen in self.observed.items():
                document["jobs"][name] |= seen.beside() | {"bill": plain(self.bills[name])}
        return document

    def outcomes(self) -> Mapping[str, Outcome]:
        """Return the verdicts of the runs on constraints, as ``deadline(JOB)`` and ``budget(JOB)``."""
        late = {f"deadline({name})": seen.verdict for name, seen in self.observed.items()}
        dear = {f"budget({name})": bill.verdict for name, bill in self.bills.items()}
        return {name: verdict.outcome for name, verdict in (late | dear).items() if verdict is not None}

    def tables(self) -> tuple[Table, ...]:
        vms = [(use.job, use.label, use.map_tasks, use.reduce_tasks, _per_slot(use)) for use in self.vms]
        jobs = [
            (name, job.energy.total, job.uptime, job.deadline, job.cost, job.budget) for name, job in self.jobs.items()
        ]
        parts = [
            (
                name,
                job.energy.tasks,
                job.energy.placement,
                job.energy.shuffle,
                job.phases.placement,
                job.phases.map,
                job.phases.shuffle,
                job.phases.reduce,
            )
            for name, job in self.jobs.items()
        ]
        return (
            Table("Machines", ("job", "VM", "map tasks", "reduce tasks", "per slot (map+reduce)"), vms),
            Table(
                "Jobs", ("job", "energy [J]", "uptime [s]", "deadline [s]", f"cost {MONEY}", f"budget {MONEY}"), jobs
            ),
            Table(
                "Parts",
                (
                    "job",
                    "tasks [J]",
                    "placement [J]",
                    "shuffle [J]",
                    "placement [s]",
                    "map [s]",
                    "shuffle [s]",
                    "reduce [s]",
                ),
                parts,
            ),
            *self._seen(),
        )

    def _seen(self) -> Iterator[Table]:
        if self.simulated is None:
            return
        yield table_of(list(self.observed.items()), "job")
        rows = [
            (name, bill.energy, bill.cost, bill.cost_p95, None if bill.verdict is None else bill.verdict.outcome.shown)
            for name, bill in self.bills.items()
        ]
        head = ("job", "mean energy [J]", f"mean cost {MONEY}", f"p95 of cost {MONEY}", "budget")
        yield Table("Simulated bills", head, rows)

    def bars(self) -> tuple[Bar, ...]:
        """Figure 8: the four phases of every VM, with the number of tasks in the map and reduce bars."""
        return tuple(bar for use in self.vms for bar in _bars(use, self.jobs[use.job].phases, len(self.jobs) > 1))


def _bars(use: VmUse, phases: Phases, several_jobs: bool) -> list[Bar]:
    from mrdsl.core.charts import Bar

    lane = f"{use.job}: {use.label}" if several_jobs else use.label
    map_start = phases.placement
    shuffle_start = map_start + phases.map
    reduce_start = shuffle_start + phases.shuffle
    bars = [
        Bar(lane, "", 0.0, phases.placement, "placement"),
        Bar(lane, f"{use.map_tasks:g}", map_start, map_start + use.map_time, "map"),
        Bar(lane, "", shuffle_start, reduce_start, "shuffle"),
        Bar(lane, f"{use.reduce_tasks:g}", reduce_start, reduce_start + use.reduce_time, "reduce"),
    ]
    return [bar for bar in bars if bar.end > bar.start]


def _per_slot(use: VmUse) -> str:
    if any(slot.maps or slot.reduces for slot in use.slots):
        numbers = (f"{','.join(map(str, slot.maps))}+{','.join(map(str, slot.reduces))}" for slot in use.slots)
        return " ".join(numbers)
    return " ".join(f"{slot.map_tasks:g}+{slot.reduce_tasks:g}" for slot in use.slots)


def total_energy(parts: list[EnergyParts]) -> EnergyParts:
    """Return the sum of several jobs' energies."""
    return EnergyParts(
        sum(p.tasks for p in parts),
        sum(p.placement for p in parts),
        sum(p.shuffle for p in parts),
        sum(p.total for p in parts),
    )


def plans() -> tuple[type[Plan], ...]:
    """Return the classes of the family's plans."""
    return (EnergyPlan,)
