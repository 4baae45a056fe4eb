"""A deliberately foreign solver: tries all corners of a polyhedron, and branches by hand. Knows nothing of mrdsl.

usage: corners.py MODEL.mps ANSWER.json [--patience SECONDS]
"""

import itertools
import json
import math
import sys

import numpy as np

FAR = 1e6


def read_mps(path):
    rows, columns, sides, ranges, low, high, whole = {}, {}, {}, {}, {}, {}, set()
    goal, section, integers = None, "", False
    with open(path, encoding="ascii") as stream:
        lines = stream.readlines()
    for line in lines:
        words = line.split()
        if not line.startswith(" "):
            section = words[0]
        elif section == "ROWS":
            if words[0] == "N":
                goal = words[1]
            else:
                rows[words[1]] = words[0]
        elif section == "COLUMNS":
            if words[1] == "'MARKER'":
                integers = words[2] == "'INTORG'"
                continue
            columns.setdefault(words[0], {})[words[1]] = float(words[2])
            low.setdefault(words[0], 0.0)
            high.setdefault(words[0], math.inf)
            if integers:
                whole.add(words[0])
        elif section == "RHS":
            sides[words[1]] = float(words[2])
        elif section == "RANGES":
            ranges[words[1]] = float(words[2])
        elif section == "BOUNDS":
            kind, name, value = words[0], words[2], float(words[3]) if len(words) > 3 else 0.0
            if kind in ("LO", "FX"):
                low[name] = value
            if kind in ("UP", "FX"):
                high[name] = value
            if kind in ("FR", "MI"):
                low[name] = -math.inf
            if kind in ("FR", "PL"):
                high[name] = math.inf
    return rows, columns, sides, ranges, low, high, whole, goal


def planes(rows, columns, sides, ranges, low, high):
    """Every comparison as a x <= b."""
    names = list(columns)
    found = []
    for row, kind in rows.items():
        a = np.array([columns[name].get(row, 0.0) for name in names])
        b = sides.get(row, 0.0)
        if kind in ("L", "E"):
            found.append((a, b))
        if kind in ("G", "E"):
            found.append((-a, -b))
        if row in ranges:
            found.append((a, b + ranges[row]))
    for i, name in enumerate(names):
        unit = np.eye(len(names))[i]
        found.append((unit, min(high[name], FAR)))
        found.append((-unit, -max(low[name], -FAR)))
    return np.array([a for a, _ in found]), np.array([b for _, b in found])


def best_corner(a, b, costs):
    best, where = math.inf, None
    for chosen in itertools.combinations(range(len(b)), len(costs)):
        try:
            x = np.linalg.solve(a[list(chosen)], b[list(chosen)])
        except np.linalg.LinAlgError:
            continue
        if np.all(a @ x <= b + 1e-7) and costs @ x < best - 1e-9:
            best, where = costs @ x, x
    return best, where


def branch(a, b, costs, whole, best):
    value, x = best_corner(a, b, costs)
    if x is None or value >= best[0] - 1e-9:
        return best
    fractions = [i for i in whole if abs(x[i] - round(x[i])) > 1e-6]
    if not fractions or abs(value) >= FAR / 10:
        return (value, x)
    unit = np.eye(len(costs))[fractions[0]]
    at = x[fractions[0]]
    best = branch(np.vstack([a, unit]), np.append(b, math.floor(at)), costs, whole, best)
    return branch(np.vstack([a, -unit]), np.append(b, -math.ceil(at)), costs, whole, best)


def main():
    rows, columns, sides, ranges, low, high, whole, goal = read_mps(sys.argv[1])
    names = list(columns)
    costs = np.array([columns[name].get(goal, 0.0) for name in names])
    a, b = planes(rows, columns, sides, ranges, low, high)
    value, x = branch(a, b, costs, [i for i, n in enumerate(names) if n in whole], (math.inf, None))
    if x is None:
        answer = {"verdict": "impossible"}
    elif abs(value) >= FAR / 10:
        answer = {"verdict": "no end to it"}
    else:
        answer = {"verdict": "done", "at": dict(zip(names, x.tolist(), strict=True)), "worth": value}
    with open(sys.argv[2], "w", encoding="ascii") as stream:
        json.dump(answer, stream)


main()
