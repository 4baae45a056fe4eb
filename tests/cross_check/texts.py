"""Random small specs as text, drawn far outside the papers' ranges: one task, one slot, map-only, huge, equal, tight."""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from random import Random
from types import MappingProxyType

import numpy as np

from mrdsl.language.printing import print_spec
from tests.families.capacity.capacity_oracle import drawn as extremes

TABLE = "#: "
"""What lines of a spec's table begin with: a comment of the spec, and a file for who solves it."""
SCHEDULED = "name,submit [s],map.tasks,map.avg [s],reduce.tasks,shuffle.avg [s],reduce.avg [s],deadline [s]"
ALGORITHMS = ("ndasa", "mdasa", "ep_edf", "ev_edf", "frugal")

WHOLENESS = ("whole = no", "whole = no", "whole = slots")
"""Fractions of slots for most, which every formulation has: P0, P1 and P0-cone answer another question with whole slots."""


def capacity(draw: Random) -> str:
    """One to four classes by profile or by A, B and C; VMs from a hundredth of a cent to ten dollars an hour."""
    price = _number(10 ** draw.uniform(-4, 1))
    reserved = ""
    if draw.random() < 0.6:
        share = draw.choice([0.1, 0.63, 0.999])
        reserved = (
            f"\n  reserved {{ price = {_number(float(price) * share)} USD/h, available = {_pick(draw, 0, 1, 7, 400)} }}"
        )
    lines = [
        'problem capacity "drawn", estimates = paper',
        f"vm m {{\n  on_demand {{ price = {price} USD/h }}{reserved}\n}}",
    ]
    for name in _names(draw, "c", 1, 4):
        high = _pick(draw, 1, 2, 3, 20, 500)
        low = _pick(draw, 0, 0, 1, high // 2, high)
        body, least = _profile(draw) if draw.random() < 0.6 else _coefficients(draw)
        deadline = least + _pick(draw, 0.5, 5.0, 60.0, 600.0, 1e5) * draw.uniform(0.9, 1.1)
        penalty = _pick(draw, 0.0, 1.0, draw.uniform(0.01, 2.0), 300.0) * float(price)
        lines.append(
            f"class {name} {{\n{body}\n  slots {{ map = {_pick(draw, 1, 1, 2, 8)}, reduce = {_pick(draw, 1, 2, 3)} }}"
            f"\n  jobs = {low} .. {high}\n  deadline = {_number(deadline)} s\n  penalty = {_number(penalty)} USD\n}}"
        )
    return _text(*lines, str(_pick(draw, *WHOLENESS)), "minimize cost")


def extreme(draw: Random) -> str:
    """Capacity with 1 to 100,000 tasks of a tenth of a second to 1,000 s, and deadlines from tight to idle."""
    text = print_spec(extremes(np.random.default_rng(draw.getrandbits(32)), draw.choice([0, 1])))
    return text.replace("whole = no", str(_pick(draw, *WHOLENESS)))


def stages(draw: Random) -> str:
    """Classes of one to six stages, and of phases at times, in each family that has them; joint's keep their deadlines."""
    problem = _pick(draw, "capacity", "bounds", "joint")
    lines = [f'problem {problem} "drawn", estimates = paper']
    lines += {
        "capacity": ["vm m {\n  on_demand { price = 0.2 USD/h }\n  reserved { price = 0.1 USD/h, available = 7 }\n}"],
        "joint": [f"cluster {{ size = {_pick(draw, 5, 20, 30)} vms, vm_cost = 2 cent/h }}"],
    }.get(str(problem), [])
    for name in _names(draw, "c", 1, 2):
        body, least = _dag(draw) if problem == "joint" or draw.random() < 0.85 else _profile(draw)
        slots = f"task = {_pick(draw, 1, 2, 5)}" if "stage" in body else "map = 2, reduce = 1"
        deadline = least + _pick(draw, 0.5, 5.0, 60.0, 2000.0) * draw.uniform(0.9, 1.1)
        ends = [f"  deadline = {_number(deadline)} s", f"  guarantee = {_pick(draw, 'lower', 'average', 'upper')}"]
        if problem == "bounds":
            ends.append(f"  jobs = {_pick(draw, 1, 2, 9)}")
        else:
            high = _pick(draw, 1, 2, 5)
            ends += [f"  slots {{ {slots} }}", f"  jobs = {_pick(draw, 0, 0, 1)} .. {high}"]
            ends.append(
                f"  penalty = {_number(10 ** draw.uniform(-2, 0))} {'USD' if problem == 'capacity' else 'cent'}"
            )
        lines.append("\n".join([f"class {name} {{", body, *ends, "}"]))
    if problem == "capacity":
        lines.append(str(_pick(draw, *WHOLENESS)))
    return _text(*lines, f"minimize {'slots' if problem == 'bounds' else 'cost'}")


def schedule(draw: Random) -> str:
    """Two or three jobs of a few seconds on VMs paid by short periods; the jobs' table stands in comments."""
    table, at = [SCHEDULED], 0
    for i in range(draw.randint(1, 3)):
        at += draw.randint(0, 4)
        maps, map_time, reduces, reduce_time = draw.randint(1, 3), draw.randint(1, 4), draw.randint(0, 1), 0
        reduce_time = draw.randint(1, 3) if reduces else 0
        due = (map_time + reduce_time) * draw.choice([1, 1, 2, 3]) + draw.randint(0, 3)
        table.append(f"j{i},{at},{maps},{map_time},{reduces},0,{reduce_time},{due}")
    kinds = _pick(draw, "on_demand", "on_demand", "spot", "hybrid")
    return (
        _text(
            'problem schedule "drawn"',
            *(f"{TABLE}{row}" for row in table),
            f"seed = {draw.randint(1, 999)}",
            f"vm m {{\n  slots {{ map = {_pick(draw, 1, 2)}, reduce = 1 }}\n  on_demand {{ price = 0.07 USD/h }}"
            "\n  spot { price = choice([0.01 USD/h, 0.03 USD/h, 0.2 USD/h]), every = 4 s }"
            f"\n  billing {{ period = {_pick(draw, 2, 6, 10)} s, broken_period = {_pick(draw, 'free', 'paid')} }}"
            f"\n  boot = {_pick(draw, 0, 0, 2)} s\n}}",
            'arrivals from "jobs.csv" {}',
            f"policy {{ algorithm = ALGORITHM, instances = {kinds}, epoch = 2 s, tardy_share = TARDY_SHARE }}",
            "minimize cost",
        )
        .replace("ALGORITHM", _pick(draw, *ALGORITHMS))
        .replace("TARDY_SHARE", _pick(draw, "0%", "40%"))
    )  # type: ignore[arg-type]


def bounds(draw: Random) -> str:
    """Slots for deadlines by each estimate."""
    lines = ['problem bounds "drawn", estimates = paper']
    for name in _names(draw, "c", 1, 3):
        body, least = _profile(draw)
        guarantee = _pick(draw, "lower", "average", "upper", "waves", "waves", "fractional_waves")
        deadline = least + _pick(draw, 5.0, 60.0, 600.0, 1e4) * draw.uniform(0.9, 1.1)
        lines.append(
            f"class {name} {{\n{body}\n  jobs = {_pick(draw, 1, 1, 2, 9)}\n  deadline = {_number(deadline)} s"
            f"\n  guarantee = {guarantee}\n}}"
        )
    return _text(*lines, "minimize slots")


def joint(draw: Random) -> str:
    """One or two classes and services on a cluster that may be too small or far too large, shared or split."""
    size = _pick(draw, 1, 3, 8, 30, 500)
    sharing = _pick(draw, "shared", "shared", "partitioned")
    at_once = _pick(
        draw,
        "concurrency = whole",
        "concurrency = whole",
        "concurrency = fractional",
        "concurrency = fractional, reuse = floor",
    )
    cluster = [
        f"  size = {size} vms",
        f"  vm_cost = {_number(10 ** draw.uniform(-2, 1))} cent/h",
        "  period = 1 h",
        f"  sharing = {sharing}",
        f"  {at_once}",
    ]
    lines = ['problem joint "drawn", estimates = paper', "cluster {\n" + "\n".join(cluster) + "\n}"]
    for name in _names(draw, "c", 1 if sharing == "partitioned" else 0, 2):
        a, b, c = draw.uniform(1, 3000), draw.uniform(1, 3000), draw.uniform(0, 200)
        high = _pick(draw, 0.4, 1.0, 2.0, 7.5)
        low = high * _pick(draw, 0.0, 0.5, 1.0)
        deadline = c + _pick(draw, 60.0, 600.0, 3000.0) * draw.uniform(0.9, 1.1)
        lines.append(
            f"class {name} {{\n  coefficients {{ A = {_number(a)} s, B = {_number(b)} s, C = {_number(c)} s }}"
            f"\n  slots {{ map = {_pick(draw, 1, 2, 5)}, reduce = {_pick(draw, 1, 2, 5)} }}"
            f"\n  jobs = {_number(low)} .. {_number(high)}\n  deadline = {_number(deadline)} s"
            f"\n  penalty = {_number(10 ** draw.uniform(-2, 2))} cent\n}}"
        )
    for name in _names(draw, "s", 1, 2):
        speed, delay = draw.uniform(1, 30), _pick(draw, 0.01, 0.2)
        response = delay + _pick(draw, 1.05, 2.0, 20.0) / speed
        high = speed * _pick(draw, 0.1, 1.0, 3.3)
        low = high * _pick(draw, 0.0, 0.5, 1.0)
        lines.append(
            f"service {name} {{\n  rate = {_number(low)}/s .. {_number(high)}/s\n  service_rate = {_number(speed)}/s"
            f"\n  delay = {_number(delay)} s\n  response = {_number(response)} s"
            f"\n  penalty = {_number(10 ** draw.uniform(-4, 0))} cent\n}}"
        )
    return _text(*lines, "whole = no", "minimize cost")


def energy(draw: Random) -> str:
    """One job on a few machines, with deadlines and budgets from hopeless to idle, for any of the three goals."""
    types = [
        (name, _pick(draw, 1, 1, 2, 3), _number(draw.uniform(0.01, 0.3)), _pick(draw, 1, 1, 2))
        for name in _names(draw, "v", 1, 2)
    ]
    lines = ['problem energy "drawn"']
    lines += [
        f"vm {n} {{\n  slots {{ map = {s}, reduce = {s} }}\n  on_demand {{ price = {p} USD/h }}\n  available = {a}\n}}"
        for n, s, p, a in types
    ]
    lines.append(f"network {{ speed = {_pick(draw, 1, 1, 10)} Gbit/s, io_power = {_pick(draw, 0, 20)} W }}")
    maps, reduces = _pick(draw, 1, 2, 4, 5), _pick(draw, 0, 0, 1, 3)
    block = _pick(draw, 0, 64, 1000)
    body = [f"  map {{ tasks = {maps}, block = {block} MB }}", f"  reduce {{ tasks = {reduces} }}"]
    if reduces:
        body.append(f"  intermediate = {_pick(draw, 0, 50, 200)}%")
    body += _maybe(draw, f"  deadline = {_number(_pick(draw, 10.0, 60.0, 150.0, 1000.0) * draw.uniform(0.9, 1.1))} s")
    body += _maybe(draw, f"  budget = {_number(_pick(draw, 0.02, 0.2, 1.0) * draw.uniform(0.5, 1.5))} cent")
    for name, *_ in types:
        reduce = f", reduce {{ time = {draw.randint(1, 50)} s, energy = {draw.randint(1, 99)} J }}" if reduces else ""
        body.append(
            f"  on {name} {{ map {{ time = {draw.randint(1, 50)} s, energy = {draw.randint(1, 99)} J }}{reduce} }}"
        )
    lines.append("job j {\n" + "\n".join(body) + "\n}")
    return _text(*lines, f"minimize {_pick(draw, 'energy', 'energy', 'cost', 'uptime')}")


def deadline(draw: Random) -> str:
    """A DAG of one to six tasks, from far too tight to far too loose."""
    tasks, ends = [], {}
    for i in range(draw.randint(1, 6)):
        duration = _pick(draw, 0.0, 1.0, 20.0, draw.uniform(0.1, 100.0))
        after = sorted(draw.sample(sorted(ends), draw.randint(0, min(len(ends), 2))))
        ends[f"t{i}"] = duration + max((ends[other] for other in after), default=0.0)
        order = f", after = [{', '.join(after)}]" if after else ""
        weight = f", weight = {_pick(draw, 1, 5)}" if draw.random() < 0.3 else ""
        tasks.append(f"  task t{i} {{ duration = {_number(duration)} s{weight}{order} }}")
    allowed = max(max(ends.values()), 0.1) * _pick(draw, 0.9, 1.001, 1.2, 3.0, 100.0)
    body = "\n".join([f"  allowable_delay = {_number(allowed)} s", *tasks])
    goals = ["slack", "slack", "min_slack"] + ["slack_ratio"] * any(ends.values())
    return _text('problem deadline "drawn"', f"dag d {{\n{body}\n}}", f"maximize {_pick(draw, *goals)}")


def makespan(draw: Random) -> str:
    """One to four jobs in whole seconds, some map-only, on one to three slots of a kind."""
    lines = [
        'problem makespan "drawn"',
        f"cluster {{ slots {{ map = {_pick(draw, 1, 1, 2, 3)}, reduce = {_pick(draw, 1, 1, 2)} }} }}",
    ]
    for name in _names(draw, "j", 1, 4):
        second = f", reduce {{ tasks = {_pick(draw, 1, 2, 3)}, time = {_pick(draw, 1, 2, 7)} s }}"
        lines.append(
            f"job {name} {{ map {{ tasks = {_pick(draw, 1, 1, 2, 4)}, time = {_pick(draw, 1, 3, 5, 8)} s }}"
            f"{second if draw.random() < 0.8 else ''} }}"
        )
    return _text(*lines, "minimize makespan")


def hybrid(draw: Random) -> str:
    """One or two queues on one VM type over a short horizon."""
    lines = [
        'problem hybrid "drawn"',
        f"seed = {draw.randint(1, 999)}",
        f"horizon = {_pick(draw, 20, 60)} slots",
        f"vm v {{ available = {_pick(draw, 1, 5, 40)}, preemption_cost = {_pick(draw, 0.1, 1.0)} USD }}",
    ]
    for name in _names(draw, "q", 1, 2):
        size, mean = _pick(draw, 1, 1, 3), _pick(draw, 1, 2, 6)
        lines.append(
            f"queue {name} {{ vm = v, size = {size} slots, delay = {_pick(draw, 4, 12, 20, 300)} slots, "
            f"arrivals = poisson({mean}), arrivals_max = {mean * 3}, outsourcing = {_pick(draw, 1.0, 9.5)} USD }}"
        )
    lines.append(
        f"control {{ V = {_pick(draw, 0.1, 2, 50)}, preemption_weight = 1.0, acceptance = {_pick(draw, 50, 95, 100)}%, "
        f"outsource_limit = {_pick(draw, 20, 60, 900)} }}"
    )
    return _text(*lines, "minimize cost")


DRAWN: Mapping[str, Callable[[Random], str]] = MappingProxyType(
    {
        "capacity": capacity,
        "capacity, extreme": extreme,
        "bounds": bounds,
        "joint": joint,
        "stages": stages,
        "energy": energy,
        "deadline": deadline,
        "makespan": makespan,
        "hybrid": hybrid,
        "schedule": schedule,
    }
)
"""Every family, capacity once more far outside what any paper measures, and classes of stages."""


def _profile(draw: Random) -> tuple[str, float]:
    """A profile, and a time that no deadline can be below: the longest task of each phase in turn."""
    tasks, avg = _pick(draw, 1, 2, 5, 60, 3000), draw.uniform(0.5, 60.0)
    longest = avg * _pick(draw, 1.0, 1.3, 4.0)
    lines, least = [f"  map {{ tasks = {tasks}, avg = {_number(avg)} s, max = {_number(longest)} s }}"], 2.0 * longest
    if draw.random() < 0.75:
        shuffle, reduce = draw.uniform(0.5, 30.0), draw.uniform(0.5, 30.0)
        more = _pick(draw, 1.0, 1.5)
        lines.append(
            f"  shuffle {{ first_avg = {_number(shuffle)} s, first_max = {_number(shuffle * more)} s, "
            f"avg = {_number(shuffle)} s, max = {_number(shuffle * more)} s }}"
        )
        lines.append(
            f"  reduce {{ tasks = {_pick(draw, 1, 2, 40)}, avg = {_number(reduce)} s, max = {_number(reduce * more)} s }}"
        )
        least += 3.0 * shuffle * more + 2.0 * reduce * more
    return "\n".join(lines), least


def _dag(draw: Random) -> tuple[str, float]:
    """Stages, each after some before it, and a time that no deadline can be below: three longest tasks of each."""
    lines, least = [], 0.0
    for number in range(draw.randint(1, 6)):
        avg = draw.uniform(0.5, 60.0)
        longest = avg * _pick(draw, 1.0, 1.3, 4.0)
        least += 3.0 * float(f"{longest:.3f}")
        after = [f"s{other}" for other in range(number) if draw.random() < 0.5]
        order = f", after = [{', '.join(after)}]" if after else ""
        lines.append(
            f"  stage s{number} {{ tasks = {_pick(draw, 1, 2, 5, 60, 3000)}, avg = {_number(avg)} s, "
            f"max = {_number(longest + 0.001)} s{order} }}"
        )
    return "\n".join(lines), least + 0.1


def _coefficients(draw: Random) -> tuple[str, float]:
    c = draw.uniform(0, 200)
    return (
        f"  coefficients {{ A = {_number(10 ** draw.uniform(0, 4))} s, B = {_number(10 ** draw.uniform(0, 4))} s, "
        f"C = {_number(c)} s }}",
        c,
    )


def _names(draw: Random, letter: str, least: int, most: int) -> list[str]:
    return [f"{letter}{i}" for i in range(draw.randint(least, most))]


def _pick(draw: Random, *values: object) -> object:
    return draw.choice(values)


def _maybe(draw: Random, line: str) -> list[str]:
    return [line] if draw.random() < 0.6 else []


def _number(value: float) -> str:
    """A number in digits, without an exponent, not rounded to zero."""
    digits = 3
    while value and round(value, digits) < abs(value) * 0.999 and digits < 12:
        digits += 1
    text = f"{ceil(value * 10**digits) / 10**digits:.{digits}f}".rstrip("0").rstrip(".")
    return text or "0"


def _text(*blocks: str) -> str:
    return "\n".join(blocks) + "\n"
