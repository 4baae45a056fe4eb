"""Columns behave as the sequence of nodes that they stand for."""

import numpy as np

from mrdsl.spec import Columns, Joined, column, names_of, parts_of, words
from mrdsl.spec.blocks import MapPhase, ShufflePhase


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
