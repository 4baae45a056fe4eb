"""Policies on worlds small enough to be worked out by hand."""

from __future__ import annotations

import pytest

from mrdsl.families.schedule.methods.policy import EpochEdf, EventEdf, InstanceTypes, Malleable, Naive, slots_for
from mrdsl.formulas.waves import WaveProfile
from mrdsl.simulation.fleet import Job, Log, MachineType
from mrdsl.simulation.sampling import ConstantPrice, RecordedPrice
from mrdsl.simulation.scheduling import Observed, Policy, Simulation
from tests.families.schedule.audit_of_runs import audit

HOUR = 3600.0
ON_DEMAND = InstanceTypes("on_demand", 0.9)
MACHINE = MachineType(1, 1, 0.1 / HOUR, HOUR)


def run(
    policy: Policy, *jobs: Job, prices: RecordedPrice | ConstantPrice | None = None, machine: MachineType = MACHINE
) -> tuple[Observed, dict[str, float], Log]:
    log = Log()
    seen = Simulation(machine, prices, jobs, policy, log).run()
    return seen, {each.facts["job"]: each.time for each in log.entries if each.what == "finish"}, log


def rented(log: Log) -> list[tuple[float, int, str]]:
    return [(each.time, each.facts["vms"], each.facts["kind"]) for each in log.entries if each.what == "rent"]


TWO = (Job("a", 0.0, 20.0, 4, 10.0), Job("b", 5.0, 30.0, 2, 10.0))


def test_ndasa_rents_what_is_missing() -> None:
    """a: 40 s of work in 20 s, two slots, two waves; b: 20 s in 25 s, one slot, and none is free."""
    seen, ends, log = run(Naive(ON_DEMAND, "least_slots"), *TWO)
    assert ends == {"a": 20.0, "b": 25.0}
    assert rented(log) == [(0.0, 2, "on_demand"), (5.0, 1, "on_demand")]
    assert seen.bill.on_demand == pytest.approx(3 * 0.1)


def test_mdasa_puts_tasks_behind_those_that_end_in_time() -> None:
    """b's one slot is worth two tasks; a's slots fall free at 20 s and each runs one of them before 30 s."""
    seen, ends, log = run(Malleable(ON_DEMAND, "least_slots"), *TWO)
    assert ends == {"a": 20.0, "b": 30.0}
    assert rented(log) == [(0.0, 2, "on_demand")]
    assert seen.tardy == 0


def test_mdasa_leaves_reduce_tasks_their_time() -> None:
    """c's map task must end by 35 s for its reduce task to be in time: a's slots, free at 20 s, are in time for it."""
    c = Job("c", 5.0, 40.0, 1, 10.0, 1, 2.0, 3.0)
    _, ends, log = run(Malleable(ON_DEMAND, "fixed_reduce"), TWO[0], c)
    assert ends["c"] == 35.0
    assert rented(log) == [(0.0, 2, "on_demand")]
    tight = Job("c", 5.0, 34.0, 1, 10.0, 1, 2.0, 3.0)
    _, ends, log = run(Malleable(ON_DEMAND, "fixed_reduce"), TWO[0], tight)
    assert ends["c"] == 20.0
    assert len(rented(log)) == 2


def test_free_slots_come_before_new_ones() -> None:
    late = Job("late", 100.0, 200.0, 3, 50.0)
    _, ends, log = run(Naive(ON_DEMAND, "least_slots"), TWO[0], late)
    assert rented(log) == [(0.0, 2, "on_demand")]
    assert ends["late"] == 200.0


@pytest.mark.parametrize("policy", [Naive, Malleable, EpochEdf, EventEdf])
def test_every_idle_slot_takes_a_task(policy: type[Naive]) -> None:
    """Four VMs of a are idle when b's four tasks come: lines 4-9 give each a task, b's sizing (one slot) gives one."""
    a, b = Job("a", 0.0, 10.0, 4, 10.0), Job("b", 60.0, 100.0, 4, 10.0)
    _, ends, log = run(policy(ON_DEMAND, "least_slots"), a, b)
    assert ends["b"] == 70.0
    assert rented(log) == [(0.0, 4, "on_demand")]
    _, ends, _ = run(policy(ON_DEMAND, "least_slots", "sized"), a, b)
    assert ends["b"] == 100.0


