"""The 24 workloads against the tables of the paper, and both forms of the model and the LP bound on them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mrdsl
from mrdsl import Limits
from mrdsl.families.energy.cluster import jobs_of, machines_of
from mrdsl.families.energy.methods.local_search import relaxations
from tests.shared_data import shared

from .specs import NAMES, SCALES, workload

ROOT = Path(__file__).resolve().parents[3]


def paper_rows(columns: int) -> dict[str, list[str]]:
    """The paper's table rows of so many columns, by their first cell."""
    paper = shared("papers/002_0f134838b1ac2344.txt")
    rows = {}
    for line in paper.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == columns and re.fullmatch(r"[\d.]+", cells[1]):
            rows[cells[0].lower()] = cells[1:]
    return rows


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_workload_is_that_of_table_3(name: str, scale: str) -> None:
    row = [float(cell) for cell in paper_rows(17)[name]]
    maps, reduces, cents, deadline, _ = row[1 + 5 * SCALES.index(scale) :][:5]
    job = workload(name, scale).facts.jobs[0]
    assert (job.map.tasks, job.reduce_tasks) == (maps, reduces)
    assert job.map.block == row[0] * 1e6
    assert job.deadline == deadline
    assert job.budget == pytest.approx(cents / 100)


@pytest.mark.parametrize("scale", SCALES)
def test_machines_are_those_of_tables_2_and_4(scale: str) -> None:
    kinds, numbers = paper_rows(6), paper_rows(4)
    facts = workload("worcou", scale).facts
    for vm in facts.vms:
        _, _, maps, reduces, price = (float(cell) for cell in kinds[vm.name])
        assert (vm.slots.map, vm.slots.reduce) == (maps, reduces)
        assert vm.on_demand.price == pytest.approx(price / 3600)
        assert vm.available == float(numbers[vm.name][SCALES.index(scale)])
    assert len(facts.vms) == len(kinds)


@pytest.mark.parametrize("name", ["classif", "hismov"])
def test_both_forms_have_the_same_optimum(name: str) -> None:
    spec = workload(name, "small")
    counted, printed = (
        mrdsl.solve(spec, "highs", formulation=form, limits=Limits(gap=0.0)) for form in ("counted", "per_task")
    )
    assert counted.solution == printed.solution == "optimal"
    assert counted.objective.value == pytest.approx(printed.objective.value, rel=1e-6)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", NAMES)
def test_bound_over_types_is_the_relaxed_counted_model(name: str, scale: str) -> None:
    spec = workload(name, scale)
    (ours,) = relaxations(machines_of(spec.facts), jobs_of(spec.facts), [None])
    relaxed = mrdsl.solve(spec, "highs", formulation="counted", relax=True)
    assert ours is not None
    assert ours.energy == pytest.approx(relaxed.objective.value, rel=1e-6)
    assert np.all(ours.vms[0] <= machines_of(spec.facts).available)
