"""YARN's capacity-scheduler.xml: written, read back, and read as Hadoop's own samples are written."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as some

from mrdsl import MrdslError
from mrdsl.cli import cli
from mrdsl.exchange.schedulers import Queue, capacity_scheduler, mistakes, percentages
from mrdsl.exchange.targets.deployment import Wishes, queue_names
from mrdsl.planning.exporting import export
from mrdsl.planning.solve_spec import solve
from studies.joint_instances import instance
from tests.exchange.scheduler_files import read_capacity_scheduler
from tests.shared_data import shared_files

ROOT = Path(__file__).resolve().parents[2]


@settings(derandomize=True, max_examples=60, deadline=None)
@given(some.lists(some.floats(0, 1e6), min_size=1, max_size=50), some.integers(0, 6))
def test_percentages_add_up_to_exactly_100(weights: list[float], digits: int) -> None:
    shares = percentages(weights, digits)
    assert sum(shares) == 100
    total = sum(weights)
    for weight, share in zip(weights, shares, strict=True):
        exact = weight / total if total else 1 / len(weights)
        assert abs(float(share) - 100 * exact) <= 10.0**-digits * (1 + 1e-9)
        assert share >= 0


@pytest.mark.parametrize(
    ("weights", "shares"),
    [
        ([1, 1, 1], ["33.334", "33.333", "33.333"]),
        ([2, 1], ["66.667", "33.333"]),
        ([0, 0], ["50", "50"]),
        ([5], ["100"]),
        ([1, 0], ["100", "0"]),
    ],
)
def test_percentages_by_hand(weights: list[float], shares: list[str]) -> None:
    assert percentages(weights) == tuple(Decimal(share) for share in shares)


@pytest.mark.parametrize("weights", [[], [1.0, -1.0]])
def test_no_percentages_of_nothing(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        percentages(weights)


def _siblings(drawn: list[tuple[float, tuple[Queue, ...]]]) -> tuple[Queue, ...]:
    shares = percentages([weight for weight, _ in drawn])
    return tuple(
        Queue(f"q{i}", share, children=below, user_limit=i or None)
        for i, (share, (_, below)) in enumerate(zip(shares, drawn, strict=True))
    )


queue_trees = some.recursive(
    some.just(()),
    lambda below: some.lists(some.tuples(some.floats(0.01, 10), below), min_size=1, max_size=4).map(_siblings),
    max_leaves=12,
)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(queue_trees.filter(bool))
def test_what_is_written_is_read_back(children: tuple[Queue, ...]) -> None:
    root = Queue("root", children=children)
    assert not mistakes(root)
    assert read_capacity_scheduler(capacity_scheduler(root)) == root


@pytest.mark.parametrize(
    ("root", "reason"),
    [
        (Queue("root", children=(Queue("a", Decimal("99.9")),)), "add up to 99.9"),
        (Queue("root", children=(Queue("a", Decimal(50)), Queue("a", Decimal(50)))), "one name"),
        (Queue("root", children=(Queue("a.b"),)), "letters"),
        (Queue("root", children=(Queue("a", Decimal(100), maximum=Decimal(50)),)), "maximum 50"),
    ],
)
def test_what_yarn_refuses_is_not_written(root: Queue, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        capacity_scheduler(root)


@pytest.mark.parametrize("path", shared_files("data/sls/*/*capacity-scheduler.xml"), ids=lambda path: path.name)
def test_hadoops_own_samples(path: Path) -> None:
    """Three queues of 25, 25 and 50 %, as in the simulator's sample; ours differ in nothing that is read."""
    root = read_capacity_scheduler(path.read_text(encoding="utf-8"))
    assert [(q.name, q.capacity, q.maximum) for q in root.children] == [
        ("sls_queue_1", 25, 100),
        ("sls_queue_2", 25, 100),
        ("sls_queue_3", 50, 100),
    ]
    assert not mistakes(root)
    assert read_capacity_scheduler(capacity_scheduler(root)) == root


def test_a_day_of_queues() -> None:
    """Every period has the weights (47) of its plan, as percentages that add up to 100 on both levels."""
    spec = instance("S2", 1)
    spec = replace(spec, facts=replace(spec.facts, cluster=replace(spec.facts.cluster, size=700)))
    plan = solve(spec).plan
    files = export(spec, plan, "yarn", Wishes()).files  # type: ignore[arg-type]
    assert set(files) == {f"{kind}-scheduler-{t:02}.xml" for kind in ("capacity", "fair") for t in range(24)}
    files = {name: text for name, text in files.items() if name.startswith("capacity")}
    for t, text in enumerate(files.values()):
        root = read_capacity_scheduler(text)
        assert not mistakes(root)
        (layer,) = root.children
        slots = [plan.classes.map_slots[t, i] + plan.classes.reduce_slots[t, i] for i in range(4)]  # type: ignore[union-attr]
        shares = [float(queue.capacity) for queue in layer.children]
        assert shares == pytest.approx([100 * s / sum(slots) for s in slots], abs=1e-3)
        assert all(float(q.capacity) * q.user_limit >= 100 - 1e-9 for q in layer.children)  # type: ignore[operator]


def test_names_that_yarn_takes() -> None:
    assert queue_names(["a b", "a.b", "a_b", "n1-x"]) == ["a_b", "a_b_2", "a_b_3", "n1-x"]


def test_the_command(tmp_path: Path) -> None:
    reference = str(ROOT / "models" / "joint" / "reference.mrspec")
    done = CliRunner().invoke(cli, ["export", reference, "yarn", "-o", str(tmp_path)], standalone_mode=False)
    assert done.return_value == 0
    names = ["capacity-scheduler.xml", "fair-scheduler.xml", "mapred-recommendations.xml"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert done.stdout.split() == [str(tmp_path / name) for name in names]
    path = tmp_path / names[0]
    assert [name for name, _ in read_capacity_scheduler(path.read_text()).walk()] == [
        "root",
        "root.mapreduce",
        "root.mapreduce.recommendations",
    ]
    for form, code in (("yarm", "unknown-form"),):
        done = CliRunner().invoke(cli, ["export", reference, form], standalone_mode=False)
        assert isinstance(done.exception, MrdslError)
        assert [d.code for d in done.exception.diagnostics] == [code]
