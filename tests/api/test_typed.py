"""User code that mypy checks strictly: it knows the plan of a family, and what is wrong is seen before it runs."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.resources import resource

MODELS = Path(str(resource("models")))
ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
RIGHT = """from dataclasses import replace

import mrdsl
from mrdsl.families.capacity.facts import JobClass, MapPhase, OnDemand, VmType
from mrdsl.spec.expression import PlanQuantity

spec: mrdsl.Spec = mrdsl.load("quickstart.mrspec", {"peak": 1.1}, seed=3)
result = mrdsl.solve(spec, "direct", limits=mrdsl.Limits(time=10.0)).of(mrdsl.CapacityPlan)
kept: mrdsl.Result[mrdsl.CapacityPlan] = result
anything: mrdsl.Result = result
if result.plan is not None:
    admitted: float = result.plan.classes["clicks"].admitted
    reveal_type(result.plan)
print(mrdsl.why(result).tables[0].columns, mrdsl.explain("soft-deadline"), mrdsl.quantity("15 min") + 1.0)
for row in mrdsl.sweep("quickstart.mrspec", {"peak": [0.9, 1.1]}, seeds=range(3)).table:
    print(row["value"])
mrdsl.compare(result, spec, names=["a", "b"])
mrdsl.diff(result, result)
text: str = spec.to_mrspec()
let = mrdsl.Let("dear", PlanQuantity("cost"), "USD")
goal = mrdsl.Goal("minimize", "dear", expression=let.expression, unit=let.unit)
told: float | None = mrdsl.solve(replace(spec, lets=(let,), goal=goal)).quantities["dear"].value
price: float = OnDemand(price="0.192 USD/h").price
facts = mrdsl.CapacityFacts(
    vms=[VmType(name="m5", on_demand=OnDemand(price=0.1), fee="0.01 USD/h", available=3)],
    classes=[JobClass(name="a", jobs="1..2", deadline="9 min", penalty=3, map=MapPhase(tasks=1, avg=1, max=2))],
    period=3600,
)
classes = mrdsl.from_table("capacity", "classes", mrdsl.solve(spec).to_dataframe())
types: tuple[object, ...] = mrdsl.vm_types(mrdsl.solve(spec).to_dataframe(), "require { cores >= 4 }")
print(mrdsl.dumps(spec), result.to_json(), mrdsl.Result.from_json("").plan, spec.to_json())
"""
WRONG = {
    "result.plan.classes": "union-attr",
    'mrdsl.solve(spec, limits={"time": 3})': "arg-type",
    'mrdsl.solve(spec).of(mrdsl.JointPlan).plan.classes["a"].jobs + ""': "union-attr",
    "mrdsl.solve('quickstart.mrspec')": "arg-type",
    "mrdsl.quantity(3)": "arg-type",
    "mrdsl.from_table('capacity', 'classes', [1])": "arg-type",
    'result.quantities["dear"].value + 1.0': "operator",
    'mrdsl.Let("dear", "cost", "USD")': "arg-type",
    "OnDemand(price=None)": "arg-type",
    "MapPhase(tasks=1.5, avg=1.0, max=2.0)": "arg-type",
}


SNIPPET = re.compile(r"^```python\n(?!# file:)(.*?)^```$", re.MULTILINE | re.DOTALL)


def _guide(folder: Path) -> list[str]:
    """Write the Python code of the documentation, a module for each snippet, and return the names of the files."""
    written = []
    for page in sorted(DOCS.rglob("*.md")):
        for number, snippet in enumerate(SNIPPET.findall(page.read_text(encoding="utf-8"))):
            name = f"{page.parent.name}_{page.stem}_{number}.py".replace("-", "_")
            (folder / name).write_text(snippet)
            written.append(name)
    return written


def _mypy(text: str, folder: Path) -> str:
    """Check code with the settings and the cache of the project: without the cache, mypy reads all of mrdsl first."""
    (folder / "user.py").write_text(text)
    options = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    line = [sys.executable, "-m", "mypy", *options, "user.py", *_guide(folder)]
    found = {**os.environ, "MYPYPATH": str(Path(mrdsl.__file__).parents[1])}
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False, env=found).stdout


def test_a_type_checker_knows_the_plan_and_the_guide(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    told = _mypy(RIGHT + "\n".join(WRONG) + "\n", tmp_path)
    lines = told.splitlines()
    assert any('Revealed type is "mrdsl.families.capacity.plan.CapacityPlan"' in line for line in lines)
    assert not [line for line in lines if ": error:" in line and not line.startswith("user.py:")], "code of the guide"
    errors = [line for line in lines if line.startswith("user.py:") and ": error:" in line]
    first = RIGHT.count("\n") + 1
    for number, (text, code) in enumerate(WRONG.items(), first):
        assert any(line.startswith(f"user.py:{number}: ") and f"[{code}]" in line for line in errors), (text, told)
    assert not [line for line in errors if int(line.split(":")[1]) < first]


def test_a_result_is_one_of_its_family() -> None:
    result = mrdsl.solve(mrdsl.load(MODELS / "capacity/quickstart.mrspec"), "direct")
    assert result.of(mrdsl.CapacityPlan) is result
    with pytest.raises(TypeError, match="plan of capacity"):
        result.of(mrdsl.JointPlan)
    assert result.plan_of(mrdsl.CapacityPlan) is result.plan
    nothing = mrdsl.Result(mrdsl.Termination.INFEASIBLE)
    with pytest.raises(mrdsl.MrdslError, match="infeasible"):
        nothing.plan_of(mrdsl.CapacityPlan)


def test_everything_public_can_be_looked_up() -> None:
    assert all(getattr(mrdsl, name) is not None for name in mrdsl.__all__)
    assert list(mrdsl.__all__) == sorted(mrdsl.__all__)


@pytest.mark.parametrize("name", ["capacity/quickstart", "joint/reference", "makespan/small", "deadline/fan"])
def test_specs_and_results_pickle(name: str) -> None:
    path = MODELS / f"{name}.mrspec"
    spec = mrdsl.load(path if path.exists() else next(iter(sorted(path.parent.glob("*.mrspec")))))
    result = mrdsl.solve(spec, limits=mrdsl.Limits(time=5.0))
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert pickle.loads(pickle.dumps(result)) == result
    assert mrdsl.Spec.from_json(spec.to_json()) == spec
    assert mrdsl.Result.from_json(result.to_json()).value == result.value
