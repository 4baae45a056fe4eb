"""VMs of one class alone, two kinds of containers: their bound against every choice of slots, packed exactly."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import ceil

import numpy as np
import pytest

from mrdsl.core.rounding import ROUNDING
from mrdsl.families.capacity.instance import mix_of
from mrdsl.families.capacity.methods.weighing import of_one_class
from mrdsl.formulas.packing import pack
from mrdsl.formulas.whole_slots import efficient_pairs
from mrdsl.language.loading import load_text


def drawn(seed: int) -> str:
    random = np.random.RandomState(seed)
    cores, memory = int(random.choice([4, 8, 16])), int(random.choice([2, 4, 8]))
    tasks, times, taken = random.randint(1, 40, 2), random.randint(1, 60, 2), random.randint(1, 4, 4)
    return f"""problem capacity "one class", estimates = paper
whole = machines
vm t {{ cores = {cores}, memory = {cores * memory} GiB, on_demand {{ price = 0.2 USD/h }} }}
class a {{
  map {{ tasks = {tasks[0]}, avg = {times[0]} s, max = {times[0]} s }}
  reduce {{ tasks = {tasks[1]}, avg = {times[1]} s, max = {times[1]} s }}
  shuffle {{ first_max = 1 s, avg = 1 s, max = 1 s }}
  container {{
    map {{ cores = {taken[0]}, memory = {taken[1]} GiB }}
    reduce {{ cores = {taken[2]}, memory = {2 * taken[3]} GiB }}
  }}
  jobs = 1..3, deadline = {random.randint(60, 1500)} s, penalty = 5 USD
}}
minimize cost
"""


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_of_one_class_is_close_to_its_fewest_machines(seed: int) -> None:
    spec = load_text(drawn(seed), {}, name="drawn").spec
    mix = mix_of(spec)
    if mix.sizes is None or not mix.possible.all():
        pytest.skip("no slots meet the deadline, or a container takes equal parts of both resources")
    work, limits = mix.pairs.work, mix.pairs.limits
    pairs = efficient_pairs(
        (float(work.map_work[0, 0]), float(work.reduce_work[0, 0])),
        float(mix.pairs.completion_limit[0] - work.constant[0, 0]),
        (int(limits.map_least[0, 0]), int(limits.reduce_least[0, 0])),
        (float(limits.map_most[0, 0]), float(limits.reduce_most[0, 0])),
        25,
    )
    if pairs is None:
        pytest.skip("there are too many pairs of slots to try")
    sizes = [mix.sizes.of(int(mix.sizes.keys[kind, 0, 0])) for kind in (0, 1)]
    part = float(of_one_class(mix)[0][0, 0])
    for jobs in (1, 2):
        slots = {
            (sum(maps for maps, _ in some), sum(reduces for _, reduces in some))
            for some in combinations_with_replacement(pairs, jobs)
        }
        packed = [pack(sizes, each) for each in slots]
        fewest = min(each.vms for each in packed)
        assert fewest == min(each.least for each in packed)
        assert fewest - 1 <= ceil(part * jobs - ROUNDING) <= fewest
