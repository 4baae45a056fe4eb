"""The numbers printed in paper 000, Tables 3 to 6, and the experiment that simulates them."""

import numpy as np
import pytest

from studies.bounds_tables import Found, iterate, printed, tables


def mean_of(bound, among):
    return 100 * np.mean([abs(getattr(entry, f"{bound}_gap")) for entry in printed() if entry.table in among])


def test_all_forty_rows_and_hundred_entries_are_there():
    entries = printed()
    assert len(entries) == 100
    assert len({(entry.table, entry.row) for entry in entries}) == 40
    assert {entry.users for entry in entries} <= set(range(2, 11))


@pytest.mark.parametrize(
    ("bound", "among", "claim"),
    [
        ("upper", (3, 4), 19),
        ("upper", (5, 6), 11),
        ("upper", (3, 4, 5, 6), 14),
        ("average", (3, 4), 10),
        ("average", (5, 6), 5),
    ],
)
def test_the_printed_rows_give_the_sums_that_the_paper_states(bound, among, claim):
    assert round(mean_of(bound, among)) == claim


def test_what_printed_gaps_imply():
    entry = next(each for each in printed() if (each.table, each.row, each.name) == (3, 1, "twitter"))
    # Table 3 of paper 001 with 14 users on 128 cores: lower (11100 + 3776) 14/128, upper 14624 14/128 + 252.
    found = Found(entry, 1627.0625, 1739.28, 1851.5, {}, 0)
    assert found.implied == pytest.approx(1718, abs=1)
    assert abs(found.contradiction) < 1e-3


def test_the_fixed_point_iteration():
    # T(A) = 100 + A / 2 has its fixed point at 200; (42) approaches it from above and stops within a tenth.
    point = iterate(lambda guess: 100.0 + guess / 2.0, [1000.0])
    assert point.converged
    assert abs(point.guess[0] - point.observed[0]) / point.observed[0] < 0.1
    assert 200.0 < point.guess[0] < 250.0
    assert not iterate(lambda guess: 2.0 * guess, [1.0], most=5).converged
    exact = iterate(lambda guess: 100.0 + guess / 2.0, [1000.0], weight=1.0, tolerance=1e-9)
    assert exact.observed[0] == pytest.approx(200.0)


def test_one_row_of_every_table_is_simulated(tmp_path):
    found = list(tables(tmp_path, jobs=2, repeats=1, rows=1))
    assert [len(table.rows) for table in found[:4]] == [2, 2, 3, 3]
    assert (tmp_path / "bounds-tables.csv").read_text().count("\n") == 11
    assert (tmp_path / "bounds-tables.svg").read_text().startswith("<svg")
    # Every way leaves the upper bound above the mean, and masters, which take cores, make jobs slower.
    for table in found[:4]:
        for row in table.rows:
            _, trace, closed, masters = (float(cell.rstrip("%")) for cell in row[4:8])
            assert min(trace, closed, masters) > 0.0
            assert masters < closed
