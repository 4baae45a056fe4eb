"""Jobs that wait because few may run at once: against formulas of closed queues, and by hand."""

from __future__ import annotations

from heapq import heappop, heappush
from math import comb, factorial, prod
from random import Random

import pytest

import mrdsl
from mrdsl.families.bounds.plan import BoundsPlan
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.timetable.plan import TimetablePlan

USERS = """problem bounds "users who think"
cluster {{ slots {{ task = {slots} }}, scheduler = fifo }}
class c {{
{stages}
  jobs = {users}
  think = {think} s
  distribution = exponential
}}
simulation {{ max_running = {running}, jobs_per_user = {jobs} }}
"""


def mean_time(**written: object) -> float:
    result = mrdsl.simulate(mrdsl.loads(USERS.format(**written)), runs=4, seed=5, processes=2).of(BoundsPlan)
    assert result.plan is not None
    seen = result.plan.observed["c"].mean
    assert seen is not None
    return seen


def one_after_another(users: int, think: float, rates: list[float]) -> float:
    """Mean time of jobs of users who think, served one at a time: the time of a job is a sum of exponential times.

    Takacs' formula of M/G/1 with a finite source: with the transform B of the time S of a job and l = 1/think, the
    server is idle for the share 1 / (1 + N l E[S] sum_n C(N - 1, n) prod_(i <= n) (1 / B(i l) - 1)).
    """
    rate, service = 1.0 / think, sum(1.0 / each for each in rates)
    waits = [prod((each + i * rate) / each for each in rates) - 1.0 for i in range(1, users)]
    total = sum(comb(users - 1, n) * prod(waits[:n]) for n in range(users))
    busy = users * rate * service * total
    return users * service * (1.0 + busy) / busy - think


def rates_of(tasks: int, avg: float, slots: int) -> list[float]:
    """Rates of the next end while that many tasks are left."""
    return [min(left, slots) / avg for left in range(tasks, 0, -1)]


@pytest.mark.parametrize(("slots", "users", "think"), [(3, 3, 20.0), (8, 4, 5.0), (2, 2, 60.0)])
def test_one_job_at_a_time_takes_the_time_of_the_formula(slots: int, users: int, think: float) -> None:
    stages = """  stage one { tasks = 5, avg = 3 s, max = 9 s }
  stage two { tasks = 2, avg = 4 s, max = 9 s, after = [one] }"""
    expected = one_after_another(users, think, rates_of(5, 3.0, slots) + rates_of(2, 4.0, slots))
    seen = mean_time(slots=slots, stages=stages, users=users, think=think, running=1, jobs=1000)
    assert seen == pytest.approx(expected, rel=0.02)


def test_single_tasks_are_a_queue_with_as_many_servers_as_jobs_may_run() -> None:
    """M/M/2 with five sources, on more slots than jobs."""
    users, think, avg, running = 5, 10.0, 6.0, 2
    ways = [
        (avg / think) ** n
        * (comb(users, n) if n <= running else factorial(users) / factorial(users - n) / 2.0 / running ** (n - running))
        for n in range(users + 1)
    ]
    waiting = sum(n * way for n, way in enumerate(ways)) / sum(ways)
    expected = waiting / ((users - waiting) / think)
    stages = "  stage only { tasks = 1, avg = 6 s, max = 9 s }"
    seen = mean_time(slots=9, stages=stages, users=users, think=think, running=running, jobs=1000)
    assert seen == pytest.approx(expected, rel=0.02)


CLASS = """problem capacity "three jobs"
vm m { on_demand { price = 1 USD/h } }
class c {
  stage one { tasks = 4, avg = 1 min, max = 1 min }
  slots { task = 2 }
  jobs = 3..3
  deadline = 3 min
  penalty = 1 USD
  distribution = fixed
  sharing = class
}
minimize cost
"""


def test_jobs_of_a_class_take_turns() -> None:
    """Three jobs of 4 tasks on 6 slots share them for 2 min; one at a time they take 1, 2 and 3 min, then 3 each."""
    rules = "simulation {{ {}jobs_per_user = 4, warm_up = 50% }}\n"
    means = []
    for word in ("", "max_running = 1, "):
        result = mrdsl.simulate(mrdsl.loads(CLASS + rules.format(word)), runs=1, seed=0).of(CapacityPlan)
        assert result.plan is not None
        assert result.plan.classes["c"].task_slots == 6  # type: ignore[union-attr]
        means.append(result.plan.observed["c"].mean)
    assert means == [120.0, 180.0]


def test_more_arrivals_than_can_run_are_an_error() -> None:
    text = CLASS.replace("distribution", "arrivals = 70/h\n  distribution")
    with pytest.raises(mrdsl.MrdslError, match="`max_running` allows 1"):
        mrdsl.simulate(mrdsl.loads(text + "simulation { max_running = 1 }\n"), runs=1, seed=0)


