"""The offline optimum: against enumeration, on two solvers, and as a bound that no policy beats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.contracts.pipeline import Draft
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.core.result import Termination
from mrdsl.families.schedule.facts import Arrivals, Spot
from mrdsl.families.schedule.methods.policy import run_policy
from mrdsl.families.schedule.models import instance_of
from mrdsl.families.schedule.plan import SchedulePlan
from mrdsl.planning.solve_spec import solve
from mrdsl.simulation.fleet import Job
from mrdsl.spec.schema import Distribution, Source
from mrdsl.spec.spec import Spec
from tests.families.schedule.schedule_specs import spec, vm, with_policy

PRICES = Distribution("choice", ((0.01 / 3600, 0.03 / 3600, 0.2 / 3600),))
ALGORITHMS = ("ndasa", "mdasa", "ep_edf", "ev_edf", "frugal")


def small(
    folder: Path,
    jobs: list[Job],
    billing: float,
    instances: str,
    slots: tuple[int, int] = (1, 1),
    broken: str = "free",
    seed: int = 3,
    **policy: float,
) -> Spec:
    rows = ["name,submit [s],map.tasks,map.avg [s],reduce.tasks,shuffle.avg [s],reduce.avg [s],deadline [s]"]
    rows += [
        f"{j.name},{j.submit},{j.map_tasks},{j.map_time},{j.reduce_tasks},{j.shuffle_time},{j.reduce_time},"
        f"{j.due - j.submit}"
        for j in jobs
    ]
    file = folder / "jobs.csv"
    file.write_text("\n".join(rows) + "\n")
    machine = vm(*slots, billing=billing, broken_period=broken, spot=Spot(price=PRICES, every=4.0))
    return spec(
        Arrivals(source=Source("table", str(file), "jobs.csv")),
        machine,
        seed=seed,
        instances=instances,
        epoch=2.0,
        **policy,
    )


def random_jobs(seed: int, most: int = 3) -> list[Job]:
    random = np.random.RandomState(seed)
    found = []
    for i, at in enumerate(sorted(random.randint(0, 8, random.randint(2, most + 1)))):
        maps, map_time, reduces = random.randint(1, 4), random.randint(1, 4), random.randint(0, 2)
        reduce_time = random.randint(1, 3) if reduces else 0
        least = map_time + reduce_time
        due = at + random.randint(least, 3 * least + 1)
        found.append(Job(f"j{i}", float(at), float(due), maps, float(map_time), reduces, 0.0, float(reduce_time)))
    return found


@pytest.mark.parametrize("instances", ["on_demand", "spot", "hybrid"])
@pytest.mark.parametrize("seed", range(5))
def test_no_policy_beats_the_offline_optimum(tmp_path: Path, seed: int, instances: str) -> None:
    broken = "paid" if seed < 2 else "free"
    one = small(tmp_path, random_jobs(seed), 10.0, instances, slots=(1 + seed % 2, 1), broken=broken)
    bounds: dict[int, float] = {}
    for algorithm in ALGORITHMS:
        plan = run_policy(Draft(with_policy(one, algorithm=algorithm), seed=3)).plan
        assert isinstance(plan, SchedulePlan)
        if plan.jobs.tardy not in bounds:
            result = solve(with_policy(one, tardy_share=plan.jobs.tardy_share), formulation="offline")
            assert result.termination is Termination.OPTIMAL
            assert result.objective.value is not None
            bounds[plan.jobs.tardy] = result.objective.value
        assert plan.finished <= instance_of(with_policy(one, tardy_share=plan.jobs.tardy_share)).horizon
        assert plan.cost.total >= bounds[plan.jobs.tardy] * (1 - 1e-6)
    assert all(bounds[a] >= bounds[b] * (1 - 1e-6) for a in bounds for b in bounds if a < b)


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for i, part in enumerate(rest):
            yield [*rest[:i], [items[0], *part], *rest[i + 1 :]]


def by_enumeration(jobs: list[Job], period: float, price: float) -> float:
    """Every start of every task, every way of sharing VMs with one map slot; map-only jobs, all in time."""
    tasks = [job for job in jobs for _ in range(job.map_tasks)]
    best = float("inf")
    choices = [np.arange(job.submit, job.due - job.map_time + 0.5) for job in tasks]
    groups = list(partitions(list(range(len(tasks)))))
    for starts in product(*choices):
        for parts in groups:
            periods = 0
            for part in parts:
                runs = sorted((starts[i], starts[i] + tasks[i].map_time) for i in part)
                if any(end > begin for (_, end), (begin, _) in pairwise(runs)):
                    break
                periods += int(np.ceil((runs[-1][1] - runs[0][0]) / period))
            else:
                best = min(best, periods * period * price)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_on_demand_optimum_by_enumeration(tmp_path: Path, seed: int) -> None:
    random = np.random.RandomState(seed)
    jobs = []
    for i, at in enumerate(sorted(random.randint(0, 6, 3))):
        time = random.randint(1, 4)
        jobs.append(Job(f"j{i}", float(at), float(at + time + random.randint(0, 4)), 1 + int(i == 0), float(time)))
    period = float(random.choice([2, 5]))
    result = solve(small(tmp_path, jobs, period, "on_demand"), formulation="offline")
    assert result.objective.value == pytest.approx(by_enumeration(jobs, period, 0.07 / 3600))


def test_the_offline_optimum_lets_the_market_break_off_a_free_period(tmp_path: Path) -> None:
    """One task of 4 s, due in time for it alone. The price is highest from 4 s on: with free broken periods the bid at
    0 s costs nothing; where they are paid, one period at the price of 0 s does, and for a task of 6 s it always does.
    """

    def at(seed: int, broken: str, length: float) -> Spec:
        return small(tmp_path, [Job("j", 0.0, length, 1, length)], 10.0, "spot", broken=broken, seed=seed)

    def price(seed: int) -> tuple[float, ...]:
        prices = instance_of(at(seed, "free", 6.0)).prices
        assert prices is not None
        return prices.prices

    seed = next(seed for seed in range(99) if price(seed)[0] < price(seed)[1] == 0.2 / 3600)
    for broken, length, factor in (("free", 4.0, 0.0), ("paid", 4.0, 1.0), ("free", 6.0, 1.0)):
        one = at(seed, broken, length)
        value = solve(one, formulation="offline").objective.value
        assert value == pytest.approx(factor * 10.0 * price(seed)[0])


@pytest.mark.parametrize("seed", [1, 2])
def test_two_solvers_agree(tmp_path: Path, seed: int) -> None:
    one = small(tmp_path, random_jobs(seed), 10.0, "hybrid", tardy_share=0.4)
    values = [solve(one, solver=name, formulation="offline").objective.value for name in ("highs", "scip")]
    assert values[0] == pytest.approx(values[1])
    assert solve(one, formulation="offline", relax=True).objective.value <= values[0] + 1e-9  # type: ignore[operator]


def test_what_is_no_small_instance_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MrdslError) as refused:
        solve(spec(), formulation="offline")
    assert refused.value.diagnostics[0].code == "off-grid"
    many = [Job(f"j{i}", float(60 * i), 60.0 * i + 50, 1, 10.0) for i in range(501)]
    with pytest.raises(MrdslError) as refused:
        solve(small(tmp_path, many, 3600.0, "on_demand"), formulation="offline")
    assert refused.value.diagnostics[0].code == "too-large"
    assert replace(spec(), seed=1) != spec()


@pytest.mark.parametrize(
    ("instances", "deadline", "time"), [("on_demand", 1e14, 10.0), ("hybrid", 1e14, 10.0), ("hybrid", 3e9, 1e9)]
)
def test_jobs_that_last_for_ages_are_refused_before_prices_are_drawn(
    instances: str, deadline: float, time: float
) -> None:
    """30 million years of prices, one every five minutes, would fill the memory."""
    text = (resource("models") / "schedule" / "reference.mrspec").read_text(encoding="utf-8")
    text = text[: text.index("class report")] + text[text.index("# Jobs of a trace") :]
    text = text.replace("instances = hybrid", f"instances = {instances}")
    text += f"class a {{ rate = 1/h, map {{ tasks = 1, avg = {time} s, max = {time} s }}, deadline = {deadline} s }}\n"
    with pytest.raises(MrdslError) as refused:
        instance_of(mrdsl.loads(text))
    assert [d.code for d in refused.value.diagnostics] == ["too-large"]
