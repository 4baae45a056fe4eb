"""PuLP with CBC."""

import os
import sys

import pulp
from coefficients import read

path, delta, rho, rbar = sys.argv[1], *map(float, sys.argv[2:5])
names, gamma, penalty, low, high = read(path)
classes = range(len(gamma))
problem = pulp.LpProblem("capacity", pulp.LpMinimize)
h = [pulp.LpVariable(f"h{i}", low[i], high[i], pulp.LpInteger) for i in classes]
d = pulp.LpVariable("d", 0, None, pulp.LpInteger)
r = pulp.LpVariable("r", 0, rbar, pulp.LpInteger)
problem += delta * d + rho * r + pulp.lpSum(-penalty[i] * h[i] for i in classes)
problem += pulp.lpSum(gamma[i] * h[i] for i in classes) - r - d <= 0
problem.solve(pulp.COIN_CMD(path=os.environ["CBC"], msg=False) if "CBC" in os.environ else pulp.PULP_CBC_CMD(msg=False))
print("cost", pulp.value(problem.objective) + float(penalty @ high))
for i in classes[:20]:
    print(names[i], round(h[i].value()))
