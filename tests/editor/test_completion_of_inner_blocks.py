"""Quantities that are asked of blocks within blocks: `delay(` offers the tasks of the dag."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrdsl.editor.completion import complete
from mrdsl.editor.written import Written

REFERENCE = Path("models/deadline/reference.mrspec").read_text()


def offered(text: str) -> list[str]:
    lines = text.split("\n")
    return [one.label for one in complete(Written(text), len(lines), len(lines[-1]) + 1)]


@pytest.mark.parametrize("quantity", ["delay", "slack"])
def test_the_tasks_of_the_dag_are_offered(quantity: str) -> None:
    assert offered(f"{REFERENCE}subject to {{\n  {quantity}(") == ["m1", "m2", "m3", "r1", "r2", "publish"]


def test_of_several_dags_tasks_have_longer_names_and_none_is_offered() -> None:
    second = "dag weekly {\n  allowable_delay = 1 h\n  task m1 { duration = 60 s }\n}\n"
    assert offered(f"{REFERENCE}{second}subject to {{\n  delay(") == []
