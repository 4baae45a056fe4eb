"""A day of 5,894 jobs under MDASA: mrdsl's counted simulation against plain simpy, and memory over one to eight days.

    python benchmarks/schedule_speed.py TRACE        # the SWIM file FB-2009_samples_24_times_1hr_0.tsv

Both run the same policy on the same jobs, on demand, on one core, in processes of their own. An event is what happens
in the world that is simulated: a job arrives or ends, a task starts or ends, a VM is rented.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "schedule_peers")]

from measure import Case, compare, show  # noqa: E402

from mrdsl.families.schedule.methods.policy import simulation  # noqa: E402
from mrdsl.families.schedule.trace import jobs  # noqa: E402
from mrdsl.language.loading import load_file  # noqa: E402
from mrdsl.spec.schema import Source  # noqa: E402
from mrdsl.spec.spec import Spec  # noqa: E402

DAY = 86_400.0


def spec_of(trace: str) -> Spec:
    """The thesis's setting on a trace, MDASA on demand."""
    spec = load_file(HERE.parent / "models" / "schedule" / "thesis.mrspec").spec
    assert spec is not None
    facts = spec.facts
    arrivals = replace(facts.arrivals, source=Source("swim", trace, trace))
    return replace(spec, facts=replace(facts, arrivals=arrivals, policy=replace(facts.policy, instances="on_demand")))


def days(facts: Any, count: int) -> Iterator[Any]:
    """The day over and over, one job at a time."""
    for day in range(count):
        for job in jobs(facts, day):
            yield replace(job, submit=job.submit + day * DAY, due=job.due + day * DAY)


def run(case: str, trace: str) -> dict[str, float]:
    """One case; gives what was simulated."""
    facts = spec_of(trace).facts
    if case == "simpy":
        from simpy_mdasa import simulate

        machine = facts.vms[0]
        return simulate(
            list(jobs(facts, 1)),
            machine_slots(machine),
            machine.paid_by.period,
            machine.on_demand.price,
            facts.policy.sizing,
        )
    count = int(case)
    seen = simulation(facts, 1, jobs=days(facts, count) if count > 1 else jobs(facts, 1)).run()
    return {
        "jobs": seen.jobs,
        "late": seen.tardy,
        "cost": seen.bill.on_demand,
        "tasks": seen.tasks,
        "rented": seen.rented,
    }


def machine_slots(machine: Any) -> tuple[int, int]:
    """Map and reduce slots of the VM type."""
    return machine.slots.map, machine.slots.reduce


def main(trace: str) -> None:
    """Measures and prints both tables."""

    def case(name: str, what: str) -> Case:
        return Case(name, [sys.executable, __file__, trace, what])

    found = compare([case("simpy, 1 day", "simpy"), case("mrdsl, 1 day", "1")], runs=5, memory=True)
    print(show(found, against="simpy, 1 day"))
    for each in found:
        seen = json.loads(each.output)
        events = 2 * seen["jobs"] + 2 * seen["tasks"] + seen["rented"]
        print(f"{each.name}: {events / each.median:,.0f} events per second, {seen}")
    print()
    print(show(compare([case(f"{count} days", str(count)) for count in (1, 2, 4, 8)], runs=1, memory=True), "1 days"))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(run(sys.argv[2], sys.argv[1])))
    else:
        main(*islice(sys.argv, 1, 2))
