"""The shipped specs: generated ones as they are generated, all of them solved and proven."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrdsl import load
from mrdsl.core.result import SolutionStatus
from mrdsl.families.joint.workload import workload
from mrdsl.planning.solve_spec import solve
from studies.joint_instance_specs import texts
from studies.joint_instances import LARGE, SMALL, instance

FOLDER = Path(__file__).resolve().parents[3] / "models" / "joint"


@pytest.mark.parametrize("family", [*SMALL, *LARGE])
def test_generated_specs_are_what_is_generated(family: str) -> None:
    for name, text in texts(family, 1).items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text
    spec, drawn = workload(load(FOLDER / f"{family}.mrspec")), workload(instance(family, 1))
    assert spec.need_high == pytest.approx(drawn.need_high, rel=1e-4)
    assert spec.need_low == pytest.approx(drawn.need_low, rel=1e-4)
    assert spec.worth == pytest.approx(drawn.worth, rel=1e-4)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.mrspec")), ids=lambda path: path.stem)
def test_every_spec_is_solved(path: Path) -> None:
    result = solve(load(path))
    assert result.solution is SolutionStatus.OPTIMAL
    assert result.objective.bound == pytest.approx(result.objective.value, rel=1e-9)
