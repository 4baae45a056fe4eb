"""What a Pyomo model becomes as arrays."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from mrdsl.solving.arrays import linear_program


def test_fixed_members_of_an_indexed_variable_are_no_columns() -> None:
    """Pyomo numbers all members of an indexed variable, the fixed ones too; the columns are those that are free."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(4), bounds=lambda m, i: (0, 10 + i))
    model.x[0].fix(1.0)
    model.x[2].fix(2.0)
    model.row = pyo.Constraint(expr=model.x[0] + 2 * model.x[1] + 3 * model.x[2] + 4 * model.x[3] <= 20)
    model.goal = pyo.Objective(expr=model.x[1] + 5 * model.x[3] + model.x[0], sense=pyo.maximize)
    found = linear_program(model)
    assert found is not None
    program, names = found
    assert [v.name for v in names.variables] == ["x[1]", "x[3]"]
    assert program.costs.tolist() == [1, 5]
    assert program.offset == 1
    assert dict(zip(program.columns.tolist(), program.coefficients.tolist(), strict=True)) == {0: 2, 1: 4}
    assert program.row_upper.tolist() == [13]
    assert np.array_equal(program.upper, [11, 13])
