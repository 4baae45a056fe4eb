"""Specs from text: the models, what they come to, and every bad input at its own place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import Table, Termination
from mrdsl.families.schedule.explain import BOOT, EVICTED, FRACTIONS, NEVER, ON_PURPOSE, UNUSED, WAITED, why
from mrdsl.families.schedule.methods.policy import slots_for
from mrdsl.families.schedule.models import build as build_offline
from mrdsl.families.schedule.plan import SchedulePlan
from mrdsl.families.schedule.simulate import SimulatedSchedule, simulate
from mrdsl.families.schedule.trace import jobs
from mrdsl.formulas import waves
from mrdsl.language.loading import load_file, load_text
from mrdsl.language.printing import print_spec
from mrdsl.language.resolving import Loaded
from mrdsl.planning.solve_spec import solve
from mrdsl.solving.checked_answer import solve_model
from mrdsl.spec.schema import Distribution
from mrdsl.spec.spec import Spec
from studies.schedule_runs import watch
from tests.families.schedule import schedule_specs
from tests.families.schedule.schedule_specs import ROOT

MODELS = ROOT / "models" / "schedule"
DATA = ROOT / "tests" / "language" / "data"
SPEEDS = "block = 64 MB, map_speed = 4 MB/s, shuffle_speed = 6 MB/s, reduce_speed = 5 MB/s, reduce_input = 256 MB"


HURRIED = Distribution("uniform", (0.5, 2.0))


def of_trace() -> Spec:
    spec = load_file(MODELS / "trace.mrspec").spec
    assert spec is not None
    return spec


def written(
    vm: str = "",
    arrivals: str = f'from swim("swim.tsv") {{ {SPEEDS} }}',
    policy: str = "instances = on_demand",
    more: str = "",
) -> Loaded:
    vm = vm or 'vm "m3.medium" { slots { map = 1, reduce = 1 }, on_demand { price = 0.07 USD/h } }'
    return load_text(
        f'problem schedule "x"\nseed = 1\n{vm}\narrivals {arrivals}\n'
        f"policy {{ algorithm = mdasa, {policy} }}\n{more}\nminimize cost\n",
        folder=DATA,
    )


def spot(items: str) -> str:
    return 'vm "m3.medium" { slots { map = 1, reduce = 1 }, on_demand { price = 0.07 USD/h }, spot { ' + items + "} }"


def test_a_trace_solves() -> None:
    result = solve(of_trace())
    assert result.termination is Termination.COMPLETED
    assert result.solver["name"] == "policy"
    plan = result.plan
    assert isinstance(plan, SchedulePlan)
    assert plan.jobs.count == 200
    assert result.objective.value == plan.cost.total
    assert result.objective.bound is None


@pytest.mark.parametrize("model", sorted(MODELS.glob("*.mrspec")), ids=lambda path: path.stem)
def test_models_solve(model: Path) -> None:
    loaded = load_file(model)
    assert loaded.diagnostics == ()
    assert loaded.spec is not None
    assert solve(loaded.spec).plan is not None


def test_the_small_model_has_an_offline_optimum() -> None:
    spec = load_file(MODELS / "small.mrspec").spec
    assert spec is not None
    result, policy = solve(spec, formulation="offline"), solve(spec)
    assert result.termination is Termination.OPTIMAL
    assert policy.objective.value == pytest.approx(result.objective.value)  # frugal is optimal here


@pytest.mark.parametrize(
    ("loaded", "codes"),
    [
        (written(arrivals=f'from swim("swim-broken.tsv") {{ {SPEEDS} }}'), ["broken-trace"] * 3),
        (written(arrivals=f'from swim("swim-empty.tsv") {{ {SPEEDS} }}'), ["empty-trace"]),
        (written(arrivals=f'from swim("swim.tsv") {{ {SPEEDS}, begin = 1 h }}'), ["empty-trace"]),
        (written(arrivals=f'from swim("swim.tsv") {{ {SPEEDS}, begin = 2 min, end = 1 min }}'), ["empty-range"]),
        (written(arrivals='from swim("swim.tsv") { block = 64 MB, map_speed = 4 MB/s }'), ["missing-item"] * 3),
        (written(arrivals=f'from swim("nowhere.tsv") {{ {SPEEDS} }}'), ["missing-file"]),
        (written(arrivals='from "jobs-late.csv" { }'), ["broken-table"]),
        (written(arrivals=f'from swim("swim.tsv") {{ {SPEEDS}, deadline_factor = 0.5 }}'), ["impossible-deadline"]),
        (
            written(arrivals=f'from swim("swim.tsv") {{ {SPEEDS}, deadline_factor = uniform(0.5, 2) }}'),
            ["short-deadline"],
        ),
        (
            written(
                more="class a { rate = 2/h, map { tasks = 2, avg = 9 s, max = 9 s }, deadline = 5 s }\nhorizon = 1 h"
            ),
            ["impossible-deadline"],
        ),
        (written(more="class a { rate = 2/h, map { tasks = 2, avg = 9 s, max = 9 s } }"), ["missing-item"]),
        (written(policy="instances = hybrid"), ["missing-block"]),
        (written(more="vm b { slots { map = 1, reduce = 1 }, on_demand { price = 1 USD/h } }"), ["one-vm-type"]),
        (written(vm=spot("every = 5 min")), ["missing-item"]),
        (written(vm=spot("price = 0 USD/h")), ["out-of-range"]),
        (written(vm=spot("price = mixture([0.5, 0.5], [0 USD/h, 1 USD/h], [0.1 USD/h, 0.1 USD/h])")), ["out-of-range"]),
        (written(vm=spot('history = "spot-prices-broken.json"')), ["broken-history"] * 2),
        (written(vm=spot('history = "spot-prices-gap.json"')), ["missing-hours"]),
        (written(vm=spot('history = "spot-prices.json", zone = "eu-1"')), ["broken-history"]),
        (written(vm=spot('history = "spot-prices.json", price = 0.1 USD/h')), ["price-and-history"]),
    ],
)
def test_bad_input_is_told(loaded: Loaded, codes: list[str]) -> None:
    assert [each.code for each in loaded.diagnostics] == codes
    assert all(each.span is not None and each.hint for each in loaded.diagnostics)


def test_classes_and_tables_arrive_together() -> None:
    loaded = written(
        arrivals='from "jobs-due.csv" { }',
        more="horizon = 10 h\nclass a {\n  rate = 6/h\n"
        "  map { tasks = 4, avg = 30 s, max = 40 s }\n"
        "  shuffle { first_max = 5 s, avg = 5 s, max = 5 s }\n"
        "  reduce { tasks = 2, avg = 10 s, max = 12 s }\n}",
    )
    assert loaded.diagnostics == ()
    assert loaded.spec is not None
    plan = solve(loaded.spec).plan
    assert isinstance(plan, SchedulePlan)
    assert 2 + 60 - 4 * 60**0.5 < plan.jobs.count < 2 + 60 + 4 * 60**0.5


def test_a_day_without_a_job_costs_nothing() -> None:
    loaded = load_text(
        'problem schedule "x"\nseed = 1\nhorizon = 1 s\n'
        "vm m { slots { map = 1, reduce = 1 }, on_demand { price = 1 USD/h } }\n"
        "class a { rate = 1/h, map { tasks = 2, avg = 9 s, max = 9 s } }\n"
        "policy { algorithm = mdasa, instances = on_demand }\nminimize cost\n"
    )
    assert loaded.spec is not None
    result = solve(loaded.spec)
    assert isinstance(result.plan, SchedulePlan)
    assert (result.plan.jobs.count, result.objective.value) == (0, 0.0)
    with pytest.raises(MrdslError) as refused:
        solve(loaded.spec, formulation="offline")
    assert refused.value.diagnostics[0].code == "empty-trace"


def test_many_runs_give_intervals() -> None:
    outcome = simulate(of_trace(), 4, 7, 50)
    plan = outcome.plan
    assert isinstance(plan, SimulatedSchedule)
    assert plan.jobs.count == 50
    cost = plan.observed["cost"]
    single = [simulate(of_trace(), 1, 7 + i, 50).value for i in range(4)]
    assert cost.mean == pytest.approx(sum(value or 0.0 for value in single) / 4)
    assert cost.half_width is not None
    assert cost.half_width > 0
    assert simulate(of_trace(), 1, 7, 50).plan.observed["cost"].half_width is None  # type: ignore[union-attr]
    document = plan.document()
    assert {"jobs", "cost", "vm_hours", "evictions", "tardiness", "utilization", "runs", "observed"} == set(document)
    rows = list(plan.trace().rows)
    assert len([row for row in rows if row[1] == "finish"]) == 50


def test_a_watched_run_leaves_log_and_plots(tmp_path: Path) -> None:
    files = watch(of_trace(), 7, tmp_path)
    assert [file.name for file in files] == ["decisions.jsonl", "price.svg", "fleet.svg", "backlog.svg", "lateness.svg"]
    lines = [json.loads(line) for line in files[0].read_text(encoding="utf-8").splitlines()]
    assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
    assert sum(line["what"] == "finish" for line in lines) == 200
    assert all(file.read_text(encoding="utf-8").startswith("<svg") for file in files[1:])


@pytest.mark.parametrize(
    ("policy", "vm", "cause"),
    [
        ({"instances": "on_demand"}, {}, FRACTIONS),
        ({"instances": "on_demand", "idle": "sized"}, {}, UNUSED),
        ({"algorithm": "ep_edf", "instances": "on_demand"}, {}, WAITED),
        ({"instances": "spot", "reliability": 0.01}, {"billing": 1.0}, EVICTED),
        ({"instances": "on_demand"}, {"boot": 30.0}, BOOT),
        ({"algorithm": "frugal", "instances": "on_demand"}, {"boot": 30.0}, BOOT),
        ({"algorithm": "frugal", "instances": "on_demand", "tardy_share": 0.1}, {}, ON_PURPOSE),
        ({"instances": "on_demand", "arrivals": schedule_specs.swim(deadline_factor=HURRIED)}, {}, NEVER),
    ],
)
def test_why_jobs_are_late(policy: dict[str, Any], vm: dict[str, float], cause: str) -> None:
    spec = schedule_specs.spec(machine=schedule_specs.vm(**vm), **policy)
    result = solve(spec)
    plan = result.plan
    assert isinstance(plan, SchedulePlan)
    table = why(spec, result)[0]
    assert isinstance(table, Table)
    assert sum(row[1] for row in table.rows) == plan.jobs.tardy
    assert sum(row[1] * row[2] for row in table.rows) == pytest.approx(plan.tardiness.mean * plan.jobs.tardy)
    assert cause in [row[0] for row in table.rows]


def test_slots_too_few_for_whole_waves_are_blamed_only_where_they_are() -> None:
    """A job is called late for (3.15) only where (3.14) on its sizing says so: never more than there are such jobs."""
    late = {}
    for idle in ("sized", "all"):
        spec = schedule_specs.spec(instances="on_demand", idle=idle)
        causes = {row[0]: row[1] for row in why(spec, solve(spec))[0].rows}  # type: ignore[union-attr]
        assert causes[FRACTIONS] <= late_by_whole_waves(spec)
        late[idle] = causes
    assert list(late["all"]) == [FRACTIONS]
    assert late["sized"][UNUSED] > late["sized"][FRACTIONS]


def late_by_whole_waves(spec: Spec) -> int:
    """Jobs that (3.17) and (3.18) make late on slots of their own, by (3.14)."""
    late = 0
    for job in jobs(spec.facts, spec.seed or 0):
        slots = slots_for(job.profile, job.due - job.submit, "least_slots")
        late += job.submit + waves.completion(job.profile, *slots).average > job.punctual_until
    return late


@pytest.mark.parametrize(
    ("items", "period", "broken"),
    [
        ("", 3600.0, "free"),
        ("billing = 10 min", 600.0, "free"),
        ("billing { period = 10 min }", 600.0, "free"),
        ("billing { period = 10 min, broken_period = paid }", 600.0, "paid"),
        ("billing { broken_period = paid }", 3600.0, "paid"),
    ],
)
def test_billing_has_a_short_form(items: str, period: float, broken: str) -> None:
    loaded = written(vm=f"vm m {{ slots {{ map = 1, reduce = 1 }}, on_demand {{ price = 1 USD/h }}, {items} }}")
    assert loaded.diagnostics == ()
    assert loaded.spec is not None
    terms = loaded.spec.facts.vms[0].paid_by
    assert (terms.period, terms.broken_period) == (period, broken)
    again = load_text(print_spec(loaded.spec), folder=DATA).spec
    assert again is not None
    assert again.facts == loaded.spec.facts


@pytest.mark.parametrize(
    ("items", "code", "text"),
    [
        ("billing = 10 min, billing { period = 1 h }", "duplicate", "`billing` is defined twice"),
        ("billing = 10 min, billing = 1 h", "duplicate", "`billing` is defined twice"),
        ("billing = 3 MB", "wrong-unit", "`billing` must be a time"),
        ("billing = 0 s", "out-of-range", "`billing` is 0 s"),
        ("billing { period = 1 h, broken_period = half }", "unknown-choice", "`broken_period` cannot be `half`"),
    ],
)
def test_wrong_billing_is_told_once(items: str, code: str, text: str) -> None:
    loaded = written(vm=f"vm m {{ slots {{ map = 1, reduce = 1 }}, on_demand {{ price = 1 USD/h }}, {items} }}")
    assert [each.code for each in loaded.diagnostics] == [code]
    assert loaded.diagnostics[0].message.startswith(text)


def test_a_schedule_counts_in_its_own_currency() -> None:
    text = (MODELS / "small.mrspec").read_text(encoding="utf-8").replace("USD", "EUR")
    spec = load_text(text, folder=MODELS).spec
    assert spec is not None
    assert solve(spec).objective.unit == "EUR"
    lacking = text.replace("on_demand { price = 0.07 EUR/h }", "spot { price = 0.01 EUR/h }, on_demand { }")
    assert "EUR/h" in (load_text(lacking, folder=MODELS).diagnostics[0].hint or "")


def test_the_commands(tmp_path: Path) -> None:
    model = str(MODELS / "reference.mrspec")
    solved = subprocess.run(
        [sys.executable, "-m", "mrdsl", "solve", model, "--json"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    document = json.loads(solved.stdout)
    assert document["objective"]["value"] == document["plan"]["cost"]["total"]
    trace = tmp_path / "trace.csv"
    simulated = subprocess.run(
        [sys.executable, "-m", "mrdsl", "simulate", model, "--runs", "2", "--json", "--trace", str(trace)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert json.loads(simulated.stdout)["plan"]["runs"] == 2
    assert trace.read_text(encoding="utf-8").startswith("time [s],what,job")


@pytest.mark.parametrize(("share", "enough"), [(0, False), (60, False), (67, True)])
def test_jobs_that_are_late_whatever_is_rented_may_be_within_the_share(
    tmp_path: Path, share: int, enough: bool
) -> None:
    """Two of three jobs have half the time that they need at least; the offline optimum says the same."""
    table = "name,submit [s],map.tasks,map.avg [s],reduce.tasks,shuffle.avg [s],reduce.avg [s],deadline [s]\n"
    (tmp_path / "jobs.csv").write_text(table + "a,0,2,4,0,0,0,\nb,2,1,6,1,0,2,\nc,3,1,4,0,0,0,9\n", encoding="utf-8")
    loaded = load_text(
        'problem schedule "x"\nseed = 1\n'
        "vm m { slots { map = 1, reduce = 1 }, on_demand { price = 1 USD/h }, billing = 10 s }\n"
        'arrivals from "jobs.csv" { deadline_factor = 0.5 }\n'
        f"policy {{ algorithm = frugal, instances = on_demand, tardy_share = {share}% }}\nminimize cost\n",
        folder=tmp_path,
    )
    assert loaded.spec is not None
    (told,) = loaded.diagnostics
    assert (told.code, told.impossible) == (("short-deadline", False) if enough else ("impossible-deadline", True))
    assert ("2 of 3 jobs are late whatever is rented" in told.message) is (share > 0)
    answer = solve_model(build_offline(loaded.spec, False), "highs")
    assert (answer.termination is Termination.OPTIMAL) is enough
    result = solve(loaded.spec)
    assert (result.plan is not None) is enough
    if enough:
        assert isinstance(result.plan, SchedulePlan)
        assert result.plan.jobs.tardy == 2


def test_a_deadline_of_just_one_wave_a_phase_is_not_too_early() -> None:
    """0.1 s + 0.2 s is more than 0.3 s on a computer."""
    loaded = load_text(
        'problem schedule "x"\nseed = 1\nhorizon = 10 h\n'
        "vm m { slots { map = 1, reduce = 1 }, on_demand { price = 1 USD/h } }\n"
        "class a { rate = 1/h, map { tasks = 2, avg = 0.1 s, max = 0.1 s }\n"
        "reduce { tasks = 1, avg = 0.2 s, max = 0.2 s }\n"
        "shuffle { first_max = 0 s, avg = 0 s, max = 0 s }, deadline = 0.3 s }\n"
        "policy { algorithm = frugal, instances = on_demand }\nminimize cost\n"
    )
    assert loaded.diagnostics == ()
