"""Solvers that Pyomo calls: every family's own models, a persistent interface, whole seconds, no files left."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pyomo.environ as pyo
import pytest
from pyomo.opt import SolverResults
from pyomo.solvers.plugins.solvers.persistent_solver import PersistentSolver

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.resources import resource
from mrdsl.core.result import Limits, SolutionStatus, Termination
from mrdsl.planning import solver_contract as contract
from mrdsl.planning.solve_spec import build_model
from mrdsl.planning.solver_contract import RealModel
from mrdsl.solving import arrays, registry
from mrdsl.solving.arrays import linear_program
from mrdsl.solving.checked_answer import solve_model, variables_of
from mrdsl.solving.declaration import declare
from tests.solving.test_limits import fresh_workers
from tests.solving.toy import toy

assert fresh_workers, "a fixture that is used by its name"
BORROWED = """kind = "solver"
name = "borrowed"
summary = "HiGHS by way of Pyomo"
solves = ["LP", "MILP", "NLP", "MINLP"]
install = "pip install highspy"
[pyomo]
factory = "{factory}"
[limits]
time = {limit}
"""
LIMITS = {
    "appsi_highs": '"time_limit"',
    "highs": '"time_limit"',
    "glpk": '{ name = "tmlim", whole = true }',
    "cbc": '"sec"',
    "scip_direct": '"limits/time"',
}
NEEDS = {"glpk": "glpsol", "cbc": "cbc"}
"""Programs that Pyomo's interfaces start."""
REAL = [case for case in contract.real_models() if case.kind in ("LP", "MILP")]