def test_idle_slots_before_the_sizing_asks_for_new_ones() -> None:
    """b needs four slots for two waves of its eight tasks; three are idle, one is rented, none is used for more."""
    a, b = Job("a", 0.0, 10.0, 3, 10.0), Job("b", 60.0, 80.0, 8, 10.0)
    for policy in (Naive, Malleable):
        _, ends, log = run(policy(ON_DEMAND, "least_slots"), a, b)
        assert rented(log) == [(0.0, 3, "on_demand"), (60.0, 1, "on_demand")]
        assert ends["b"] == 80.0


def test_a_vm_is_kept_only_while_it_works() -> None:
    """An hour and a second of work pays two hours; a VM idle at the hour is gone."""
    seen, _, log = run(
        Naive(ON_DEMAND, "least_slots"),
        Job("x", 0.0, 3601.0, 1, 3601.0),
        Job("y", 0.0, 5.0, 1, 5.0),
        Job("z", 7300.0, 7310.0, 1, 10.0),
    )
    assert seen.bill.on_demand_seconds == (2 + 1 + 1) * HOUR
    assert [each.time for each in log.entries if each.what == "release"] == [3600.0, 7200.0]


def test_ep_edf_serves_at_epochs_by_due_time() -> None:
    """Both wait for 120 s. One VM is idle there; the job due first gets it, the other one a new VM."""
    first = Job("first", 1.0, 10.0, 1, 10.0)
    far, near = Job("far", 61.0, 400.0, 1, 10.0), Job("near", 62.0, 300.0, 1, 10.0)
    _, ends, log = run(EpochEdf(ON_DEMAND, "least_slots", epoch=60.0), first, far, near)
    assert ends == {"first": 70.0, "near": 130.0, "far": 130.0}
    assert [each.facts["job"] for each in log.entries if each.what == "place"] == ["first", "near", "far"]
    assert rented(log) == [(60.0, 1, "on_demand"), (120.0, 1, "on_demand")]


@pytest.mark.parametrize("others", [True, False])
def test_ep_edf_serves_at_once_what_comes_at_an_epoch(others: bool) -> None:
    """An epoch's decision comes last in its moment, whether somebody waited for it or not."""
    waits, at_epoch = Job("waits", 50.0, 90.0, 1, 10.0), Job("comes", 60.0, 90.0, 1, 10.0)
    policy = EpochEdf(ON_DEMAND, "least_slots", epoch=60.0)
    _, ends, _ = run(policy, waits, at_epoch) if others else run(policy, at_epoch)
    assert ends["comes"] == 70.0


def test_ev_edf_decides_after_all_ends_of_a_moment() -> None:
    """Both map phases end at 10 s. b, due first, is served first; between the two ends only a would be ready."""
    a, b = Job("a", 0.0, 400.0, 1, 10.0, 2, 0.0, 50.0), Job("b", 0.0, 100.0, 1, 10.0, 2, 0.0, 40.0)
    _, ends, log = run(EventEdf(ON_DEMAND, "fixed_reduce", low_utilization=0.5), a, b)
    placed = dict.fromkeys((each.time, each.facts["job"]) for each in log.entries if each.what == "place")
    assert list(placed) == [(0.0, "b"), (0.0, "a"), (10.0, "b"), (10.0, "a")]
    assert ends == {"a": 110.0, "b": 50.0}  # a's two reduce tasks have time for one slot


def test_ev_edf_serves_arrivals_of_a_moment_by_due_time() -> None:
    """One VM is idle when both arrive: the job due first takes it, the other one a new VM."""
    one, far, near = Job("one", 0.0, 10.0, 1, 10.0), Job("far", 60.0, 400.0, 1, 10.0), Job("near", 60.0, 80.0, 1, 10.0)
    _, _, log = run(EventEdf(ON_DEMAND, "least_slots", low_utilization=1.0), one, far, near)
    assert [each.facts["job"] for each in log.entries if each.what == "place"] == ["one", "near", "far"]


def test_ev_edf_waits_for_low_utilisation() -> None:
    """b and c wait while a works on the only VM; when it ends, the one due first takes it, the other a new one."""
    a, b, c = Job("a", 0.0, 10.0, 1, 10.0), Job("b", 1.0, 90.0, 1, 10.0), Job("c", 2.0, 80.0, 1, 10.0)
    _, ends, log = run(EventEdf(ON_DEMAND, "least_slots", low_utilization=0.5), a, b, c)
    assert [each.facts["job"] for each in log.entries if each.what == "place"] == ["a", "c", "b"]
    assert ends == {"a": 10.0, "c": 20.0, "b": 20.0}
    assert [time for time, _, _ in rented(log)] == [0.0, 10.0]


