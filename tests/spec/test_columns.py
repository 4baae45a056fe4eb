"""Columns behave as the sequence of nodes that they stand for."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mrdsl import loads
from mrdsl.spec import Columns, Joined, column, names_of, parts_of, words
from mrdsl.spec.blocks import MapPhase, ShufflePhase
from tests.language.test_reading_cost import calls_of


def test_columns_build_the_same_nodes_as_written_out() -> None:
    written = (MapPhase(name="a", tasks=3, avg=1.0, max=2.0), MapPhase(name="b", tasks=4, avg=1.5, max=2.5, min=0.5))
    values = {
        "tasks": np.array([3, 4]),
        "avg": np.array([1.0, 1.5]),
        "max": np.array([2.0, 2.5]),
        "min": np.array([np.nan, 0.5]),
    }
    columns = Columns(MapPhase, ["a", "b"], values)
    assert tuple(columns) == written
    for path in ("tasks", "avg", "max", "min"):
        np.testing.assert_array_equal(column(columns, path), column(written, path))


def test_a_missing_block_reads_as_missing() -> None:
    assert np.isnan(column((ShufflePhase(first_max=1.0, avg=1.0, max=1.0),), "first_avg")).all()


def test_words_read_the_same_from_columns_and_from_nodes() -> None:
    guarantees = ["upper", "", "lower"]
    columns = Columns(MapPhase, ["a", "b", "c"], {"kind": np.array(guarantees)})
    assert words(columns, "kind", "average").tolist() == ["upper", "average", "lower"]
    assert words(Columns(MapPhase, ["a", "b"], {"name": "x"}), "name").tolist() == ["x", "x"]
    nodes = tuple(MapPhase(name=name, tasks=1, avg=1.0, max=1.0) for name in ("a", ""))
    assert words(nodes, "name", "none").tolist() == ["a", "none"]


def test_joined_parts_read_as_one_sequence() -> None:
    written = tuple(MapPhase(name=name, tasks=i, avg=1.0 + i, max=9.0) for i, name in enumerate("abcde", start=1))
    columns = Columns(MapPhase, ["b", "c"], {"tasks": np.array([2, 3]), "avg": np.array([3.0, 4.0]), "max": 9.0})
    joined = Joined([written[:1], columns, written[3:]])
    assert joined == written
    assert [joined[i] for i in range(-5, 5)] == [*written, *written]
    assert joined[1:4] == written[1:4]
    assert len(joined) == 5
    assert names_of(joined) == list("abcde")
    np.testing.assert_array_equal(column(joined, "avg"), column(written, "avg"))
    assert parts_of(joined)[1] is columns
    assert parts_of(written) == (written,)


def test_blocks_that_share_all_values_are_made_once_and_named() -> None:
    """A generator's blocks: equal to written ones, one call for each and not one for each of their items."""
    source = "class c[1..{count}] {{ map {{ tasks = 3, avg = 1 s, max = 2 s }}, {rest} }}"
    rest = "reduce { tasks = 2, avg = 1 s, max = 2 s }, jobs = 2, shuffle { first_max = 1 s, avg = 1 s, max = 1 s }"
    head = "problem bounds\ncluster { slots { map = 9000, reduce = 9000 } }\n"

    def classes(count: int) -> Sequence[Any]:
        spec = loads(head + source.format(count=count, rest=rest) + "\nestimate completion\n")
        found: Sequence[Any] = spec.facts.classes
        return found

    generated = classes(1000)
    assert isinstance(generated, Columns)
    assert calls_of(lambda: list(generated)) <= 15 * len(generated)
    assert [node.name for node in generated] == [f"c{number}" for number in range(1, 1001)]
    one = loads(head + source.format(count=1, rest=rest).replace("c[1..1]", "c7") + "\nestimate completion\n")
    assert generated[6] == one.facts.classes[0]
    assert generated[6].map.avg == 1.0
    assert generated[6].span == generated[0].span