NIGHT = """problem timetable "two at once"
vm m { on_demand { price = 1 USD/h } }
class c {
  stage one { tasks = 2, avg = 1 min, max = 1 min }
  slots { task = 1 }
  runs { at = [0 s, 0 s, 1 min] }
  deadline = 1 min
  distribution = fixed
}
minimize cost
"""


def test_runs_of_a_timetable_wait_for_others() -> None:
    """Two runs have two machines each from 0 to 1 min. One at a time, the second takes all idle ones at 1 min, with the
    third, which has two reserved, after it: it may not run before 2 min.
    """
    for word, expected in (("", [60.0, 60.0, 60.0]), ("simulation { max_running = 1 }\n", [60.0, 120.0, 120.0])):
        result = mrdsl.simulate(mrdsl.loads(NIGHT + word), runs=1, seed=0).of(TimetablePlan)
        assert result.plan is not None
        assert result.plan.machines == 4
        assert [seen.mean for seen in result.plan.of_runs if seen] == expected


FUNNEL = (("scan", 200, 9.0, ()), ("lookup", 12, 4.0, ()), ("join", 64, 14.0, (0, 1)), ("write", 16, 7.0, (2,)))
"""The stages of a report: tasks, mean time, and the stages before."""


class Nodes:
    """Three users who think 60 s, and jobs one at a time on nodes with one slot each, in a loop over ends of tasks.

    With ``early``, a job is followed by the next one at the first end of a task of it after all have started, and nodes
    on which it runs its last tasks are not used before the next end of a task of the new job. These are the rules of
    dagSim (Gribaudo, 2017). Otherwise a job is followed when it has ended.
    """

    def __init__(self, nodes: int, early: bool, jobs: int) -> None:
        self.free, self.early, self.random = nodes, early, Random(7)
        self.events: list[tuple[float, int, int, int]] = []
        self.left: list[list[int]] = [[] for _ in range(3)]
        self.ready: list[list[int]] = [[] for _ in range(3)]
        self.waiting: list[int] = []
        self.running: int | None = None
        self.begun, self.number = [0.0] * 3, 0
        self.times: list[float] = []
        for user in range(3):
            self.note(self.random.expovariate(1 / 60.0), user, -1)
        while len(self.times) < jobs:
            now, _, user, stage = heappop(self.events)
            (self.submit if stage < 0 else self.end)(now, user, stage)

    def note(self, time: float, user: int, stage: int) -> None:
        self.number += 1
        heappush(self.events, (time, self.number, user, stage))

    def submit(self, now: float, user: int, _: int) -> None:
        self.begun[user] = now
        self.left[user] = [tasks for _, tasks, _, _ in FUNNEL]
        self.ready[user] = [
            stage for stage, (_, tasks, _, before) in enumerate(FUNNEL) for _ in range(tasks) if not before
        ]
        self.waiting.append(user)
        self.next(now)

    def end(self, now: float, user: int, stage: int) -> None:
        self.free += 1
        left = self.left[user]
        left[stage] -= 1
        if not left[stage]:
            for other, (_, tasks, _, before) in enumerate(FUNNEL):
                if stage in before and not any(left[each] for each in before):
                    self.ready[user] += [other] * tasks
        started = not self.ready[user] and not any(left[:-1])
        if user == self.running:
            if not any(left) or (self.early and started):
                self.running = None
                self.next(now)
            else:
                self.start(now, user)
        if not any(left):
            self.times.append(now - self.begun[user])
            self.note(now + self.random.expovariate(1 / 60.0), user, -1)

    def next(self, now: float) -> None:
        if self.running is None and self.waiting:
            self.running = self.waiting.pop(0)
            self.start(now, self.running)

    def start(self, now: float, user: int) -> None:
        while self.free and self.ready[user]:
            self.free -= 1
            stage = self.ready[user].pop(0)
            self.note(now + self.random.expovariate(1 / FUNNEL[stage][2]), user, stage)

    def mean(self) -> float:
        return sum(self.times[100:]) / len(self.times[100:])


@pytest.mark.parametrize(("nodes", "published"), [(12, 814.9), (48, 356.4)])
def test_users_of_dagsim_wait_less_since_its_jobs_overlap(nodes: int, published: float) -> None:
    """Its jobs give way as soon as all of their tasks have started; ours when they have ended, as those of YARN."""
    assert Nodes(nodes, early=True, jobs=2000).mean() == pytest.approx(published, rel=0.02)
    stages = "\n".join(
        f"  stage {name} {{ tasks = {tasks}, avg = {avg} s, max = 60 s"
        + (f", after = [{', '.join(FUNNEL[each][0] for each in before)}] }}" if before else " }")
        for name, tasks, avg, before in FUNNEL
    )
    seen = mean_time(slots=nodes, stages=stages, users=3, think=60.0, running=1, jobs=200)
    assert seen == pytest.approx(Nodes(nodes, early=False, jobs=2000).mean(), rel=0.02)
    assert seen > published
