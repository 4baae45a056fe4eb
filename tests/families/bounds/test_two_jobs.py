"""Propositions 2.2 and 2.3 from a spec: by hand, against greedy runs of two jobs, and where they say nothing."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
import pytest

import mrdsl

REDUCING = "max = 9 s }, shuffle { first_max = 1 s, avg = 1 s, max = 1 s }, reduce { tasks = 2, avg = 1 s, max = 1 s }"
SPEC = """problem bounds
cluster { slots { map = 12, reduce = 12 }ORDER }
class a { map { tasks = 60, avg = 10 s, max = 20 s }, jobs = 1, share = 25% }
class b { map { tasks = 40, avg = 6 s, max = 9 s }, jobs = 1, share = 75% }
estimate completion
"""


def two_jobs(text: str) -> dict[str, object] | None:
    plan = mrdsl.solve(mrdsl.loads(text.replace("ORDER", ""))).plan
    assert plan is not None
    found: dict[str, object] | None = plan.document().get("two_jobs")
    return found


def test_by_hand() -> None:
    """600 s of work on 3 slots and 240 s on 9: b ends first, a takes the rest of 12."""
    found = two_jobs(SPEC)
    assert found == {
        "first_lower": 240 / 9,
        "last_lower": 840 / 12,
        "upper": {"a": (240 + 600 - 20) / 12 + 20, "b": (240 - 9) / 9 + 9},
    }


def ends(times: list[list[float]], slots: list[int]) -> list[float]:
    """When two jobs end whose tasks start greedily: each on its own slots, on the other's once it has none to start."""
    running: list[tuple[float, int, int]] = []
    waiting, last = [list(one) for one in times], [0.0, 0.0]
    free, now = list(slots), 0.0
    while running or any(waiting):
        for owner in (0, 1):
            while free[owner]:
                job = owner if waiting[owner] else 1 - owner
                if not waiting[job]:
                    break
                free[owner] -= 1
                heappush(running, (now + waiting[job].pop(0), owner, job))
        now, owner, job = heappop(running)
        free[owner] += 1
        last[job] = max(last[job], now)
    return last


def test_greedy_runs_lie_within() -> None:
    """150 drawn pairs of jobs whose profile is exactly theirs."""
    random = np.random.RandomState(5)
    for _ in range(150):
        slots = [int(random.randint(1, 5)), int(random.randint(1, 5))]
        times = [random.uniform(1, 9, int(random.randint(each, 25))).tolist() for each in slots]
        classes = "".join(
            f"class {name} {{ map {{ tasks = {len(one)}, avg = {np.mean(one):.17g} s, max = {max(one):.17g} s }}, "
            f"jobs = 1, share = {each / sum(slots):.17g} }}\n"
            for name, one, each in zip("ab", times, slots, strict=True)
        )
        head = f"problem bounds\ncluster {{ slots {{ map = {sum(slots)}, reduce = {sum(slots)} }} }}\n"
        found = two_jobs(head + classes + "estimate completion\n")
        assert found is not None
        last = ends(times, slots)
        upper, first = found["upper"], found["first_lower"]
        assert isinstance(upper, dict)
        assert max(last) >= found["last_lower"] * (1 - 1e-9)  # type: ignore[operator]
        assert first is None or min(last) >= first * (1 - 1e-9)  # type: ignore[operator]
        assert all(end <= upper[name] * (1 + 1e-9) for name, end in zip("ab", last, strict=True))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ORDER", ", scheduler = fifo"),
        ("ORDER", ", work_conserving = no"),
        ("jobs = 1, share = 25%", "jobs = 2, share = 25%"),
        ("share = 75% }", "share = 70% }\nclass c { map { tasks = 4, avg = 6 s, max = 9 s }, share = 5% }"),
        ("max = 9 s }", REDUCING),
    ],
)
def test_beyond_their_range_nothing_is_said(old: str, new: str) -> None:
    assert two_jobs(SPEC.replace(old, new)) is None


def test_a_job_that_cannot_fill_its_share_has_no_first_bound() -> None:
    """One task beside forty: the bound of 2.2 on the first end fails there."""
    found = two_jobs(SPEC.replace("tasks = 60, avg = 10 s", "tasks = 1, avg = 20 s"))
    assert found is not None
    assert found["first_lower"] is None