@pytest.fixture(params=sorted(LIMITS))
def borrowed(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param in NEEDS:
        monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        if which(NEEDS[request.param]) is None:
            pytest.skip(f"{NEEDS[request.param]} is not on the path")
    toml = BORROWED.format(factory=request.param, limit=LIMITS[request.param])
    (tmp_path / "borrowed.toml").write_text(toml, encoding="utf-8")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    return "borrowed"


@pytest.mark.parametrize("case", list({case.kind: case for case in reversed(REAL)}.values()), ids=str)
def test_a_model_of_each_kind_with_an_option_for_limits(case: RealModel, borrowed: str) -> None:
    """Those of all families are solved by declarations of two lines in `test_two_lines.py`."""
    assert contract.complaints_of_real(registry.find(borrowed), case) == ()


def test_the_check_looks_at_every_family_with_models() -> None:
    assert {case.family for case in contract.real_models()} >= {
        "capacity",
        "joint",
        "energy",
        "deadline",
        "makespan",
        "schedule",
    }
    assert {case.kind for case in contract.real_models()} >= {"MILP", "NLP", "MINLP"}


@pytest.mark.parametrize("case", contract.real_models(), ids=str)
def test_flat_models_pickle_and_say_the_same(case: RealModel) -> None:
    """A flat model's goal and rows have the values of the model's own, at a point drawn by position."""
    try:
        model = build_model(mrdsl.load(case.path), case.formulation)
    except MrdslError:
        pytest.skip("the family refuses this spec in this formulation")
    found = linear_program(model)
    variables = found[1].variables if found else variables_of(model)
    plain = pickle.loads(pickle.dumps(arrays.of_program(found[0]) if found else arrays.of_model(model, variables)))
    for i, variable in enumerate(variables):
        value = 1.0 + (i % 7) / 3.0
        variable.set_value(value, skip_validation=True)
        plain.x[i].set_value(value, skip_validation=True)
    for variable in model.component_data_objects(pyo.Var):
        if variable.value is None:
            variable.set_value(1.0, skip_validation=True)
    goal = next(model.component_data_objects(pyo.Objective, active=True))
    assert pyo.value(plain.goal) == pytest.approx(pyo.value(goal))
    assert plain.goal.sense == goal.sense


@pytest.mark.usefixtures("fresh_workers")
@pytest.mark.parametrize(
    ("said", "ended", "value"),
    [
        ("feasible", "completed", 3.0),
        ("locallyOptimal", "completed", 3.0),
        ("maxEvaluations", "node_limit", 3.0),
        ("intermediateNonInteger", "node_limit", None),
    ],
)
def test_a_point_without_a_proof_is_kept(
    said: str, ended: str, value: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Pyomo says of GLPK and CBC at a limit, and of solvers that look around a point only; no bound, no proof."""

    class Stopped:
        def __init__(self) -> None:
            self.options: dict[str, Any] = {}

        def available(self, exception_flag: bool = False) -> bool:
            return True

        def solve(self, model: Any, **_: Any) -> SolverResults:
            found = SolverResults()
            found.solver.termination_condition = said
            found.solution.add().variable.update({f"x[{i}]": {"Value": 1.0} for i in model.x})
            for i in model.x:
                model.x[i].set_value(1.0)
            monkeypatch.setattr(model.solutions, "load_from", lambda _: None)
            return found

    monkeypatch.setattr("pyomo.environ.SolverFactory", lambda name: Stopped())
    toml = BORROWED.format(factory="stops", limit=LIMITS["highs"])
    (tmp_path / "borrowed.toml").write_text(toml, encoding="utf-8")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1], bounds=(0, 3), domain=pyo.Integers)
    model.row = pyo.Constraint(expr=model.x[0] + model.x[1] >= 1)
    model.goal = pyo.Objective(expr=model.x[0] + 2.0 * model.x[1])
    answer = solve_model(model, "borrowed", Limits(time=600.0))
    solution = SolutionStatus.NONE if value is None else SolutionStatus.FEASIBLE
    assert (str(answer.termination), answer.solution) == (ended, solution)
    assert (answer.value, answer.bound) == (value, None)


def kept_in_mind(seen: list[Any]) -> type[PersistentSolver]:
    """A persistent interface: it solves what it was given by ``set_instance``, and nothing else."""

    class Persistent(PersistentSolver):
        def __init__(self) -> None:
            self.options: dict[str, Any] = {}

        def available(self, exception_flag: bool = False) -> bool:
            return True

        def set_instance(self, model: Any, **_: Any) -> None:
            seen.append(model)

        def solve(self, *models: Any, **words: Any) -> Any:
            assert not models
            return pyo.SolverFactory("appsi_highs").solve(seen[-1], **words)

    return Persistent


@pytest.mark.usefixtures("fresh_workers")
def test_a_persistent_interface_gets_its_instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = kept_in_mind([])
    monkeypatch.setattr(
        "pyomo.environ.SolverFactory",
        lambda name, real=pyo.SolverFactory: made() if name == "keeps" else real(name),
    )
    (tmp_path / "borrowed.toml").write_text(BORROWED.format(factory="keeps", limit=LIMITS["highs"]), encoding="utf-8")
    monkeypatch.setenv("MRDSL_SOLVERS", str(tmp_path))
    for case in (case for case in contract.CASES if case.kind in ("LP", "MILP")):
        assert contract.complaints("borrowed", case) == ()


def test_a_limit_in_whole_seconds() -> None:
    from mrdsl.solving.programs import options_of

    data = toy(pyomo={"factory": "glpk"}, limits={"time": {"name": "tmlim", "whole": True}})
    options = options_of(declare(data, "toy.toml", "test"), Limits(time=7.2))
    assert options == {"tmlim": 8}
    assert isinstance(options["tmlim"], int)
    with pytest.raises(MrdslError, match=r"limits\.time` needs"):
        declare({**data, "limits": {"time": {"nmae": "tmlim"}}}, "toy.toml", "test")


def test_edits_of_a_problems_model_count() -> None:
    """A constraint more, a variable fixed: the plan keeps them, and the model holds it; an update builds it anew."""
    compiled = mrdsl.compile(mrdsl.load(resource("models") / "capacity" / "reference.mrspec"))
    free = compiled.solve("highs").objective.value
    assert free is not None
    model = compiled.model
    name = next(iter(model.admitted))
    model.fewer = pyo.Constraint(expr=model.admitted[name] <= model.admitted[name].lb)
    bound = compiled.solve("highs")
    assert bound.objective.value is not None
    assert bound.objective.value > free
    assert pyo.value(model.cost) == pytest.approx(bound.objective.value)
    assert pyo.value(model.admitted[name]) == model.admitted[name].lb
    del model.fewer
    model.admitted[name].fix(model.admitted[name].lb)
    assert compiled.solve("highs").objective.value == pytest.approx(bound.objective.value)
    assert compiled.solve().objective.value == pytest.approx(bound.objective.value), "auto sees the model too"
    model.never = pyo.Constraint(expr=model.admitted[name] >= model.admitted[name].ub + 1)
    assert compiled.solve("highs").termination is Termination.INFEASIBLE
    with pytest.raises(MrdslError, match=r"ignores the changed model"):
        compiled.solve("direct")
    assert compiled.revise(compiled.spec).solve("direct").objective.value == pytest.approx(free)


def test_nonlinear_models_are_flat_too() -> None:
    """SCIP by way of mrdsl solves the flat model to the same value as the model itself: paper 000's cone."""
    model = build_model(mrdsl.load(resource("models") / "capacity" / "quickstart.mrspec"), "P0-cone")
    own = solve_model(model, "scip", Limits(time=30))
    plain = solve_model(arrays.of_model(model, variables_of(model)), "scip", Limits(time=30))
    assert own.solution is SolutionStatus.OPTIMAL
    assert plain.value == pytest.approx(own.value, rel=1e-6)
