"""The bridge between the halves of paper 004: delays of tasks become queues, and the queues keep them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrdsl import api
from mrdsl.core.diagnostics import MrdslError
from studies.hybrid_bridge import bridge

MODELS = Path(__file__).resolve().parents[3] / "models"
FORK = """problem deadline "fork"
dag job {
  allowable_delay = 400 s
  task split { duration = 20 s }
  task left[1..3] { duration = 60 s, after = [split] }
  task join { duration = 35 s, after = [left] }
}
maximize slack
"""


def test_every_queue_keeps_the_delay_that_its_task_is_allowed(tmp_path: Path) -> None:
    (table,) = bridge(tmp_path, horizon=1500)
    found = {row[0]: row[1:] for row in table.rows}
    plan = api.solve(api.load(MODELS / "deadline" / "reference.mrspec")).plan
    assert plan is not None
    tasks = plan.document()["tasks"]
    assert found.keys() == tasks.keys()
    for name, (duration, allowed, size, delay, worst, *_) in found.items():
        assert (duration, allowed) == (tasks[name]["duration"], tasks[name]["delay"])
        assert duration <= 10 * size < duration + 10
        assert allowed - 10 < 10 * delay <= allowed
        assert 10 * size <= worst <= 10 * delay or found[name][-1] > 0
        assert worst <= allowed


def test_what_is_written_is_the_spec_that_was_run(tmp_path: Path) -> None:
    """Alike tasks of a job arrive as often as there are of them; all queues together keep nine tenths busy."""
    spec = tmp_path / "fork.mrspec"
    spec.write_text(FORK, encoding="utf-8")
    (table,) = bridge(tmp_path, spec=str(spec), slot=5.0, jobs=0.1, horizon=500)
    written = api.load(tmp_path / "bridge.mrspec")
    assert not [one for one in api.check(written) if one.severity == "error"]
    rates = {queue.name: queue.arrivals.parameters[0] for queue in written.facts.queues}
    counts = {"split": 1, "left": 3, "join": 1}
    assert rates == pytest.approx({name: 0.1 * count for name, count in counts.items()})
    work = sum(rates[queue.name] * queue.size for queue in written.facts.queues)
    (vm,) = written.facts.vms
    assert vm.available - 1 < work / 0.9 <= vm.available
    assert len(table.rows) == 3


def test_where_it_cannot_begin(tmp_path: Path) -> None:
    with pytest.raises(MrdslError, match="too few to wait"):
        list(bridge(tmp_path, slot=200.0))
    with pytest.raises(MrdslError, match="`deadline` spec"):
        list(bridge(tmp_path, spec=str(MODELS / "hybrid" / "reference.mrspec")))
