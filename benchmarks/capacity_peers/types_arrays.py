"""highspy with numpy arrays: classes by types, a row for each class and each type, read from the same tables.

FOLDER GAP [SECONDS]: it says where HiGHS stopped at its seconds.
"""

import csv
import sys
from pathlib import Path

import highspy
import numpy as np

folder, gap = Path(sys.argv[1]), float(sys.argv[2])
with (folder / "classes.csv").open() as file:
    rows = list(csv.reader(file))
data = np.array([row[1:] for row in rows[1:]], dtype=float).T
nm, mavg, mmax, s1avg, s1max, savg, smax, nr, ravg, rmax, low, high, deadline, penalty, mc, mm, rm, rc = data
cores, memory, on_demand, reserved, available = np.loadtxt(folder / "types.csv", unpack=True)
n, t = len(nm), len(cores)

a = nm * mavg - mmax
b = nr * (savg + ravg) - smax - rmax
c = (s1avg - savg + s1max + 2 * (smax + mmax + rmax)) / 2
cm = np.floor(np.minimum(cores[:, None] / mc, memory[:, None] / mm))
cr = np.floor(np.minimum(cores[:, None] / rc, memory[:, None] / rm))
left = deadline - c
with np.errstate(divide="ignore", invalid="ignore"):
    beside_one = np.where(left > b, a / (left - b), np.inf)  # map slots that do beside one reduce slot
    x = np.minimum(np.minimum((np.sqrt(a * b * cm / cr) + a) / left, beside_one), nm)
    x = np.maximum(np.maximum(x, a / (left - b / nr)), 1.0)
    y = np.where(x >= beside_one, 1.0, b / (left - a / x))
    gamma = x / cm + y / cr
of_type, of_class = np.nonzero((cm > 0) & (cr > 0))
jobs = len(of_type)

lp = highspy.HighsLp()
lp.num_col_, lp.num_row_ = jobs + 2 * t, n + t
lp.col_cost_ = np.concatenate([-penalty[of_class], on_demand, reserved])
lp.col_lower_ = np.zeros(jobs + 2 * t)
lp.col_upper_ = np.concatenate([high[of_class], np.full(t, highspy.kHighsInf), available])
lp.row_lower_ = np.concatenate([low, np.full(t, -highspy.kHighsInf)])
lp.row_upper_ = np.concatenate([high, np.zeros(t)])
lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
vms = np.arange(2 * t)
lp.a_matrix_.start_ = np.concatenate([2 * np.arange(jobs), 2 * jobs + vms, [2 * jobs + 2 * t]])
lp.a_matrix_.index_ = np.concatenate([np.column_stack([of_class, n + of_type]).ravel(), n + vms % t])
lp.a_matrix_.value_ = np.concatenate(
    [np.column_stack([np.ones(jobs), gamma[of_type, of_class]]).ravel(), -np.ones(2 * t)]
)
lp.integrality_ = [highspy.HighsVarType.kInteger] * (jobs + 2 * t)
lp.offset_ = float(penalty @ high)
solver = highspy.Highs()
solver.silent()
solver.setOptionValue("mip_rel_gap", gap)
solver.setOptionValue("threads", 1)
if len(sys.argv) > 3:
    solver.setOptionValue("time_limit", float(sys.argv[3]))
solver.passModel(lp)
solver.run()
info = solver.getInfo()
stopped = solver.getModelStatus() == highspy.HighsModelStatus.kTimeLimit
print(f"cost {info.objective_function_value} gap {info.mip_gap}" + (f", stopped at {sys.argv[3]} s" if stopped else ""))
