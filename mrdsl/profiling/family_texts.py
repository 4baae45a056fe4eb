"""Classes as a commented spec of a family: values from the logs, and params for values that the logs lack."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from mrdsl.core.diagnostics import number_of
from mrdsl.exchange.logs.records import Peaks, SparkApplication
from mrdsl.profiling import spec_text as parts
from mrdsl.profiling.classes import JobClass, Summary
from mrdsl.profiling.containers import Containers, machine_of, peaks_of, usual_containers, with_peaks
from mrdsl.profiling.containers import lines as container_lines
from mrdsl.profiling.gathering import Gathered
from mrdsl.profiling.losses import alike, stem
from mrdsl.profiling.spec_text import GUESSED, Price, most_runs_at_once, never_together, starts_apart, timetable
from mrdsl.profiling.stage_classes import StageClass

LARGEST_BATCH = 200


def spec_text(
    gathered: Gathered,
    family: str | None = None,
    title: str = "From logs",
    price: Price | None = None,
    samples: str | None = None,
    on: Mapping[str, Gathered] = MappingProxyType({}),
) -> str:
    """Return a spec of ``family`` (None: :func:`default_family`), with ``price`` as the cost of one VM, or a guess.

    ``on`` has the profiles of other machine types by type. Raises ValueError for a family that these logs do not serve.
    """
    family = family or ("capacity" if on else default_family(gathered))
    if on and family != "capacity":
        raise ValueError(f"a spec of {family} knows one type of machines")
    if family not in FAMILIES:
        raise ValueError(f"logs make no spec of `{family}`: choose {', '.join(FAMILIES)}")
    if not gathered.classes and (family not in STAGED or not gathered.stage_classes):
        raise ValueError(f"these logs have no class for a spec of {family}")
    if family in STAGED and family != "capacity" and (names := _on_executors(gathered)):
        raise ValueError(f"tasks of class {names[0]} take several slots, or all at once: choose the family capacity")
    lines = [*parts.head(gathered, price), *_unused(gathered, family), f"problem {family} {parts.quoted(title)}", ""]
    body = several_types(gathered, price, samples, on) if on else FAMILIES[family](gathered, price, samples)
    return "\n".join((*lines, *body)) + "\n"


def default_family(gathered: Gathered) -> str:
    """Return ``timetable`` if the runs start at different times and do not all overlap, otherwise ``capacity``.

    It is ``capacity`` if tasks take several slots, or all slots at once.
    """
    apart = starts_apart([*gathered.classes, *gathered.stage_classes])
    return "timetable" if apart and not _on_executors(gathered) else "capacity"


def _on_executors(gathered: Gathered) -> list[str]:
    """Return the classes of which some tasks take several slots of an executor, or all of them at once."""
    return [each.name for each in gathered.stage_classes if any(s.slots > 1 or s.barrier for s in each.stages)]


def _unused(gathered: Gathered, family: str) -> Iterator[str]:
    if gathered.stage_classes and family not in STAGED:
        yield f"# {len(gathered.stage_classes)} classes of Spark applications are left out: {family} knows no stages."


def _price(price: Price | None) -> str:
    return parts.price_param(price or GUESSED, price is None)


def _slots(gathered: Gathered, executors: Collection[str] = ()) -> Iterator[str]:
    if gathered.classes:
        yield parts.slots_param("map", gathered.cluster.map, 2)
        yield parts.slots_param("reduce", gathered.cluster.reduce, 1)
    if any(each.name not in executors for each in gathered.stage_classes):
        yield parts.slots_param("task", gathered.cluster.task, 4, pod=gathered.cluster.pod_slots)


def _promised(
    gathered: Gathered,
    price: Price | None,
    jobs: Callable[[Summary], str],
    samples: str | None = None,
    more: Callable[[Summary], Iterator[str]] = lambda _: iter(()),
    executors: Mapping[str, tuple[Containers, int, Peaks]] = MappingProxyType({}),
    times: Callable[[Summary], Iterator[str]] = lambda _: iter(()),
    master: bool = False,
) -> Iterator[str]:
    """Yield classes with slots, jobs, deadline and penalty, as capacity and joint have them.

    ``more`` and ``times`` of each class come before its jobs and its deadline. ``executors`` are those of classes that
    have them in place of slots. ``master``: the cluster has one of its own type.
    """
    classes: list[Summary] = [*gathered.classes, *gathered.stage_classes]
    words = parts.words_of(classes)
    yield _price(price)
    yield from _slots(gathered, executors)
    currency = (price or GUESSED).currency
    if master:
        yield f"param master_price = 0.24 {currency}/h  # a guess: what the master costs, such as an m5.xlarge on EMR"
    yield f"param penalty = 10 {currency}  # a guess: what it costs to turn a job away"
    yield from parts.input_params(classes, words)
    for each, word in zip(classes, words, strict=True):
        yield f"param deadline_{word} = {parts.guessed_deadline(each)}  # a guess: twice the longest that it took"
    for each, word in zip(classes, words, strict=True):
        yield ""
        yield from parts.comments(each)
        yield f"class {parts.name(each.name)} {{"
        if isinstance(each, JobClass):
            yield from parts.profile(each, word)
            if samples is not None:
                yield parts.recorded(each, word, samples)
            yield "  slots { map = map_slots, reduce = reduce_slots }"
        else:
            files = None if samples is None else f"{samples}/{word}"
            yield from parts.stages(each, files, word=word)  # type: ignore[arg-type]
            known = executors.get(each.name)
            yield from ("  slots { task = task_slots }",) if known is None else container_lines(*known)
        yield from parts.startup(each)
        yield from more(each)
        if master:
            yield "  types = [machine]"
        yield f"  jobs = {jobs(each)}"
        yield from times(each)
        yield f"  deadline = deadline_{word}"
        yield "  penalty = penalty"
        yield "}"
    yield ""
    yield "minimize cost"


def _capacity(gathered: Gathered, price: Price | None, samples: str | None) -> Iterator[str]:
    yield from _never_together(gathered)
    machine, executors = machine_of(run for run, _ in gathered.applications), _executors(gathered)
    size = "" if machine is None else machine.items
    master = machine is not None and machine.master and not gathered.classes
    yield f"vm machine {{ on_demand {{ price = price }}{size} }}"
    if master:
        yield "vm master { on_demand { price = master_price } }"
        yield ""
        yield "master { vm = master }  # it runs no tasks, and its cost is part of every plan"
    yield ""
    yield from parts.observed(gathered, requests=True)
    if machine is not None:
        yield from machine.lines()
    jobs = parts.jobs_at_once
    yield from _promised(gathered, price, jobs, samples, executors=executors, times=parts.took, master=master)


def _timetable(gathered: Gathered, price: Price | None, samples: str | None) -> Iterator[str]:
    return timetable(gathered, price, samples, {name: each for name, (each, *_) in _executors(gathered).items()})


def _executors(gathered: Gathered) -> dict[str, tuple[Containers, int, Peaks]]:
    """Return the executors of each class that has some, how many of its runs have others, and the peaks of memory."""
    runs: dict[str, list[SparkApplication]] = {}
    for run, name in gathered.applications:
        runs.setdefault(name, []).append(run)
    found = {}
    for name, each in runs.items():
        if (usual := usual_containers(each)) is not None:
            peaks = peaks_of(each)
            found[name] = with_peaks(usual[0], peaks), usual[1], peaks
    return found


def _never_together(gathered: Gathered) -> Iterator[str]:
    """Yield the groups of classes that never overlap, and a comment if more jobs are planned than ever ran at once."""
    classes: list[Summary] = [*gathered.classes, *gathered.stage_classes]
    groups = never_together(classes)
    planned, most = sum(max(each.jobs_high for each in group) for group in groups), most_runs_at_once(classes)
    shared = [group for group in groups if len(group) > 1]
    if shared:
        yield "# Classes of one block never overlap in the logs: they take turns on the same VMs."
    for number, group in enumerate(shared, start=1):
        names = ", ".join(parts.name(each.name) for each in group)
        yield f"never_together turns{number if len(shared) > 1 else ''} {{ classes = [{names}] }}"
    if 0 < most < planned:
        yield f"# beware: this plans for {number_of(planned, 'job')} at once, and {most} ran at once at most."
        yield "# `mrdsl profile --family timetable` plans with their start times."
    if shared or 0 < most < planned:
        yield ""


def several_types(
    gathered: Gathered, price: Price | None, samples: str | None, on: Mapping[str, Gathered]
) -> Iterator[str]:
    """Yield a spec of capacity whose classes have a profile for each VM type with logs."""
    endings = {name: f"_on_{word}" for name, word in zip(on, parts.words_for(list(on)), strict=True)}
    yield "vm machine { on_demand { price = price } }"
    for name, ending in endings.items():
        yield f"vm {parts.name(name)} {{ on_demand {{ price = price{ending} }} }}"
    yield ""
    for name, ending in endings.items():
        yield parts.price_param(price or GUESSED, True, ending)
        if on[name].classes:
            yield parts.slots_param("map", on[name].cluster.map, 2, ending)
            yield parts.slots_param("reduce", on[name].cluster.reduce, 1, ending)
        if on[name].stage_classes:
            yield parts.slots_param("task", on[name].cluster.task, 4, ending, on[name].cluster.pod_slots)

    yield ""
    yield from parts.observed(gathered, requests=True)

    classes: list[Summary] = [*gathered.classes, *gathered.stage_classes]
    words = dict(zip((each.name for each in classes), parts.words_of(classes), strict=True))

    def more(each: Summary) -> Iterator[str]:
        return _measured_on(each, on, endings, words[each.name] if parts.grows(each) else "")

    yield from _promised(gathered, price, parts.jobs_at_once, samples, more, times=parts.took)


def _measured_on(each: Summary, on: Mapping[str, Gathered], endings: Mapping[str, str], word: str) -> Iterator[str]:
    """Yield the profiles of a class on other types; without one the class cannot run there.

    ``word`` names the param of its input, if it grows with it.
    """
    seen = ["machine"]
    for name, there in on.items():
        classes = there.classes if isinstance(each, JobClass) else there.stage_classes
        same = _same(each, classes)
        if same is None:
            continue
        seen.append(name)
        yield f"  on {parts.name(name)} {{"
        if isinstance(same, JobClass):
            yield from parts.profile(same, word)
            yield f"  slots {{ map = map_slots{endings[name]}, reduce = reduce_slots{endings[name]} }}"
        elif isinstance(same, StageClass):
            yield from parts.stages(same, word=word)
            yield f"  slots {{ task = task_slots{endings[name]} }}"
        yield "  }"
    if len(seen) <= len(on):
        yield f"  types = [{', '.join(map(parts.name, seen))}]  # no logs of the class on other types"


def _same(each: Summary, classes: Sequence[Summary]) -> Summary | None:
    """Return the class of other logs with the name of a class and about its input; its part can have another number."""
    names = {one.name for one in classes}
    near = [one for one in classes if alike(each.read, one.read)]
    parted = [one for one in near if one.read and stem(one.name) == stem(each.name) in names]
    return next((one for one in (*near, *parted) if one.name == each.name), next(iter(parted), None))


def _joint(gathered: Gathered, price: Price | None, samples: str | None) -> Iterator[str]:
    vms = gathered.cluster.vms
    yield f"param size = {vms or 100} vms  # {'as many as the logs name' if vms else 'a guess: the VMs of the cluster'}"
    yield ""
    yield "cluster { size = size, vm_cost = price, period = 1 h }"
    yield ""
    yield "# jobs: none must be admitted; expected are those of the busiest hour"
    yield from _promised(gathered, price, lambda each: f"0..{each.per_hour}")


def _bounds(gathered: Gathered, price: Price | None, samples: str | None) -> Iterator[str]:
    cluster, most = gathered.cluster, sum(each.jobs_high for each in gathered.classes)
    maps, reduces = max(cluster.map.most, most), max(cluster.reduce.most, most)
    slots = f"map = {maps}, reduce = {reduces}"
    if gathered.stage_classes:
        every = sum(each.jobs_high for each in (*gathered.classes, *gathered.stage_classes))
        slots = f"task = {max(cluster.task.most + (maps + reduces if gathered.classes else 0), every)}"
    yield f"cluster {{ slots {{ {slots} }} }}  # the most tasks that the logs show at once"
    classes: list[Summary] = [*gathered.classes, *gathered.stage_classes]
    for each, word in zip(classes, parts.words_of(classes), strict=True):
        yield ""
        yield from parts.comments(each)
        yield f"class {parts.name(each.name)} {{"
        if isinstance(each, JobClass):
            yield from parts.profile(each)
            if samples is not None:
                yield parts.recorded(each, word, samples)
        else:
            assert isinstance(each, StageClass)
            yield from parts.stages(each, None if samples is None else f"{samples}/{word}")
        yield from parts.startup(each)
        yield f"  jobs = {each.jobs_high}"
        yield "}"
    yield ""
    yield "estimate completion"


def _makespan(gathered: Gathered, price: Price | None, samples: str | None) -> Iterator[str]:
    maps, reduces = max(gathered.cluster.map.most, 1), max(gathered.cluster.reduce.most, 1)
    yield f"cluster {{ slots {{ map = {maps}, reduce = {reduces} }} }}  # the most tasks that the logs show at once"
    for each in gathered.classes:
        yield ""
        yield from parts.comments(each)
        yield f"class {parts.name(each.name)} {{"
        yield from parts.profile(each)
        yield f"  jobs = {min(each.runs, LARGEST_BATCH)}  # all of the logs in one batch, {LARGEST_BATCH} at most"
        yield "}"
    yield ""
    yield "minimize makespan"


def _energy(gathered: Gathered, price: Price | None, samples: str | None) -> Iterator[str]:
    words = parts.words_of(gathered.classes)
    yield _price(price)
    yield from _slots(gathered)
    yield "param power = 20 W  # a guess: of one task above idle"
    yield "param block = 128 MB  # a guess: what one map task reads"
    yield "param intermediate = 50%  # a guess: bytes out of the map phase per byte in"
    for each, word in zip(gathered.classes, words, strict=True):
        yield f"param deadline_{word} = {parts.guessed_deadline(each)}  # a guess: twice the longest that it took"
    yield ""
    yield "vm machine {"
    yield "  slots { map = map_slots, reduce = reduce_slots }"
    yield "  on_demand { price = price }"
    yield f"  available = {gathered.cluster.vms or 100}  # {'as the logs name' if gathered.cluster.vms else 'a guess'}"
    yield "}"
    yield ""
    yield "network { speed = 1 Gbit/s, io_power = 20 W }  # a guess"
    for each, word in zip(gathered.classes, words, strict=True):
        yield ""
        yield from parts.comments(each)
        yield f"job {parts.name(each.name)} {{"
        yield f"  map {{ tasks = {each.map_tasks}, block = block }}"
        on = f"map {{ time = {parts.seconds(each.map.average)}, energy = power * {parts.seconds(each.map.average)} }}"
        if each.reduce_tasks and each.reduce is not None:
            time = parts.seconds(each.reduce.average)
            yield f"  reduce {{ tasks = {each.reduce_tasks} }}"
            on += f", reduce {{ time = {time}, energy = power * {time} }}"
        yield "  intermediate = intermediate"
        yield f"  deadline = deadline_{word}"
        yield f"  on machine {{ {on} }}"
        yield "}"
    yield ""
    yield "minimize energy"


def schedule_text(gathered: Gathered, table: str, title: str = "From logs", price: Price | None = None) -> str:
    """Return a spec of the schedule family that reads the jobs of the logs from a table. Raises ValueError without
    jobs.
    """
    if not gathered.classes:
        raise ValueError("these logs have no class for a spec of schedule")
    lines = [
        *parts.head(gathered, price),
        *_unused(gathered, "schedule"),
        f"problem schedule {parts.quoted(title)}",
        "",
        "seed = 1",
        "",
        _price(price),
        *_slots(gathered),
        "",
        "vm machine {",
        "  slots { map = map_slots, reduce = reduce_slots }",
        "  on_demand { price = price }",
        "  billing = 1 h  # a guess",
        "}",
        "",
        f"arrivals from {parts.quoted(table)} {{",
        "  deadline_factor = 2  # a guess: times the shortest possible completion",
        "}",
        "",
        "policy { algorithm = mdasa, instances = on_demand }",
        "",
        "minimize cost",
    ]
    return "\n".join(lines) + "\n"


FAMILIES = MappingProxyType(
    {
        "capacity": _capacity,
        "timetable": _timetable,
        "bounds": _bounds,
        "joint": _joint,
        "makespan": _makespan,
        "energy": _energy,
    }
)
STAGED = ("capacity", "timetable", "joint", "bounds")
