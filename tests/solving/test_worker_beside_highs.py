"""HiGHS in the program that calls mrdsl does not keep mrdsl's own solver from ending."""

from __future__ import annotations

from tests.command_lines import run_python

CODE = """
import highspy
import mrdsl
from mrdsl.core.resources import resource

own = highspy.Highs()
own.setOptionValue("output_flag", False)
variables = [own.addVariable(0, 10, 1.0) for _ in range(5)]
own.addConstr(sum(variables) >= 7.5)
for variable in variables:
    own.changeColIntegrality(variable.index, highspy.HighsVarType.kInteger)
own.run()
spec = mrdsl.load(resource("models") / "capacity" / "quickstart.mrspec")
result = mrdsl.solve(spec, "highs", limits=mrdsl.Limits(time=60.0))
print(own.getObjectiveValue(), result.termination, result.value is not None)
"""


def test_a_caller_that_ran_highs_gets_its_plan() -> None:
    """A fork of a process in which HiGHS ran never ended: it waited for threads that a fork does not have."""
    assert run_python(CODE).stdout.splitlines()[-1] == "8.0 optimal True"
