"""Plans of makespan, deadline and energy run with drawn times, each beside a second way to the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.core.result import Outcome, Result
from mrdsl.families.makespan.schedule import batch_of
from mrdsl.families.makespan.simulate import _Sequence
from mrdsl.simulation.drawn import Factors, drawing
from mrdsl.simulation.engine.draws import Spread as Times
from mrdsl.simulation.engine.draws import TaskTimes
from mrdsl.simulation.engine.scenario import JobClass, QueueRule, Scenario, Users, run_once
from mrdsl.simulation.engine.world import JobKind, Machines, Stage
from mrdsl.simulation.settings import Settings
from mrdsl.spec.spec import Spec
from tests.command_lines import run_here

MODELS = Path(str(resource("models")))
DEADLINE = (MODELS / "deadline" / "reference.mrspec").read_text()
ENERGY = (MODELS / "energy" / "reference.mrspec").read_text()
WIDE = "\nsimulation { distribution = lognormal, longest = 2.5, stragglers { share = 5%, factor = 3 } }\n"


LIMITED = """problem makespan "limited"
cluster { slots { map = 2, reduce = 1 } }
job J0 { map { tasks = 2, time = 3 s }, reduce { tasks = 1, time = 2 s } }
job J1 { map { tasks = 2, time = 2 s } }
minimize makespan
subject to { makespan <= 5 s, finish(J1) <= 100 s }
"""


def plan_of(result: Result[Any]) -> Any:
    assert result.plan is not None
    return result.plan


def factors_in(spec: Spec, settings: Settings) -> Factors:
    return drawing(spec, settings, 0, slowstart="", lose="", once="").factors


def batch(seed: int, jobs: int = 4, slots: int = 5) -> str:
    random = np.random.RandomState(seed)
    lines = [f'problem makespan "drawn {seed}"', f"cluster {{ slots {{ map = {slots}, reduce = {slots - 1} }} }}"]
    for j in range(jobs):
        m, r, t, u = (int(n) for n in random.randint(1, 9, 4))
        lines.append(f"job J{j} {{ map {{ tasks = {m}, time = {t} s }}, reduce {{ tasks = {r}, time = {u} s }} }}")
    return "\n".join([*lines, "minimize makespan"])


@pytest.mark.parametrize("solver", ["fifo", "johnson", "balanced-pools", "slot-search", "highs"])
def test_a_batch_whose_times_do_not_spread_is_the_plan(solver: str) -> None:
    for seed in range(1 if solver == "highs" else 4):
        spec = mrdsl.loads(batch(seed, *((3, 4) if solver == "highs" else (5, 5))))
        plan = plan_of(mrdsl.simulate(mrdsl.solve(spec, solver), runs=2))
        assert plan.whole.mean == plan.makespan
        assert plan.whole.p99 == plan.makespan
        if solver in ("fifo", "johnson", "balanced-pools"):
            assert {name: seen.mean for name, seen in plan.observed.items()} == {
                name: times.finish for name, times in plan.jobs.items()
            }


def test_a_batch_with_drawn_times_ends_as_counted_second_by_second() -> None:
    """Slots are looked at whenever a task ends: a map slot takes the first job's, a reduce slot the first mapped's."""
    for seed in range(6):
        spec = mrdsl.loads(batch(seed) + WIDE)
        solved = mrdsl.solve(spec, "balanced-pools" if seed % 2 else "johnson")
        settings, plan, drawn = Settings(seed=seed), plan_of(solved), batch_of(spec)
        sequence = _Sequence(drawn, plan)
        factors = factors_in(spec, settings)
        for run in range(3):
            times = [[sequence._times(factors, run, j, kind).tolist() for kind in ("map", "reduce")] for j in range(4)]
            ended: dict[int, float] = {}
            for pool in plan.pools:
                order = [drawn.names.index(name) for name in pool.order]
                ended |= _second_by_second(order, times, pool.map_slots, pool.reduce_slots)
            assert dict(enumerate(sequence.run(factors, run).finish.tolist())) == ended


def _second_by_second(order: list[int], times: list[list[list[float]]], maps: int, reduces: int) -> dict[int, float]:
    left = {j: [list(phase) for phase in times[j]] for j in order}
    running: list[tuple[float, int, int]] = []
    free, mapped, ended, now = [maps, reduces], {}, {}, 0.0
    while running or any(any(phases) for phases in left.values()):
        for kind in (0, 1):
            turn = order if kind == 0 else sorted(mapped, key=lambda j: (mapped[j], order.index(j)))
            for j in turn:
                while free[kind] and left[j][kind]:
                    free[kind] -= 1
                    running.append((now + left[j][kind].pop(0), j, kind))
        now = min(end for end, _, _ in running)
        for end, j, kind in [each for each in running if each[0] == now]:
            running.remove((end, j, kind))
            free[kind] += 1
            ended[j] = now
            if kind == 0 and not left[j][0] and not any(k == 0 and i == j for _, i, k in running):
                mapped[j] = now
    return ended


def test_a_limit_on_a_job_is_a_promise() -> None:
    result = mrdsl.simulate(mrdsl.loads(LIMITED + WIDE), runs=40)
    assert plan_of(result).outcomes() == {"makespan": Outcome.BROKEN, "finish(J1)": Outcome.KEPT}
    assert [d.code for d in result.diagnostics] == ["promise-broken"]


@pytest.mark.parametrize(
    ("limits", "promised"),
    [
        ("5 s >= makespan", {"makespan": 5.0}),
        ("max(finish(J0), finish(J1)) <= 5 s", {"J0": 5.0, "J1": 5.0}),
        ("5 s >= max(finish(J0), makespan)", {"J0": 5.0, "makespan": 5.0}),
        ("finish(J0) <= 30 s / 6; finish(J1) >= 1 s", {"J0": 5.0}),
        ("makespan <= 1 h; makespan <= 5 s; 10 s >= makespan", {"makespan": 5.0}),
    ],
)
def test_every_form_of_a_limit_is_a_promise_and_told_where_it_is_tightest(
    limits: str, promised: dict[str, float]
) -> None:
    text = LIMITED.replace("makespan <= 5 s, finish(J1) <= 100 s", limits.replace("; ", ",\n"))
    result = mrdsl.simulate(mrdsl.loads(text + WIDE), runs=40)
    plan = plan_of(result)
    seen = {"makespan": plan.whole} | dict(plan.observed)
    assert {name: each.verdict.wanted for name, each in seen.items() if each.verdict is not None} == promised
    told = [text.splitlines()[each.span.line - 1] for each in result.diagnostics if each.span is not None]
    broken = [each for each in seen.values() if each.verdict is not None and each.verdict.outcome is not Outcome.KEPT]
    assert broken
    assert len(told) == len(broken)
    assert all("5 s" in line or "30 s / 6" in line for line in told)


@pytest.mark.parametrize("name", ["the batch", "makespan"])
def test_a_job_by_whatever_name_leaves_the_batch_its_verdict(name: str) -> None:
    text = LIMITED.replace(", finish(J1) <= 100 s", "") + WIDE
    plan = plan_of(mrdsl.simulate(mrdsl.loads(text.replace("job J1", f'job "{name}"')), runs=40))
    assert name in plan.observed
    assert plan.outcomes() == {"makespan": Outcome.BROKEN}


def test_a_job_by_whatever_name_leaves_another_job_its_verdict() -> None:
    job = ENERGY[ENERGY.index("job wordcount") : ENERGY.index("minimize")]
    twin = job.replace("job wordcount", 'job "wordcount (budget)"')
    spec = mrdsl.loads(
        ENERGY.replace(job, job + twin).replace("available = ", "available = 1").replace("tasks = 17", "tasks = 2")
        + WIDE
    )
    plan = plan_of(mrdsl.simulate(spec, runs=5))
    assert list(plan.outcomes()) == [
        *("deadline(wordcount)", "deadline(wordcount (budget))"),
        *("budget(wordcount)", "budget(wordcount (budget))"),
    ]


def test_a_dag_whose_times_do_not_spread_takes_its_critical_path() -> None:
    plan = plan_of(mrdsl.simulate(mrdsl.loads(DEADLINE), runs=2))
    assert plan.observed["nightly"].mean == 90.0 + 120.0 + 20.0, "m2, r1, publish"
    assert plan.in_time.tolist() == [1.0] * 6
    assert plan.outcomes() == {"nightly": Outcome.KEPT}


def test_a_dag_with_drawn_times_ends_as_networkx_and_the_engine_say() -> None:
    text = DEADLINE.replace("task m3 ", "task w[1..3] { duration = 50 s }\n  task m3 ").replace(
        "[m2, m3]", "[m2, m3, w]"
    )
    spec = mrdsl.loads(text + WIDE)
    settings = Settings(runs=8, seed=4)
    plan = plan_of(mrdsl.simulate(spec, runs=8, seed=4))
    factors = factors_in(spec, settings)
    before = {name: [plan.names[a] for a, b in plan.follows if plan.names[b] == name] for name in plan.names}
    ends = []
    for run in range(settings.runs):
        drawn = iter(factors.of(run, sum(plan.count), "nightly").tolist())
        taken = {
            name: max(duration * next(drawn) for _ in range(count))
            for name, count, duration in zip(plan.names, plan.count, plan.duration.tolist(), strict=True)
        }
        graph: nx.DiGraph[str] = nx.DiGraph((a, b, {"w": taken[a]}) for b in before for a in before[b])
        for name in plan.names:
            graph.add_edge(name, "end", w=taken[name])
        ends.append(nx.dag_longest_path_length(graph, "w"))
        assert _on_the_engine(before, taken) == pytest.approx(ends[-1], rel=1e-12)
    assert plan.observed["nightly"].mean == pytest.approx(np.mean(ends), rel=1e-12)
    assert plan.observed["nightly"].p95 == pytest.approx(np.percentile(ends, 95), rel=1e-12)


GROUP = """dag {0} {{
  allowable_delay = 400 s
  task m[1..4] {{ duration = 50 s }}
  task r {{ duration = 20 s, after = m }}
  task s {{ duration = 60 s, after = m2 }}
}}
"""


def _observed(dags: str, more: str = "") -> Any:
    text = f'problem deadline "many"\n{dags}maximize slack\n{more}{WIDE}'
    return plan_of(mrdsl.simulate(mrdsl.loads(text), runs=12, seed=7)).observed


@pytest.mark.parametrize(
    "more",
    [
        "let x = slack(m1) + slack(m4)",
        "let x = slack(m1) + slack(m2) + slack(m3) + slack(m4)",
        "subject to { slack(m1) >= 1 s }",
    ],
)
def test_what_is_said_of_a_member_changes_no_run(more: str) -> None:
    assert _observed(GROUP.format("a"), more)["a"].document() == _observed(GROUP.format("a"))["a"].document()


@pytest.mark.parametrize("names", ["ab", "ba", "abc"])
def test_what_stands_beside_a_dag_changes_no_run_of_it(names: str) -> None:
    beside = _observed("".join(map(GROUP.format, names)), 'let x = slack("b.m3")')
    for name in names:
        assert beside[name].document() == _observed(GROUP.format(name))[name].document()
    assert beside["a"].mean != beside["b"].mean


def _on_the_engine(before: dict[str, list[str]], taken: dict[str, float]) -> float:
    order = [*nx.topological_sort(nx.DiGraph((a, b) for b in before for a in before[b]))]
    stages = tuple(Stage(name, 1, tuple(order.index(a) for a in before[name])) for name in order)
    times = tuple(TaskTimes(Times(taken[name], taken[name], taken[name])) for name in order)
    job = JobClass(JobKind("dag", stages), times, Users(1), 1)
    scenario = Scenario((job,), (Machines(1, len(order)),), ((QueueRule(),),), 0.0)
    return run_once(scenario, 0, 0).times[0][0]


def test_an_energy_plan_whose_times_do_not_spread_is_its_own_sums() -> None:
    plan = plan_of(mrdsl.simulate(mrdsl.loads(ENERGY), runs=2))
    assert plan.observed["wordcount"].mean == pytest.approx(plan.uptime, rel=1e-14)
    assert plan.bills["wordcount"].energy == pytest.approx(plan.energy.total, rel=1e-14)
    assert plan.bills["wordcount"].cost == pytest.approx(plan.cost, rel=1e-14)
    assert plan.outcomes() == {"deadline(wordcount)": Outcome.KEPT, "budget(wordcount)": Outcome.KEPT}


def test_an_energy_plan_with_drawn_times_is_counted_task_by_task() -> None:
    spec = mrdsl.loads(ENERGY + WIDE)
    settings = Settings(runs=5, seed=3)
    plan = plan_of(mrdsl.simulate(spec, runs=5, seed=3))
    factors = factors_in(spec, settings)
    job, uptimes, energies = spec.facts.jobs[0], [], []
    profiles = {profile.name: profile for profile in job.on}
    for run in range(5):
        lengths, energy = [], plan.energy.placement + plan.energy.shuffle
        for kind, tasks in (("map", 17), ("reduce", 2)):
            drawn, ends = iter(factors.of(run, tasks, "wordcount", kind).tolist()), [0.0]
            for use in plan.vms:
                profile = getattr(profiles[use.type], kind)
                for slot in use.slots:
                    mine = [next(drawn) for _ in range(int(getattr(slot, f"{kind}_tasks")))]
                    ends.append(sum(mine) * profile.time)
                    energy += sum(mine) * profile.energy
            lengths.append(max(ends))
        uptimes.append(sum(lengths) + plan.phases.placement + plan.phases.shuffle)
        energies.append(energy)
    assert plan.observed["wordcount"].mean == pytest.approx(np.mean(uptimes), rel=1e-12)
    assert plan.bills["wordcount"].energy == pytest.approx(np.mean(energies), rel=1e-12)
    price = plan.cost / plan.uptime
    assert plan.bills["wordcount"].cost_p95 == pytest.approx(price * np.percentile(uptimes, 95), rel=1e-12)


@pytest.mark.parametrize(
    "words", ["uniform, longest = 1.5", "uniform, longest = 4", "lognormal, longest = 3", "exponential"]
)
def test_factors_have_the_mean_one(words: str) -> None:
    spec = mrdsl.loads(DEADLINE + f"\nsimulation {{ distribution = {words} }}\n")
    factors = factors_in(spec, Settings(seed=2)).of(0, 200_000, "a")
    assert factors.mean() == pytest.approx(1.0, abs=5.0 * factors.std() / 200_000**0.5)
    assert (factors >= 0.0).all()
    assert factors.std() > 0.1
    assert Factors(None, 0).of(0, 3, "a").tolist() == [1.0, 1.0, 1.0]


def test_kept_makes_a_promise_of_a_share() -> None:
    """One task of exponential time: its share of runs in time is known."""
    text = 'problem deadline "one"\ndag d { allowable_delay = 100 s, task t { duration = 90 s } }\nmaximize slack\n'
    spread = "simulation {{ distribution = exponential, service_level = {0} }}"
    in_time = 1.0 - np.exp(-100.0 / 90.0)
    for level, outcome in ((in_time - 0.05, Outcome.KEPT), (in_time + 0.05, Outcome.BROKEN)):
        plan = plan_of(mrdsl.simulate(mrdsl.loads(text + spread.format(f"{100 * level:.3f}%")), runs=1500))
        assert plan.outcomes() == {"d": outcome}
        assert plan.observed["d"].verdict.low <= in_time <= plan.observed["d"].verdict.high


@pytest.mark.parametrize("family", ["makespan", "deadline", "energy"])
@pytest.mark.parametrize("option", ["--slowstart 5%", "--fail-machines 1", "--burst 2", "--jobs 3"])
def test_options_without_a_meaning_are_refused(family: str, option: str, tmp_path: Path) -> None:
    ran = run_here(("simulate", str(MODELS / family / "reference.mrspec"), *option.split()), tmp_path)
    assert ran.exit_code == 2
    assert f"`{option.split()[0]}` has no effect: " in ran.output


@pytest.mark.parametrize("family", ["makespan", "deadline", "energy"])
def test_a_run_is_saved_and_read_back(family: str, tmp_path: Path) -> None:
    text = {"makespan": LIMITED, "deadline": DEADLINE, "energy": ENERGY}[family]
    (tmp_path / "s.mrspec").write_text(text + WIDE)
    words = ("simulate", "s.mrspec", "--runs", "12", "-o", "plan.json", "--json")
    ran = run_here(words, tmp_path)
    saved = mrdsl.load_plan(tmp_path / "plan.json")
    assert plan_of(saved).outcomes()
    code = 6 if Outcome.BROKEN in plan_of(saved).outcomes().values() else 7
    assert ran.exit_code == (0 if set(plan_of(saved).outcomes().values()) == {Outcome.KEPT} else code)
    assert json.loads(json.dumps(plan_of(saved).document())) == json.loads(ran.output)["plan"]
    assert plan_of(mrdsl.simulate(saved, runs=12)) == plan_of(saved) or family == "deadline"


def test_more_tasks_than_can_be_drawn_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mrdsl.simulation.drawn.MOST_TASKS", 5)
    with pytest.raises(MrdslError, match="6 tasks, and no more than 5"):
        mrdsl.simulate(mrdsl.loads(DEADLINE), runs=1)
