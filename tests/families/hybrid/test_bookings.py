"""Booked VM-slots: what a dearer task displaces, held against one object per task."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrdsl import api
from mrdsl.families.hybrid.facts import Queue
from mrdsl.families.hybrid.methods.bookings import Bookings, book
from mrdsl.families.hybrid.methods.calendar import RULES, Calendar, Rule
from mrdsl.families.hybrid.methods.controller import Tasks
from mrdsl.families.hybrid.plan import HybridPlan
from mrdsl.simulation.sampling import stream
from studies.hybrid_clouds import Regime, spec_of
from studies.hybrid_regimes import METHODS, charged, ratio


def queue(name: str, size: int, delay: int, price: float) -> Queue:
    return Queue(name=name, vm="node", size=size, delay=delay, arrivals=1.0, arrivals_max=9, outsourcing=price)


def served(arrivals: list[list[int]], *queues: Queue, vms: int = 1, rule: Rule | None = None) -> Calendar:
    calendar = Calendar([Tasks(each) for each in queues], vms, acceptance=1.0)
    for slot, row in enumerate(arrivals):
        calendar.settle(slot)
        calendar.serve(row, rule or Rule())
    for slot in range(len(arrivals), len(calendar.bookings.free)):
        calendar.settle(slot)
    return calendar


DEAR = queue("dear", 1, 1, 10.0)


@pytest.mark.parametrize(("delay", "paid", "delayed"), [(9, 0.0, 7), (7, 0.0, 7), (6, 3.0, 3)])
def test_who_makes_room_is_booked_again_or_leaves(delay: int, paid: float, delayed: int) -> None:
    """One VM: cheap tasks in slots 1 to 3 and 4 to 6. The dear one that comes in slot 3 needs slot 4: the second cheap
    task moves to slots 5 to 7, or leaves in slot 3 for 3 USD where it had to end by slot 6."""
    calendar = served([[0, 2], [0, 0], [0, 0], [1, 0]], DEAR, queue("cheap", 3, delay, 3.0))
    dear, cheap = calendar.tasks
    assert (dear.finished, dear.outsourced, dear.worst_delay) == (1, 0, 1)
    assert calendar.paid == paid
    assert cheap.admitted == 2
    assert (cheap.finished, cheap.left_later) == ((1, 1) if paid else (2, 0))
    assert cheap.worst_delay == delayed
    assert not paid or cheap.worst_leave == 3


@pytest.mark.parametrize(("price", "leaves"), [(2.9, 0), (3.0, 1)])
def test_what_leaves_costs_no_more_than_what_comes(price: float, leaves: int) -> None:
    """At the same price two VM-slots are free for others afterwards."""
    calendar = served([[0, 2], [0, 0], [0, 0], [1, 0]], queue("dear", 1, 1, price), queue("cheap", 3, 6, 3.0))
    assert [each.left_later for each in calendar.tasks] == [0, leaves]
    assert calendar.tasks[0].outsourced == 1 - leaves
    assert calendar.paid == min(price, 3.0)
    assert sum(calendar.bookings.free[1:7]) == 2 * leaves


@pytest.mark.parametrize(("price", "leave"), [(7.9, 0), (8.0, 2)])
def test_several_that_make_room_cost_no_more_together(price: float, leave: int) -> None:
    """One VM, cheap tasks in slots 1-2, 3-4, 5-6: the dear one needs slots 3 to 5, and is worth more a slot."""
    calendar = served([[0, 3], [0, 0], [1, 0]], queue("dear", 3, 3, price), queue("cheap", 2, 6, 4.0))
    assert [each.left_later for each in calendar.tasks] == [0, leave]
    assert [each.finished for each in calendar.tasks] == [leave // 2, 3 - leave]


def test_what_was_booked_last_makes_room_first() -> None:
    """A cheap task of slot 0 that is displaced to slot 3 stands behind one of slot 1 there, and is the first to go."""
    bookings = Bookings([DEAR, queue("cheap", 1, 4, 1.0)], 2)
    bookings.free[:] = [0, 1, 0, 2, 0, 0, 0]
    assert bookings.book(1, 0, 2) == 2
    assert bookings.waiting[1] == {1: [[0, 1]], 3: [[0, 1]]}
    bookings.free[3] += 1
    assert bookings.book(1, 1, 1) == 1
    assert bookings.waiting[1][3] == [[0, 1], [1, 1]]
    bookings.free[3] += 1
    assert bookings.displace(0, 0, 1) == (1, [])
    assert bookings.waiting[1] == {3: [[0, 1], [1, 1], [0, 1]]}
    assert bookings._remove(1, 3) == 0


def test_what_has_begun_stays() -> None:
    """The dear task comes when the cheap one runs already, and the next slot is its last."""
    calendar = served([[0, 1], [1, 0]], DEAR, queue("cheap", 3, 3, 3.0))
    assert calendar.tasks[0].outsourced == 1
    assert calendar.tasks[1].finished == 1


def test_a_start_that_was_given_up_is_looked_at_again_once_cheaper_tasks_are_booked_there() -> None:
    """One VM: dear tasks hold slots 1 to 4, a fifth finds nothing cheaper; then a cheap one takes slot 5."""
    bookings = Bookings([queue("dear", 1, 4, 5.0), queue("cheap", 1, 4, 1.0)], 1)
    bookings.free.append(1)
    assert bookings.book(0, 0, 9) == 4
    assert bookings.displace(0, 0, 1) == (0, [])
    bookings.free.append(1)
    assert bookings.book(1, 1, 1) == 1
    assert bookings.displace(0, 1, 2) == (1, [(1, 1)])


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_task_keeps_its_delay_and_no_vm_runs_two(rule: Rule) -> None:
    """Task by task, from what has begun in each slot: VMs in use, delays, who left when, and the books."""
    for seed in range(6):
        random = stream(seed, "bookings")
        queues = [
            queue(f"q{i}", int(size), int(size + slack), float(price))
            for i, (size, slack, price) in enumerate(
                zip(random.randint(1, 6, 4), random.randint(0, 12, 4), random.randint(1, 12, 4), strict=True)
            )
        ]
        arrivals = random.poisson(1.2, (60, 4)).tolist()
        calendar = Calendar([Tasks(each) for each in queues], 6, acceptance=0.9)
        running = [0] * 120
        finished = [0] * 4
        for slot, row in enumerate([*arrivals, *[[0] * 4] * 30]):
            for index, waiting in enumerate(calendar.bookings.waiting):
                for arrival, count in waiting.get(slot, ()):
                    assert arrival < slot <= arrival + queues[index].delay - queues[index].size + 1
                    finished[index] += count
                    for at in range(slot, slot + queues[index].size):
                        running[at] += count
            calendar.settle(slot)
            calendar.serve(row, rule)
        assert max(running) <= 6
        assert [6 - each for each in calendar.bookings.free[:90]] == running[:90]
        paid = 0.0
        for index, tasks in enumerate(calendar.tasks):
            assert tasks.submitted == sum(row[index] for row in arrivals)
            assert tasks.submitted == tasks.admitted + tasks.outsourced + tasks.rejected
            assert tasks.admitted == finished[index] + tasks.left_later
            assert tasks.finished == finished[index]
            assert tasks.rejected <= 0.1 * tasks.submitted + 1e-9
            assert tasks.worst_delay <= tasks.queue.delay
            assert not tasks.left_later or tasks.worst_leave + tasks.queue.size <= tasks.queue.delay
            paid += (tasks.outsourced + tasks.left_later) * tasks.queue.outsourcing
        assert calendar.paid == pytest.approx(paid)


def test_starts_that_are_left_out_have_no_room() -> None:
    """Earliest starts found one by one, without skipping."""
    random = stream(3, "free")
    for size in (1, 2, 5):
        free = random.randint(0, 4, 60).tolist()
        own = queue("q", size, 40, 1.0)
        for reserve in (0, 1):
            expected, left = [], list(free)
            for start in range(1, 40 - size + 2):
                room = min(left[start : start + size]) - (reserve if start > 1 else 0)
                if room > 0:
                    expected.append((start, room))
                    left = [each - room * (start <= at < start + size) for at, each in enumerate(left)]
            assert book(list(free), 0, own, 10**6, reserve, 0)[0] == expected


NEAREST = [
    Regime(0.9, 2, "rare dear", "4 l", 0.5, "daily"),
    Regime(0.9, 4, "long cheap", "20 l", 1.0, "daily"),
    Regime(2.0, 4, "rare dear", "4 l", 1.0, "daily"),
    Regime(2.0, 2, "rare dear", "4 l", 1.0, "smooth"),
]


@pytest.mark.parametrize("regime", NEAREST, ids=str)
def test_cheap_tasks_that_wait_keep_no_dear_ones_out(regime: Regime, tmp_path: Path) -> None:
    """Where bookings were final, the controller was cheaper by 15, 14, 7 and 3 %."""
    spec = spec_of(regime, tmp_path, horizon=600, seed=1)
    plans = [api.solve(spec, method).plan for method in METHODS]
    assert ratio([charged(spec, plan) for plan in plans if isinstance(plan, HybridPlan)]) < 1.0
