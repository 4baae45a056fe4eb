"""Plans that exports are tried on."""

from __future__ import annotations

import copy
from typing import Any

import mrdsl
from mrdsl.exchange.targets.deployment import Exported, Wishes
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.planning.exporting import export

MACHINES = """
problem capacity "Two kinds", estimates = paper
vm "m5.xlarge" {
  cores = 4
  memory = 16 GiB
  on_demand { price = 0.192 USD/h }
  reserved { price = 0.121 USD/h, available = 3 }
  spot { price = 0.073 USD/h, interruptions = 0.0003/h }
  fee = 0.048 USD/h
}
vm "r5.xlarge" { cores = 4, memory = 32 GiB, on_demand { price = 0.252 USD/h }, fee = 0.063 USD/h }
class clicks {
  map { tasks = 37, avg = 30 s, max = 42 s }
  shuffle { first_max = 11 s, avg = 37 s, max = 40 s }
  reduce { tasks = 16, avg = 22 s, max = 44 s }
  container { map { cores = 1, memory = 2 GiB }, reduce { cores = 1, memory = 6 GiB } }
  jobs = 2..3
  deadline = 5 min
  penalty = 12 USD
  spot = 50%
}
minimize cost
"""
STAGES = """
problem capacity "Stages"
vm "m5.xlarge" { cores = 4, memory = 16 GiB, on_demand { price = 0.192 USD/h } }
class queries {
  stage scan { tasks = 120, avg = 9 s, max = 14 s }
  stage join { tasks = 48, avg = 12 s, max = 20 s, after = [scan] }
  container { task { cores = 1, memory = 4 GiB } }
  jobs = 3
  deadline = 4 min
  penalty = 5 USD
}
class nightly {
  stage read { tasks = 60, avg = 20 s, max = 30 s }
  stage sum { tasks = 20, avg = 15 s, max = 25 s, after = [read] }
  container { task { cores = 2, memory = 8 GiB } }
  jobs = 2
  deadline = 10 min
  penalty = 5 USD
}
minimize cost
"""


def planned(text: str) -> tuple[mrdsl.Spec, CapacityPlan]:
    """The spec in a text and its plan."""
    spec = mrdsl.loads(text)
    plan = mrdsl.solve(spec).plan
    assert isinstance(plan, CapacityPlan)
    return spec, plan


def exported(text: str, form: str, wishes: Wishes | None = None) -> Exported:
    """A text's plan in a form."""
    spec, plan = planned(text)
    return export(spec, plan, form, wishes or Wishes())


def changed(document: dict[str, Any], path: str, value: Any, between: str = "/") -> dict[str, Any]:
    """The document with one value put at a path such as ``spec/executor/0/cores``."""
    copied = copy.deepcopy(document)
    at: Any = copied
    *above, last = (int(key) if key.isdigit() else key for key in path.split(between))
    for key in above:
        at = at[key]
    at[last] = value
    return copied
