"""The instances of :mod:`studies.joint_instances` as spec files, with tables for the large ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import mrdsl
from mrdsl.core.csv_text import csv_text
from mrdsl.core.result import Table
from mrdsl.core.units import HOUR
from mrdsl.core.writer import write_text
from mrdsl.families.joint.facts import JobClass, Service
from mrdsl.families.joint.workload import workload
from mrdsl.spec.spec import Spec
from studies.joint_cluster_sizes import compare
from studies.joint_instances import CURRENCY, LARGE, SMALL, instance

SHARE = 0.85
_CLASS_COLUMNS = (
    "name",
    "map.tasks",
    "map.avg [s]",
    "map.max [s]",
    "shuffle.first_max [s]",
    "shuffle.avg [s]",
    "shuffle.max [s]",
    "reduce.tasks",
    "reduce.avg [s]",
    "reduce.max [s]",
    "slots.map",
    "slots.reduce",
    "jobs",
    "deadline [s]",
    f"penalty [{CURRENCY}]",
    "shift [h]",
)
_SERVICE_COLUMNS = (
    "name",
    "rate [1/s]",
    "service_rate [1/s]",
    "delay [s]",
    "response [s]",
    f"penalty [{CURRENCY}]",
    "shift [h]",
)


def write_instances(output: Path, number: int = 1) -> Iterator[Table]:
    """Writes instance ``number`` of S1 to S5 and L1 to L5 as ``S1.mrspec`` to ``L5.mrspec``."""
    rows = []
    for family in (*SMALL, *LARGE):
        files = texts(family, number)
        for name, text in files.items():
            write_text(output / name, text)
        rows.append((family, ", ".join(files)))
    yield Table("Instances", ("instance", "files"), rows)


def texts(family: str, number: int) -> Mapping[str, str]:
    """The files of one instance, by name: numbers to six digits, on 85 % of V_max."""
    spec = instance(family, number)
    run = compare(workload(spec))
    size = round(SHARE * run.without_rejections)
    if family in SMALL:
        body = "\n".join([*map(_class, spec.facts.classes), *map(_service, spec.facts.services)])
        return {f"{family}.mrspec": mrdsl.fmt(_head(spec, family, number, size) + body + _TAIL)}
    body = f'classes from "{family}_classes.csv"\nservices from "{family}_services.csv"\n'
    return {
        f"{family}.mrspec": mrdsl.fmt(_head(spec, family, number, size) + body + _TAIL),
        f"{family}_classes.csv": csv_text(_CLASS_COLUMNS, [_class_row(one) for one in spec.facts.classes]),
        f"{family}_services.csv": csv_text(_SERVICE_COLUMNS, [_service_row(one) for one in spec.facts.services]),
    }


_TAIL = "\nminimize cost\n"


def _head(spec: Spec, family: str, number: int, size: int) -> str:
    demand, cluster = spec.facts.demand, spec.facts.cluster
    return f'''# Instance {number} of {family}, drawn from the ranges of Cano et al., section 4.1.1, on 85 % of V_max.
# Written by: python -m studies joint-instances --set number={number}
problem joint "{family}: a day of classes and services from different time zones"

seed  = {spec.seed}
whole = no         # slots are fractions, as in the paper
estimates = paper  # equations (1) to (3)

cluster {{
  size    = {size} vms
  vm_cost = {_number(cluster.vm_cost * HOUR)} {CURRENCY}/h
  period  = 1 h
  sharing = shared                 # or: partitioned
  reuse = paper                    # jobs take the whole of their deadline
}}

demand {{ periods = {demand.periods}, day = {demand.day}, floor = {_number(100 * demand.floor)}%, noise = {
        _number(100 * demand.noise)
    }% }}

'''


def _class(one: JobClass) -> str:
    _, maps, map_avg, map_max, first, avg, longest, reduces, reduce_avg, reduce_max, *rest = _class_row(one)
    slots_map, slots_reduce, jobs, deadline, penalty, shift = rest
    return f"""class {one.name} {{
  map     {{ tasks = {maps}, avg = {map_avg} s, max = {map_max} s }}
  shuffle {{ first_max = {first} s, avg = {avg} s, max = {longest} s }}
  reduce  {{ tasks = {reduces}, avg = {reduce_avg} s, max = {reduce_max} s }}
  slots   {{ map = {slots_map}, reduce = {slots_reduce} }}
  jobs     = {jobs}
  deadline = {deadline} s
  penalty  = {penalty} {CURRENCY}
  shift    = {shift} h
}}
"""


def _service(one: Service) -> str:
    _, rate, service_rate, delay, response, penalty, shift = _service_row(one)
    return f"""service {one.name} {{
  rate         = {rate}/s
  service_rate = {service_rate}/s
  delay        = {delay} s
  response     = {response} s
  penalty      = {penalty} {CURRENCY}
  shift        = {shift} h
}}
"""


def _class_row(one: JobClass) -> list[str]:
    m, s, r = one.map, one.shuffle, one.reduce
    assert m is not None
    assert s is not None
    assert r is not None
    assert one.jobs is not None
    assert one.slots is not None
    assert one.slots.map is not None
    assert one.slots.reduce is not None
    numbers = (
        m.tasks,
        m.avg,
        m.max,
        s.first_max,
        s.avg,
        s.max,
        r.tasks,
        r.avg,
        r.max,
        one.slots.map,
        one.slots.reduce,
        one.jobs.high,
        one.deadline,
        one.penalty,
        one.shift / HOUR,
    )
    return [one.name, *map(_number, numbers)]


def _service_row(one: Service) -> list[str]:
    assert one.rate is not None
    numbers = (one.rate.high, one.service_rate, one.delay, one.response, one.penalty, one.shift / HOUR)
    return [one.name, *map(_number, numbers)]


def _number(value: float) -> str:
    """Six digits, without a bare point or an exponent where none is needed."""
    return f"{value:.6g}"
