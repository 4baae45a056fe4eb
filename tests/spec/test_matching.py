"""A condition finds the same nodes on columns as node by node, and needs no numpy for the latter."""

from typing import Any

import numpy as np
import pytest

from mrdsl.spec import Columns, Joined
from mrdsl.spec.blocks import ShufflePhase
from mrdsl.spec.matching import Reader, matching
from tests.command_lines import run_python

VALUES = {
    "first_max": np.array([3.0, 1.0, 2.0]),
    "first_avg": np.array([np.nan, 2.0, 2.0]),
    "avg": np.array([1.0, 1.0, 5.0]),
    "max": np.array([2.0, 2.0, 2.0]),
}


def test_columns_and_nodes_agree() -> None:
    columns = Columns(ShufflePhase, ["a", "b", "c"], VALUES)
    conditions = {
        "later wave": lambda c: c("max") < c("avg"),
        "first wave": lambda c: c("first_max") < c("first_avg"),
        "given": lambda c: c.has("first_avg"),
        "left out": lambda c: c.lacks("first_avg") & (c("first_avg", 7.0) == 7.0),
        "word": lambda c: (c.word("name") == "") | (c("avg") > 4.0),
    }
    found = {name: list(matching(columns, condition)) for name, condition in conditions.items()}
    assert found == {"later wave": [2], "first wave": [1], "given": [1, 2], "left out": [0], "word": [0, 1, 2]}
    nodes = [
        ShufflePhase(
            **{
                key: None if np.isnan(value) else float(value)
                for key, value in ((key, column[i]) for key, column in VALUES.items())
            }
        )
        for i in range(3)
    ]  # type: ignore[arg-type]
    assert {name: list(matching(nodes, condition)) for name, condition in conditions.items()} == found


def test_joined_parts_are_asked_each_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The indices count through all parts, and no node of a column is built."""
    columns = Columns(ShufflePhase, ["a", "b", "c"], VALUES)
    written = (ShufflePhase(first_max=1.0, avg=3.0, max=2.0), ShufflePhase(first_max=1.0, avg=1.0, max=2.0))

    def condition(c: Reader) -> Any:
        return c("max") < c("avg")

    joined = Joined((columns, written, columns))
    assert [index for index, node in enumerate(joined) if node.max < node.avg] == [2, 3, 7]
    monkeypatch.setattr(Columns, "_node", lambda *_: pytest.fail("a node is built"))
    assert list(matching(joined, condition)) == [2, 3, 7]


def test_a_misspelled_path_is_no_missing_value() -> None:
    def wrong(c: Reader) -> bool:
        return bool(c("maximum") > 0)

    node = ShufflePhase(first_max=1.0, avg=1.0, max=1.0)
    try:
        list(matching((node,), wrong))
    except AttributeError:
        return
    raise AssertionError("a path that no node knows must not pass")


def test_checking_a_small_spec_loads_neither_numpy_nor_pyomo() -> None:
    code = (
        "import sys, mrdsl; spec = mrdsl.load('models/capacity/quickstart.mrspec'); mrdsl.check(spec); "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'pyomo', 'highspy')))"
    )
    run_python(code)
