"""Work, critical path and width of DAGs of stages, against enumeration; one stage is a map phase to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from mrdsl.families.capacity.facts import JobClass
from mrdsl.formulas.estimates import estimates_of, slot_limits
from mrdsl.formulas.stages import Parents, find_cycle, in_order, longest_path, stage_work, width
from mrdsl.spec.blocks import MapPhase, Slots
from mrdsl.spec.schema import Range
from mrdsl.spec.stages import Stage
from tests.formulas.random_stages import numbers, random_stages


def of_stages(stages: tuple[Stage, ...], name: str = "c", **items: object) -> JobClass:
    facts = {"slots": Slots(task=2), "jobs": Range(1.0, 2.0), "deadline": 1e4, "penalty": 1.0} | items
    return JobClass(name=name, stages=stages, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(60))
def test_width_and_paths_are_those_of_enumeration(seed: int) -> None:
    stages = random_stages(np.random.default_rng(seed))
    found = stage_work([of_stages(stages)])
    assert found is not None
    ours = (found.work[0], found.path_avg[0], found.path_max[0], found.width[0])
    assert ours == pytest.approx(numbers(stages), rel=1e-14)


@pytest.mark.parametrize(("tasks", "avg", "longest"), [(200, 9.0, 21.0), (7, 3.3, 3.3), (3, 5.0, 11.7), (1, 0.1, 0.3)])
def test_one_stage_is_a_map_phase_to_the_last_digit(tasks: int, avg: float, longest: float) -> None:
    stage = of_stages((Stage(name="only", tasks=tasks, avg=avg, max=longest),))
    phase = JobClass(
        name="c",
        map=MapPhase(tasks=tasks, avg=avg, max=longest),
        slots=Slots(map=2, reduce=1),
        jobs=Range(1.0, 2.0),
        deadline=1e4,
        penalty=1.0,
    )
    ours, theirs = estimates_of([stage]), estimates_of([phase])
    for name in ("lower", "average", "upper"):
        for part in ("map_work", "reduce_work", "constant"):
            assert getattr(ours[name], part)[0] == getattr(theirs[name], part)[0], (name, part)
    for part in ("map_least", "map_most", "reduce_least", "reduce_most"):
        assert getattr(slot_limits([stage]), part)[0] == getattr(slot_limits([phase]), part)[0]


def test_the_upper_estimate_of_few_tasks_keeps_the_work() -> None:
    """W = 10 s is less than 2 P = 44 s: W / k + 2 P."""
    stages = (Stage(name="a", tasks=2, avg=3.0, max=12.0), Stage(name="b", tasks=1, avg=4.0, max=10.0, after=("a",)))
    work = estimates_of([of_stages(stages)])["upper"]
    assert (float(work.map_work[0]), float(work.constant[0])) == (10.0, 44.0)


def test_cycles_are_found_and_shown_in_order() -> None:
    parents: Parents = ((), (0, 3), (1,), (2,), (2,))
    assert in_order(parents) == [0]
    assert find_cycle(parents) == [1, 2, 3]
    assert find_cycle(((0,),)) == [0]
    assert find_cycle(((), (0,), (0, 1))) == []


def test_the_longest_path_of_equal_ones_is_the_first() -> None:
    assert longest_path(((), (), (0, 1), (2,), (2,)), [5.0, 5.0, 1.0, 2.0, 2.0]) == [0, 2, 3]


def test_a_thousand_stages_are_no_trouble() -> None:
    """A ladder of 500 rungs of two: its width is one rung's tasks."""
    parents = tuple((2 * (n // 2) - 2, 2 * (n // 2) - 1) if n >= 2 else () for n in range(1000))
    assert width(tuple([10**12, 3] * 500), parents) == 10**12 + 3
