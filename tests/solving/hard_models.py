"""Models that no solver finishes within a second."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo


def market_split(rows: int = 6, columns: int = 50, seed: int = 1) -> pyo.ConcreteModel:
    """Cornuejols and Dawande's market split: no incumbent is found for hours."""
    random = np.random.RandomState(seed)
    weights = random.randint(0, 100, size=(rows, columns))
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(columns), domain=pyo.Binary)
    model.goal = pyo.Objective(expr=sum(model.x[j] for j in range(columns)))
    model.split = pyo.Constraint(
        range(rows),
        rule=lambda m, i: sum(int(weights[i, j]) * m.x[j] for j in range(columns)) == int(weights[i].sum()) // 2,
    )
    return model


def many_knapsacks(rows: int = 30, columns: int = 100, seed: int = 1) -> pyo.ConcreteModel:
    """A knapsack with many dimensions: incumbents at once, a proof never."""
    random = np.random.RandomState(seed)
    weights = random.randint(1, 1000, size=(rows, columns))
    worth = weights.sum(axis=0) / rows + random.uniform(0, 500, size=columns)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(columns), domain=pyo.Binary)
    model.goal = pyo.Objective(sense=pyo.maximize, expr=sum(float(worth[j]) * model.x[j] for j in range(columns)))
    model.room = pyo.Constraint(
        range(rows),
        rule=lambda m, i: sum(int(weights[i, j]) * m.x[j] for j in range(columns)) <= int(weights[i].sum()) // 2,
    )
    return model
