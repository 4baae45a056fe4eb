"""Drawn capacity specs as plain numbers, and the text that mrdsl reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Contract:
    """VMs under one contract."""

    name: str
    price: float
    available: int
    paid: bool = False


@dataclass(frozen=True)
class Vm:
    """A VM type: prices in USD/h, memory in GiB, interruptions per hour."""

    name: str
    on_demand: float
    contracts: tuple[Contract, ...] = ()
    spot: tuple[float, float] | None = None
    fee: float = 0.0
    available: int | None = None
    masters: int = 0
    cores: float | None = None
    memory: float | None = None


@dataclass(frozen=True)
class Stage:
    """A stage of a job: times in seconds."""

    name: str
    tasks: int
    avg: float
    max: float
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Work:
    """What one job does: phases, coefficients or stages; times in seconds."""

    map: tuple[int, float, float] | None = None
    shuffle: tuple[float | None, float, float, float] | None = None
    reduce: tuple[int, float, float] | None = None
    coefficients: tuple[float, float, float] | None = None
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True)
class On:
    """What is different on one VM type."""

    speed: float | None = None
    slots: dict[str, int] | None = None


@dataclass(frozen=True)
class JobClass:
    """A class of jobs: ``slots`` by kind, or ``container`` by kind as cores and GiB."""

    name: str
    work: Work
    jobs: tuple[int, int]
    deadline: float
    penalty: float
    guarantee: str | None = None
    slots: dict[str, int] | None = None
    container: dict[str, tuple[float, float]] | None = None
    on: dict[str, On] = field(default_factory=dict)
    types: str | tuple[str, ...] | None = None
    spot: float | None = None


@dataclass(frozen=True)
class Row:
    """One comparison of ``subject to``: a quantity, its argument, ``<=`` or ``>=``, a limit."""

    quantity: str
    argument: str | None
    sense: str
    limit: float


@dataclass(frozen=True)
class Drawn:
    """A whole spec: the period is in hours."""

    vms: tuple[Vm, ...]
    classes: tuple[JobClass, ...]
    whole: str | None = None
    period: float = 1.0
    rows: tuple[Row, ...] = ()
    shuffle_service: bool = False


UNITS = {"cost": " USD", "share": "%", "completion": " s", "vms": "", "admitted": ""}


def number(value: float) -> str:
    """Write a number in digits, without an exponent."""
    text = f"{value:.12f}".rstrip("0").rstrip(".")
    return text or "0"


def text_of(drawn: Drawn) -> str:
    """Print the spec."""
    return "\n".join(_lines(drawn)) + "\n"


def _lines(drawn: Drawn) -> Iterator[str]:
    yield 'problem capacity "drawn", estimates = paper'
    if drawn.whole is not None:
        yield f"whole = {drawn.whole}"
    if drawn.period != 1.0:
        yield f"period = {number(drawn.period)} h"
    if drawn.shuffle_service:
        yield "simulation { shuffle_service = yes }"
    for vm in drawn.vms:
        yield from _vm(vm)
    for node in drawn.classes:
        yield from _class(node)
    yield "minimize cost"
    if drawn.rows:
        yield "subject to {"
        for row in drawn.rows:
            of = "" if row.argument is None else f"({row.argument})"
            limit = row.limit * 100 if row.quantity == "share" else row.limit
            yield f"  {row.quantity}{of} {row.sense} {number(limit)}{UNITS[row.quantity]}"
        yield "}"


def _vm(vm: Vm) -> Iterator[str]:
    yield f"vm {vm.name} {{"
    yield f"  on_demand {{ price = {number(vm.on_demand)} USD/h }}"
    for contract in vm.contracts:
        name = f' "{contract.name}"' if contract.name else ""
        paid = ", prepaid = yes" if contract.paid else ""
        price = f"price = {number(contract.price)} USD/h"
        yield f"  reserved{name} {{ {price}, available = {contract.available}{paid} }}"
    if vm.spot is not None:
        yield f"  spot {{ price = {number(vm.spot[0])} USD/h, interruptions = {number(vm.spot[1])}/h }}"
    for name, value, unit in (
        ("fee", vm.fee, " USD/h"),
        ("available", vm.available, ""),
        ("masters", vm.masters, ""),
        ("cores", vm.cores, ""),
        ("memory", vm.memory, " GiB"),
    ):
        if value is not None and (value or name == "available"):
            yield f"  {name} = {number(value)}{unit}"
    yield "}"


def _work(work: Work) -> Iterator[str]:
    if work.coefficients is not None:
        yield (
            "  coefficients { "
            + ", ".join(f"{k} = {number(v)} s" for k, v in zip("ABC", work.coefficients, strict=True))
            + " }"
        )
    if work.map is not None:
        yield "  map { " + _times(work.map) + " }"
    if work.shuffle is not None:
        names = ("first_avg", "first_max", "avg", "max")
        items = [f"{k} = {number(v)} s" for k, v in zip(names, work.shuffle, strict=True) if v is not None]
        yield "  shuffle { " + ", ".join(items) + " }"
    if work.reduce is not None:
        yield "  reduce { " + _times(work.reduce) + " }"
    for stage in work.stages:
        after = f", after = [{', '.join(stage.after)}]" if stage.after else ""
        yield f"  stage {stage.name} {{ {_times((stage.tasks, stage.avg, stage.max))}{after} }}"


def _times(phase: tuple[int, float, float]) -> str:
    return f"tasks = {phase[0]}, avg = {number(phase[1])} s, max = {number(phase[2])} s"


def _slots(slots: dict[str, int]) -> str:
    return "slots { " + ", ".join(f"{kind} = {count}" for kind, count in slots.items()) + " }"


def _class(node: JobClass) -> Iterator[str]:
    yield f"class {node.name} {{"
    yield from _work(node.work)
    if node.slots is not None:
        yield "  " + _slots(node.slots)
    if node.container is not None:
        sizes = (f"{k} {{ cores = {number(c)}, memory = {number(m)} GiB }}" for k, (c, m) in node.container.items())
        yield "  container { " + ", ".join(sizes) + " }"
    for name, on in node.on.items():
        items = [] if on.speed is None else [f"speed = {number(on.speed)}"]
        items += [] if on.slots is None else [_slots(on.slots)]
        yield f"  on {name} {{ " + ", ".join(items) + " }"
    low, high = node.jobs
    yield f"  jobs = {low}..{high}, deadline = {number(node.deadline)} s, penalty = {number(node.penalty)} USD"
    if node.guarantee is not None:
        yield f"  guarantee = {node.guarantee}"
    if node.types is not None:
        yield "  types = " + (node.types if isinstance(node.types, str) else f"[{', '.join(node.types)}]")
    if node.spot is not None:
        yield f"  spot = {number(node.spot * 100)}%"
    yield "}"
