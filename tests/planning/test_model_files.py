"""Model files: the same bytes every time, legal names, and the same optimum wherever they are read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.core.diagnostics import MrdslError, Span
from mrdsl.exchange.model_files import LONGEST, legal_names
from mrdsl.planning.solver_files import write_model
from mrdsl.solving.checked_answer import solve_model
from tests.solving.outside import SOLVERS, run_outside

AWKWARD = [
    "e9",
    "E12",
    "x y",
    "free",
    "inf",
    "st",
    "a+b",
    "3rd",
    "ümlaut",
    "_",
    "",
    "end",
    "a.b",
    "a,b",
    "a" * 200,
    "a" * 199 + "b",
    "goal",
    "objective_constant",
    "R1",
    "integer",
    "-x",
    "[1]",
    "x0",
    "X0",
]


def random_model(seed: int, maximize: bool) -> pyo.ConcreteModel:
    """Ranges, equalities, free and fixed and negative columns, whole and not, under awkward names; always feasible."""
    random = np.random.RandomState(seed)
    count = len(AWKWARD)
    point = random.randint(-3, 6, size=count)
    model = pyo.ConcreteModel("random model")
    model.names = pyo.Set(initialize=AWKWARD, ordered=True)
    place = {name: i for i, name in enumerate(AWKWARD)}
    model.x = pyo.Var(
        model.names,
        domain=lambda _, n: pyo.Integers if place[n] % 3 else pyo.Reals,
        bounds=lambda _, n: (float(point[place[n]] - 3), float(point[place[n]] + 2 + place[n] % 2)),
    )
    model.x["st"].setub(None)
    model.x["inf"].setlb(None)
    model.x["e9"].setlb(None)
    model.x["e9"].setub(None)
    model.x["free"].setlb(float(point[3]))
    model.x["free"].setub(float(point[3]))
    costs = random.randint(-9, 10, size=count) / 4
    model.worth = pyo.Objective(
        sense=pyo.maximize if maximize else pyo.minimize,
        expr=sum(float(costs[place[n]]) * model.x[n] for n in AWKWARD) - 12.25,
    )
    weights = random.randint(-5, 6, size=(12, count)) * (random.uniform(size=(12, count)) < 0.4)
    model.rows = pyo.ConstraintList()
    for i in range(12):
        at_point = float(weights[i] @ point)
        body = sum(int(weights[i, j]) * model.x[n] for j, n in enumerate(AWKWARD) if weights[i, j]) + 0 * model.x["st"]
        model.rows.add(
            [
                (None, body, at_point + 1),
                (at_point - 2, body, None),
                (at_point - 1, body, at_point + 1),
                (at_point, body, at_point),
            ][i % 4]
        )
    return bounded(model, sum(model.x[n] for n in AWKWARD), float(point.sum()))


def bounded(model: pyo.ConcreteModel, total: object, at_point: float) -> pyo.ConcreteModel:
    """Rows that keep the free columns within reach."""
    model.total = pyo.Constraint(expr=(at_point - 30, total, at_point + 30))
    for name in ("st", "inf", "e9"):
        model.rows.add((-40, model.x[name], 40))
    return model


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_solver_reads_the_same_program(seed: int, maximize: bool, ending: str, tmp_path: Path) -> None:
    model = random_model(seed, maximize)
    path = write_model(model, tmp_path / f"x.{ending}")[0]
    found = {solver: run_outside(solver, path)[0] for solver in SOLVERS}
    sign = -1.0 if maximize and ending == "mps" else 1.0
    expected = solve_model(model, "scip").value
    assert expected is not None
    for solver, value in found.items():
        assert sign * value == pytest.approx(expected, abs=1e-5), (solver, found)


def test_nl_is_the_same_program_too(tmp_path: Path) -> None:
    model = random_model(1, False)
    path = write_model(model, tmp_path / "x.nl")[0]
    answer = solve_model(model, "highs")
    assert run_outside("scip", path)[0] == pytest.approx(answer.value, abs=1e-5)


@pytest.mark.parametrize("ending", ["lp", "mps", "nl", "gms"])
def test_same_model_same_bytes(ending: str, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        written = write_model(random_model(1, True), tmp_path / folder / f"x.{ending}")
    for path in written:
        assert path.read_bytes() == (tmp_path / "a" / path.name).read_bytes()
        assert b"\r" not in path.read_bytes()


LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=120), max_size=30))
def test_names_are_legal_distinct_and_short(raw: list[str]) -> None:
    names = legal_names([*AWKWARD, *raw, *raw])
    assert len({name.lower() for name in names}) == len(names)
    for name in names:
        assert LEGAL.fullmatch(name)
        assert not re.match(r"[eE][0-9]", name)
        assert len(name) <= LONGEST
    assert names == legal_names([*AWKWARD, *raw, *raw])


def test_readable_names_stay_readable() -> None:
    assert legal_names(["admitted[sort]", "x[a,3]", "enough_vms"]) == ["admitted.sort", "x.a.3", "enough_vms"]


@pytest.mark.parametrize("ending", ["lp", "mps", "nl", "gms"])
def test_names_lead_back_to_the_lines_of_the_spec(ending: str, tmp_path: Path) -> None:
    model = pyo.ConcreteModel("small")
    model.x = pyo.Var(["a", "b"], bounds=(0, 4))
    model.goal = pyo.Objective(expr=model.x["a"] + model.x["b"])
    model.enough = pyo.Constraint(["a", "b"], rule=lambda m, i: m.x[i] >= 1)
    model.room = pyo.Constraint(expr=(1, model.x["a"] + model.x["b"], 7))
    model.spans = {"x": Span("s.mrspec", 3, 1, 3, 9), ("enough", "b"): Span("s.mrspec", 8, 3, 8, 9)}
    path = write_model(model, tmp_path / f"x.{ending}")[0]
    names = json.loads((tmp_path / f"x.{ending}.names.json").read_text(encoding="utf-8"))
    text = path.with_suffix(".col").read_text(encoding="utf-8") if ending == "nl" else path.read_text(encoding="utf-8")
    assert {entry["component"] for entry in names["columns"].values()} == {"x[a]", "x[b]"}
    assert all(name in text for name in names["columns"])
    assert all(entry["spec"]["line"] == 3 for entry in names["columns"].values())
    lines = {entry["component"]: entry["spec"] for entry in names["rows"].values()}
    assert set(lines) == {"enough[a]", "enough[b]", "room"}
    assert lines["enough[b]"]["line"] == 8
    assert lines["enough[a]"] is None
    if ending == "lp":
        assert all(f" {name}:" in text for name in names["rows"])


def test_a_model_that_is_not_linear_is_sent_to_other_formats(tmp_path: Path) -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(1, 2))
    model.goal = pyo.Objective(expr=model.x**2)
    with pytest.raises(MrdslError, match=r"not linear"):
        write_model(model, tmp_path / "x.lp")
    assert run_outside("scip", write_model(model, tmp_path / "x.nl")[0])[0] == pytest.approx(1.0)
    with pytest.raises(MrdslError, match="known model format"):
        write_model(model, tmp_path / "x.xlsx")