@pytest.mark.parametrize(("broken_free", "spot"), [(True, 0.0), (False, 0.02)])
def test_an_eviction_loses_the_running_task_and_the_broken_hour(broken_free: bool, spot: float) -> None:
    """One slot, two tasks of 60 s. At 100 s the market rises above the bid: the second task starts again on demand.

    The hour that the market breaks off is paid only where the VM's billing says so.
    """
    machine = MachineType(1, 1, 0.1 / HOUR, HOUR, broken_free=broken_free)
    prices = RecordedPrice((0.0, 100.0), (0.02 / HOUR, 0.5 / HOUR))
    seen, ends, log = run(
        Naive(InstanceTypes("hybrid", 0.9), "least_slots"),
        Job("a", 0.0, 180.0, 2, 60.0),
        prices=prices,
        machine=machine,
    )
    assert rented(log) == [(0.0, 1, "spot"), (100.0, 1, "on_demand")]
    assert ends == {"a": 160.0}
    assert (seen.evictions, seen.lost_tasks, seen.tasks) == (1, 1, 2)
    assert (seen.bill.spot, seen.bill.on_demand) == (pytest.approx(spot), pytest.approx(0.1))
    assert seen.bill.broken_seconds == (100.0 if broken_free else 0.0)
    assert audit(log.entries, machine, [Job("a", 0.0, 180.0, 2, 60.0)], seen.bill.spot + seen.bill.on_demand) == []
    assert seen.busy_seconds == 160.0


@pytest.mark.parametrize(("taken", "paid"), [(3600.0, 1), (3601.0, 1), (7199.0, 1), (7200.0, 2)])
def test_only_the_period_that_is_broken_off_is_free(taken: float, paid: int) -> None:
    """A VM that is taken at the end of a period has used it up: that one is paid, and the next has not started."""
    prices = RecordedPrice((0.0, taken), (0.02 / HOUR, 0.5 / HOUR))
    job = Job("a", 0.0, 7300.0, 1, 7300.0)
    seen, _, log = run(Naive(InstanceTypes("hybrid", 0.01), "least_slots"), job, prices=prices)
    assert seen.bill.spot == pytest.approx(0.02 * paid)
    assert seen.bill.broken_seconds == taken % 3600.0
    assert audit(log.entries, MACHINE, [job], seen.bill.spot + seen.bill.on_demand) == []


def test_a_spot_vm_pays_the_price_at_the_start_of_each_hour() -> None:
    """Two hours and a bit at a bid that outlasts all moves: 0.02, then 0.03, then 0.01 per hour."""
    prices = RecordedPrice((0.0, 1800.0, 7000.0), (0.02 / HOUR, 0.03 / HOUR, 0.01 / HOUR))

    class High(InstanceTypes):
        def bid(self, sim: Simulation, length: float) -> float | None:
            return 1.0

    seen, _, _ = run(Naive(High("spot", 0.9), "least_slots"), Job("a", 0.0, 7300.0, 1, 7300.0), prices=prices)
    assert seen.bill.spot == pytest.approx(0.02 + 0.03 + 0.01)


@pytest.mark.parametrize(("price", "kind"), [(0.09, "spot"), (0.11, "on_demand")])
def test_hybrid_takes_spot_below_the_on_demand_price(price: float, kind: str) -> None:
    _, _, log = run(Naive(InstanceTypes("hybrid", 0.9), "least_slots"), TWO[0], prices=ConstantPrice(price / HOUR))
    assert [each[2] for each in rented(log)] == [kind]


def test_sizing_holds_slots_within_tasks() -> None:
    """(3.17) asks for 2.5 map slots for two map tasks; with both, one reduce wave must fit into what is left."""
    profile = WaveProfile.of_equal_tasks(2, 40.0, 8, 5.0, 5.0)
    a, b = 80.0, 80.0
    time = 64.0
    assert (a**0.5) * (a**0.5 + b**0.5) / time == pytest.approx(2.5)
    assert slots_for(profile, time, "least_slots") == (2, 4)  # 80 / (64 - 40) = 3.33
    assert slots_for(profile, time, "fixed_reduce") == (2, 8)
    assert slots_for(profile, 40.0, "least_slots") == (2, 8)  # nothing is left: all tasks at once
