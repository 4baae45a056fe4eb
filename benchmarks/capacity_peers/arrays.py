"""highspy with numpy arrays: the whole problem passed as one sparse row."""

import sys

import highspy
import numpy as np
from coefficients import read

path, delta, rho, rbar = sys.argv[1], *map(float, sys.argv[2:5])
names, gamma, penalty, low, high = read(path)
n = len(gamma)
lp = highspy.HighsLp()
lp.num_col_, lp.num_row_ = n + 2, 1
lp.col_cost_ = np.concatenate([-penalty, [delta, rho]])
lp.col_lower_ = np.concatenate([low, [0.0, 0.0]])
lp.col_upper_ = np.concatenate([high, [highspy.kHighsInf, rbar]])
lp.row_lower_, lp.row_upper_ = np.array([-highspy.kHighsInf]), np.array([0.0])
lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
lp.a_matrix_.start_ = np.array([0, n + 2])
lp.a_matrix_.index_ = np.arange(n + 2)
lp.a_matrix_.value_ = np.concatenate([gamma, [-1.0, -1.0]])
lp.integrality_ = [highspy.HighsVarType.kInteger] * (n + 2)
lp.offset_ = float(penalty @ high)
solver = highspy.Highs()
solver.silent()
for option in sys.argv[5:]:
    solver.setOptionValue(*option.split("="))
solver.passModel(lp)
solver.run()
print("cost", solver.getInfo().objective_function_value)
for name, h in zip(names[:20], solver.getSolution().col_value, strict=False):
    print(name, round(h))
