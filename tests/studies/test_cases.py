"""The cases of a study, shared by processes or by Dask: the same rows in the same order, whoever runs them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.sweeping import executors
from studies import capacity_promised
from studies.cases import CaseRun, Mapper, one_by_one, shared
from studies.running import reproduce
from tests.command_lines import run_here
from tests.sweeping.cluster import Cluster

TWO = partial(shared, workers=2, executor="processes")
DASK = partial(shared, workers=None, executor="dask://there:8786")


@dataclass(frozen=True)
class Square:
    """A case that squares a number; it refuses 2, and 3 ends its process."""

    number: int

    @property
    def name(self) -> str:
        return f"square of {self.number}"

    def found(self) -> int:
        if self.number == 2:
            raise MrdslError([error("wrong-value", "two is too many")])
        if self.number == 3:
            os._exit(7)
        return self.number**2


def gone_through(mapper: Mapper, numbers: range | tuple[int, ...]) -> tuple[dict[int, int], MrdslError | None]:
    """What a mapper hands on by places, and what it raises after that."""
    found = {}
    try:
        for place, square in mapper([Square(number) for number in numbers]):
            found[place] = square
    except MrdslError as failure:
        return found, failure
    return found, None


class Known(capacity_promised.Scenario):
    """A scenario whose outcome is known without a search; there is none of scenario 3."""

    def found(self) -> capacity_promised.Outcome | None:
        share = 0.9 + 0.01 * self.number
        kept = capacity_promised.Outcome(self.number, "p95", 0.95, 0.955, share, 6.0, 10.0, self.seed)
        return None if self.number == 3 else kept


class KnownCompared(capacity_promised.Compared):
    """A comparison whose row is known."""

    def found(self) -> tuple[object, ...]:
        return (self.jobs, f"{self.distribution} {self.longest:g}", *range(8))


class KnownOracle(capacity_promised.Oracle):
    """A case of the oracle whose row is known."""

    def found(self) -> tuple[object, ...]:
        return (self.jobs, self.longest, 3.0, 2.0, 50.0)


HONESTY = {"scenarios": 6, "runs": 2, "seed": 9}


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity_promised, "Scenario", Known)
    monkeypatch.setattr(capacity_promised, "Compared", KnownCompared)
    monkeypatch.setattr(capacity_promised, "Oracle", KnownOracle)


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("where", [{"processes": 2}, {"executor": "dask://there:8786"}], ids=["processes", "dask"])
def test_whoever_runs_the_cases_writes_what_one_process_writes(
    where: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cluster hands the outcomes on in another order."""
    cluster = Cluster()
    monkeypatch.setattr(executors, "_connect", cluster.connect)
    alone = reproduce("capacity-honesty", tmp_path / "alone", **HONESTY)
    assert len((tmp_path / "alone" / "scenarios.csv").read_text().splitlines()) == 6
    assert reproduce("capacity-honesty", tmp_path / "there", **where, **HONESTY) == alone
    assert cluster.addresses == (["there:8786"] if "executor" in where else [])
    assert (tmp_path / "there" / "scenarios.csv").read_bytes() == (tmp_path / "alone" / "scenarios.csv").read_bytes()


def test_a_scenario_is_searched_and_its_plan_run() -> None:
    """This one is quickly searched."""
    outcome = capacity_promised.Scenario(9, 0, 2).found()
    assert outcome is not None
    assert 0.0 < outcome.low <= 1.0
    assert 0.0 <= outcome.share <= 1.0
    assert outcome.looks >= 1


@pytest.mark.usefixtures("known")
def test_what_is_saved_stands_in_the_order_of_its_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity_promised, "LOADS", (2,))
    monkeypatch.setattr(capacity_promised, "VARIABILITY", (("uniform", 1.2),))
    monkeypatch.setattr(capacity_promised, "ORACLES", ((2, 2.0), (2, 1.2)))
    tables = reproduce("capacity-saving", tmp_path / "two", runs=2, processes=2)
    assert [row[1] for table in tables for row in table.rows] == ["uniform 1.2", 2.0, 1.2]


@pytest.mark.parametrize("mapper", [one_by_one, TWO, DASK])
def test_a_failed_case_is_told_by_its_name_and_keeps_no_other(mapper: Mapper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "_connect", Cluster().connect)
    found, failure = gone_through(mapper, (0, 2, 1, 2, 5))
    assert found == {0: 0, 2: 1, 4: 25}
    assert failure is not None
    assert [(one.code, one.message) for one in failure.diagnostics] == [
        ("wrong-value", "square of 2: two is too many")
    ] * 2


def test_a_case_that_ends_its_process_is_told_by_its_name() -> None:
    found, failure = gone_through(TWO, range(3, 6))
    assert found == {1: 16, 2: 25}
    assert failure is not None
    assert "square of 3: the process of this run ended unexpectedly" in str(failure)


def test_a_lost_scheduler_says_that_the_study_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "_connect", Cluster(lost_after=1).connect)
    found, failure = gone_through(DASK, (4, 5, 6))
    assert found == {2: 36}
    assert failure is not None
    (told,) = failure.diagnostics
    assert told.code == "lost-scheduler"
    assert "anew" in told.hint


@pytest.mark.parametrize(
    "case",
    [
        capacity_promised.Scenario(1, 0, 2),
        capacity_promised.Compared(2, "fixed", 1.0, "p95", 2, 1),
        capacity_promised.Oracle(2, 1.2, "p95", 2, 1),
    ],
    ids=lambda case: case.name,
)
def test_cases_cross_to_other_processes(case: Any) -> None:
    run = CaseRun(0, case)
    assert pickle.loads(pickle.dumps(run)) == run


def test_an_interruption_keeps_the_scenarios_that_ended(tmp_path: Path) -> None:
    def stopped(cases: Any) -> Iterator[tuple[int, Any]]:
        for place in (2, 0):
            yield place, capacity_promised.Outcome(place, "p95", 0.95, 0.955, 0.96, 6.0, 10.0, 1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(capacity_promised.honesty(tmp_path, mapper=stopped))
    rows = (tmp_path / "scenarios.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["scenario", "0", "2"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("joint-instances", "--processes", "2"), "capacity-honesty, capacity-saving"),
        (("joint-instances", "--executor", "dask://there:8786"), "`joint-instances` has no cases"),
        (("capacity-honesty", "-j", "2", "--executor", "dask://there:8786"), "does not work with a Dask executor"),
        (("capacity-honesty", "-j", "2", "--dask", "there:8786"), "does not work with a Dask executor"),
        (("capacity-honesty", "--executor", "there:8786"), "unknown executor `there:8786`"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_shared_is_refused(options: tuple[str, ...], words: str, tmp_path: Path) -> None:
    ran = run_here(("python", "-m", "studies", *options), tmp_path)
    assert ran.exit_code == 2
    assert words in ran.output
    assert "Traceback" not in ran.output
    assert not list(tmp_path.iterdir())
