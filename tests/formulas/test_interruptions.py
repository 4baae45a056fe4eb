"""Work lost to interruptions: the age of running tasks, ended map tasks, the engine with machines that go."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl.families.capacity.mix import mix_of
from mrdsl.formulas import interruptions
from mrdsl.simulation.engine.scenario import run_once
from mrdsl.simulation.planned import Held, scenario_of
from mrdsl.simulation.settings import Settings
from mrdsl.spec.machines import Spot
from mrdsl.spec.simulated_plan import Simulation

REFERENCE = Path(__file__).resolve().parents[2] / "models" / "capacity" / "reference.mrspec"
HOUR = 3600.0


def test_the_age_of_a_running_task_is_that_of_a_renewal_process() -> None:
    """Random moments on a line of tasks one after the other, drawn from the uniform times that are meant."""
    random = np.random.RandomState(1)
    times = random.uniform(20.0, 40.0, 400_000)
    ends = times.cumsum()
    at = random.uniform(0.0, ends[-1], 400_000)
    ages = at - np.concatenate([[0.0], ends])[np.searchsorted(ends, at)]
    assert interruptions.age(np.array([30.0]), np.array([40.0]))[0] == pytest.approx(ages.mean(), rel=0.01)


def test_spread_is_at_most_what_times_between_nothing_and_the_longest_can_have() -> None:
    """Bhatia and Davis: (longest - avg) avg, reached by times of 0 and of the longest alone."""
    avg, longest = np.array([1.0, 5.0, 10.0]), np.array([100.0, 9.0, 10.0])
    assert interruptions.spread(avg, longest).tolist() == pytest.approx([99.0, 16.0 / 3.0, 0.0])


def lost_of_reference(rate: float, service: str) -> np.ndarray:
    """The VMs that each profiled class of the reference takes more on spot, as parts."""
    spec = mrdsl.load(REFERENCE)
    vm = replace(spec.facts.vms[0], spot=Spot(price=1e-5, interruptions=rate / HOUR))
    simulation = Simulation(shuffle_service=service)
    mix = mix_of(replace(spec, facts=replace(spec.facts, vms=(vm,), simulation=simulation, whole="no")))
    return mix.gamma[1, :2] / mix.gamma[0, :2] - 1.0


@pytest.mark.parametrize(
    ("rate", "service", "low", "high"),
    [(0.05, "yes", 2e-4, 4.5e-4), (0.05, "no", 5e-3, 8e-3), (0.5, "yes", 2e-3, 4.5e-3), (0.5, "no", 5e-2, 9e-2)],
)
def test_what_the_classes_of_the_reference_lose(rate: float, service: str, low: float, high: float) -> None:
    """Some 0.03 % and 0.6 % at one interruption in 20 h, ten times that at one in two hours."""
    assert ((low <= lost_of_reference(rate, service)) & (lost_of_reference(rate, service) <= high)).all()


def test_beyond_half_of_the_work_lost_no_job_is_planned() -> None:
    assert np.isinf(lost_of_reference(20.0, "no")).all()
    assert np.isfinite(lost_of_reference(20.0, "yes")).all()


TEXT = """problem capacity
vm m5 { on_demand { price = 1 USD/h }, spot { price = 0.1 USD/h, interruptions = RATE/h } }
class jobs {
  map     { tasks = 120, avg = 30 s, max = 30 s }
  shuffle { first_max = 0 s, avg = 0 s, max = 0 s }
  reduce  { tasks = 60, avg = 25 s, max = 25 s }
  slots { map = 2, reduce = 1 }
  jobs = 4..4, deadline = 10 min, penalty = 20 USD, distribution = fixed
}
SERVICE
whole = no
minimize cost
"""


@pytest.mark.parametrize(("rate", "service"), [(1.0, "no"), (6.0, "yes")])
def test_the_engine_loses_as_much(rate: float, service: str) -> None:
    """Slot seconds a job with machines that go, over those without, beside 1 / (1 - lost).

    Jobs run one at a time on the slots of one job, so that they map and reduce for as long as the formula says.
    """
    text = TEXT.replace("RATE", str(rate)).replace("SERVICE", f"simulation {{ shuffle_service = {service} }}")
    spec = mrdsl.loads(text)
    mix = mix_of(spec)
    node = spec.facts.classes[0]
    slots = round(float(mix.map_slots[0, 0])), round(float(mix.reduce_slots[0, 0]))
    settings = Settings(jobs=150, runs=2, seed=1)
    work = []
    for interruptions_of_one in (0.0, rate / HOUR):
        held = Held(node, 1, slots, (1, 1), node.name, interruptions=interruptions_of_one)
        scenario = scenario_of((held,), spec.facts.simulation, settings)
        work.append(sum(run_once(scenario, 1, run).busy[0] for run in range(settings.runs)))
    foreseen = mix.gamma[1, 0] / mix.gamma[0, 0] - 1.0
    assert work[1] / work[0] - 1.0 == pytest.approx(foreseen, rel=0.1)
