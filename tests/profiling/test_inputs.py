"""Runs that read far more than others of their name are classes of their own, on each type of machines."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl
from mrdsl import api
from mrdsl.profiling.losses import alike, divided, stem
from tests.profiling.test_growth import night


def names(inputs: list[int | None], works: list[float]) -> list[str]:
    runs = list(zip(inputs, works, strict=True))
    return [name for _, name in divided([(run, "etl") for run in runs], lambda run: run[0], lambda run: run[1])]


@pytest.mark.parametrize(
    ("inputs", "works", "wanted"),
    [
        ([10, 11, 40], [1.0, 1.0, 4.0], ["etl", "etl", "etl"]),
        ([10, 11, 44], [1.0, 1.0, 4.0], ["etl", "etl", "etl_2"]),
        ([44, 10, 11], [4.0, 1.0, 1.0], ["etl_2", "etl", "etl"]),
        ([10, 44, 45], [1.0, 4.0, 4.0], ["etl_2", "etl", "etl"]),
        ([10, 11, 44], [1.0, 1.0, 1.9], ["etl", "etl", "etl"]),
        ([10, 11, None], [1.0, 1.0, 9.0], ["etl", "etl", "etl"]),
        ([10, 11, 0], [1.0, 1.0, 9.0], ["etl", "etl", "etl"]),
        ([10, 10, 10], [1.0, 1.0, 9.0], ["etl", "etl", "etl"]),
        ([10], [1.0], ["etl"]),
        ([10, 40], [0.0, 0.0], ["etl", "etl_2"]),
        ([1, 10, 100, 1000, 10_000], [1.0, 10.0, 100.0, 1e3, 1e4], ["etl", "etl_2", "etl_3", "etl_4", "etl_4"]),
    ],
)
def test_where_a_name_is_divided(inputs: list[int | None], works: list[float], wanted: list[str]) -> None:
    """At 4 times the next smaller input with twice the work; at most three times."""
    found = names(inputs, works)
    if len(inputs) == 5:
        assert len(set(found)) == 4
        assert len(found) == 5
    else:
        assert found == wanted


def test_names_in_use_are_not_taken() -> None:
    runs = [(1, "etl"), (1, "etl"), (9, "etl"), (5, "etl_2")]
    found = divided([((size, float(size)), name) for size, name in runs], lambda run: run[0], lambda run: run[1])
    assert [name for _, name in found] == ["etl", "etl", "etl_3", "etl_2"]


@pytest.mark.parametrize(
    ("some", "others", "near"),
    [
        ((1, 2), (7.9, 9), True),
        ((1, 2), (8, 9), False),
        ((8, 9), (1, 2), False),
        (None, (8, 9), True),
        ((0, 0), None, True),
    ],
)
def test_inputs_that_divide_no_class(some: tuple[float, float] | None, others: tuple[float, float], near: bool) -> None:
    assert alike(some, others) is near


def test_names_without_their_numbers() -> None:
    assert [stem(each) for each in ("etl", "etl_2", "etl_2_3", "a_b")] == ["etl", "etl", "etl_2", "a_b"]


def logs(folder: Path, *sizes: int) -> Path:
    folder.mkdir()
    for number, size in enumerate(sizes):
        (folder / f"{number}").write_bytes(night(number, max(1, size // 100), size))
    return folder


def test_large_runs_are_a_class_of_their_own(tmp_path: Path) -> None:
    """Five of about 800 MiB, two of about 8,000: a mean of 2,860 MiB would stand for none of them."""
    found = api.profile([logs(tmp_path / "a", 800, 8000, 800, 800, 900, 8100, 800)])
    assert [(each.name, each.runs) for each in found.stage_classes] == [("etl", 5), ("etl_2", 2)]
    assert [each.stages[0].tasks for each in found.stage_classes] == [8, 80]
    text = found.to_mrspec("capacity")
    assert "input 800 to 900 MiB" in text
    assert {each.name for each in mrdsl.loads(text).facts.classes} == {"etl", "etl_2"}


def test_classes_grow_on_each_type_and_keep_to_their_inputs(tmp_path: Path) -> None:
    """On the other type the large runs are the more frequent ones, so that they have the name without a number."""
    here = api.profile([logs(tmp_path / "here", 800, 1200, 1600, 2400, 3200, 16000, 24000)])
    there = api.profile([logs(tmp_path / "there", 800, 1200, 2400, 16000, 17000, 18000, 20000)])
    assert [(each.name, each.runs) for each in there.stage_classes] == [("etl", 4), ("etl_2", 3)]
    text = here.to_mrspec(on={"r5": there})
    for times in (1, 2):
        spec = mrdsl.loads(text.replace("param input_etl ", f"param input_etl = {1600 * times} MiB\nparam unused "))
        small = next(each for each in spec.facts.classes if each.name == "etl")
        assert small.stages[0].tasks == 16 * times
        assert small.on[0].stages[0].tasks == pytest.approx(16 * times, abs=1)
    large = next(each for each in spec.facts.classes if each.name == "etl_2")
    assert large.on[0].stages[0].tasks == 178
