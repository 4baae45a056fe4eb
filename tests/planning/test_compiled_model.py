"""A compiled model in a loop gives what a fresh start gives, keeps its worker, and holds memory flat."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.solving import worker
from mrdsl.solving.backends import highs

SPEC = """problem capacity "two classes"
param peak = 1.0
param half = peak / 2
param slack = 0 s
param most = 500
vm m5 {{ on_demand {{ price = 0.192 USD/h * peak }}, reserved {{ price = 0.121 USD/h, available = 5 }} }}
class a {{
  coefficients {{ A = 5400 s, B = 1250 s, C = 95 s + slack }}
  slots {{ map = 4, reduce = 2 }}
  jobs = 4 .. 12 * half
  deadline = 10 min
  penalty = 20 USD
}}
class b{generator} {{
  coefficients {{ A = {work}, B = 900 s, C = 60 s }}
  slots {{ map = 2, reduce = 1 }}
  jobs = 2 .. 9
  deadline = 20 min - slack
  penalty = 0.02 USD
}}
seed = 1
minimize cost
subject to {{ vms <= most * peak }}
"""
PLAIN = SPEC.format(generator="", work="3000 s")
KINDS = {
    "plain": PLAIN,
    "generated": SPEC.format(generator="[1..3]", work="uniform(3000, 4000) * 1 s"),
    "random": SPEC.format(generator="", work="uniform(3000, 4000) * peak * 1 s"),
}
ROUNDS: list[dict[str, Any]] = [
    {"peak": 1.1},
    {"slack": "20 s"},
    {"peak": 0.9, "most": 60},
    {"slack": 0.0 + 30},
    {"half": 0.6},
    {"peak": 2},
]


@pytest.mark.parametrize("kind", KINDS)
def test_updates_are_what_a_fresh_start_reads(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "spec.mrspec"
    path.write_text(KINDS[kind], encoding="utf-8")
    compiled = mrdsl.compile(mrdsl.load(path, {"most": 400}))
    given: dict[str, Any] = {"most": 400}
    for change in ROUNDS[:3] + ROUNDS[4:]:
        compiled.update(**change)
        given.update(change)
        fresh = mrdsl.load(path, given)
        assert compiled.spec == fresh
        result, own = compiled.solve("highs"), mrdsl.solve(fresh, "highs")
        assert result.objective == own.objective
        assert result.termination == own.termination
    assert compiled._reader().local is (kind == "plain")


def test_a_text_without_a_file_is_updated_too() -> None:
    compiled = mrdsl.compile(mrdsl.loads(PLAIN))
    assert compiled.update(peak=1.5).spec == mrdsl.loads(PLAIN, {"peak": 1.5})


@pytest.mark.parametrize(
    ("change", "words"),
    [({"pek": 1}, "no param `pek`"), ({"slack": "3 USD"}, "slack"), ({"peak": -1}, "price"), ({"peak": "red"}, "red")],
)
def test_a_wrong_update_says_why_and_changes_nothing(change: dict[str, Any], words: str) -> None:
    compiled = mrdsl.compile(mrdsl.loads(PLAIN))
    before = compiled.update(peak=1.2).spec
    with pytest.raises(MrdslError, match=words):
        compiled.update(**change)
    assert compiled.spec is before
    assert compiled.update(most=100).spec.parameters["peak"] == 1.2


def test_the_model_follows_the_spec() -> None:
    compiled = mrdsl.compile(mrdsl.loads(PLAIN))
    first = compiled.model
    assert compiled.model is first
    assert compiled.update(peak=1.5).model is not first


def test_a_spec_of_python_is_revised() -> None:
    from dataclasses import replace

    spec = replace(mrdsl.loads(PLAIN), text="")
    compiled = mrdsl.compile(spec)
    with pytest.raises(MrdslError, match="built in Python"):
        compiled.update(peak=1.1)
    assert compiled.revise(mrdsl.loads(PLAIN, {"peak": 1.1})).solve("highs").plan is not None


def test_one_worker_and_flat_memory_over_many_rounds() -> None:
    compiled = mrdsl.compile(mrdsl.loads(PLAIN))
    pids, sizes = set(), []
    worker.close_all()  # one that tests before have used would end after its five hundredth use
    tracemalloc.start()
    try:
        for i in range(40):
            compiled.update(peak=1.0 + i / 100).solve("highs")
            pids.add(worker._workers()[highs.solve].pid)
            if i in (19, 39):
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert len(pids) == 1
    assert sizes[1] - sizes[0] < 20 * 2000, "twenty rounds keep less than 2 kB each"
