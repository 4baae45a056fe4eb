"""A plain Pyomo script with HiGHS, as a practitioner writes it."""

import sys

import pyomo.environ as pyo
from coefficients import read

path, delta, rho, rbar = sys.argv[1], *map(float, sys.argv[2:5])
names, gamma, penalty, low, high = read(path)
classes = range(len(gamma))
model = pyo.ConcreteModel()
model.h = pyo.Var(classes, domain=pyo.NonNegativeIntegers, bounds=lambda m, i: (low[i], high[i]))
model.d = pyo.Var(domain=pyo.NonNegativeIntegers)
model.r = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, rbar))
model.enough = pyo.Constraint(expr=sum(gamma[i] * model.h[i] for i in classes) <= model.r + model.d)
model.cost = pyo.Objective(
    expr=delta * model.d + rho * model.r + sum(penalty[i] * (high[i] - model.h[i]) for i in classes)
)
solver = pyo.SolverFactory("appsi_highs")
solver.solve(model)
print("cost", pyo.value(model.cost))
for i in classes[:20]:
    print(names[i], round(model.h[i].value))
