"""Slots of a job on VMs that are taken back: against all pairs, with the losses that the mix says."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import ceil

import numpy as np
import pytest

import mrdsl
from mrdsl.families.capacity.instance import mix_of
from tests.families.capacity.type_specs import random_types

ONE_REDUCE = """problem capacity "a job with one reduce task", estimates = paper
vm a {{ on_demand {{ price = 0.20 USD/h }}, spot {{ price = 0.07 USD/h, interruptions = {rate}/h }} }}
class c {{
  map {{ tasks = 10, avg = 10 s, max = 12 s }}, reduce {{ tasks = 1, avg = 5 s, max = 6 s }},
  shuffle {{ first_max = 2 s, avg = 2 s, max = 3 s }}, slots {{ map = 2, reduce = 2 }},
  jobs = 10..10, deadline = 15 min, penalty = 9 USD
}}
minimize cost"""


@pytest.mark.parametrize("rate", ["0", "0.00007", "0.05", "0.5"])
def test_a_job_holds_one_slot_of_each_kind_at_the_least(rate: str) -> None:
    """Half a VM of maps and half a VM of reduces, ten times: what one slot loses a long deadline has time for."""
    result = mrdsl.solve(mrdsl.loads(ONE_REDUCE.format(rate=rate)), "highs")
    assert result.value == pytest.approx(10 * 0.07)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("what", ["slots", "no"])
def test_slots_are_the_fewest_vms_that_keep_the_deadline_with_what_is_lost(seed: int, what: str) -> None:
    spec = random_types(seed)
    spec = replace(spec, facts=replace(spec.facts, whole=what))
    mix = mix_of(spec)
    for lane, index in zip(*np.nonzero(mix.possible & mix.market.spot[:, None]), strict=True):
        vm = int(mix.market.vm_of_lane[lane])
        work = mix.pairs.work.map_work[vm, index], mix.pairs.work.reduce_work[vm, index]
        kept = mix.map_kept[lane, index], mix.reduce_kept[lane, index]
        most = mix.pairs.limits.map_most[vm, index], mix.pairs.limits.reduce_most[vm, index]
        per_vm = mix.pairs.map_per_vm[vm, index], mix.pairs.reduce_per_vm[vm, index]
        left = mix.deadline[index] - mix.pairs.work.constant[vm, index]
        boxes = [
            range(1, 1 + int(min(400, ceil(m / k - 1e-9)))) if w else (0,)
            for m, k, w in zip(most, kept, work, strict=True)
        ]
        pairs = [
            m / per_vm[0] + r / per_vm[1]
            for m, r in product(*boxes)
            if sum(w / (n * k) for w, n, k in zip(work, (m, r), kept, strict=True) if w) <= left * (1 + 1e-12)
        ]
        if what == "slots":
            assert mix.gamma[lane, index] == pytest.approx(min(pairs))
        elif pairs:
            assert mix.gamma[lane, index] <= min(pairs) * (1 + 1e-9)
