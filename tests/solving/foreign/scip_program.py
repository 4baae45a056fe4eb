"""What Pyomo's interface `scip` takes for the program of that name: SCIP itself, by its Python package, called as

``scip MODEL -AMPL``. It reads ``MODEL.nl`` and writes ``MODEL.sol`` as the AMPL solver library does.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(words: list[str]) -> None:
    """One call; the options are in the file ``scip.set`` of the working folder, where there is one."""
    from pyscipopt import Model

    model = Model()
    if "--version" in words:
        print(f"SCIP version {model.getMajorVersion()}.{model.getMinorVersion()}.{model.getTechVersion()}")
        return
    options = Path("scip.set")
    if options.is_file():
        for line in options.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(" = ")
            model.setParam(name, float(value))
    problem = Path(words[0] + ".nl")
    model.readProblem(str(problem))
    named = {column.name: column for column in model.getVars() if column.name[1:].isdigit()}  # one may be a constant
    columns = [named[name] for name in sorted(named, key=lambda name: int(name[1:]))]  # SCIP has whole ones first
    rows = model.getNConss()
    model.optimize()
    solved = {"optimal": 0, "infeasible": 200, "unbounded": 300, "inforunbd": 299, "timelimit": 400}
    status = model.getStatus()
    said = {"optimal": "optimal solution found", "timelimit": "time limit reached"}.get(status, status)
    best = model.getBestSol() if model.getNSols() else None
    values = [model.getSolVal(best, column) for column in columns] if best is not None else []
    head = ["", f"SCIP: {said}", "", "Options", 3, 0, 1, 0, rows, 0, len(columns), len(values)]
    lines = [*head, *(repr(value) for value in values), f"objno 0 {solved.get(status, 500)}"]
    Path(words[0] + ".sol").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"Solving Time (sec) : {model.getSolvingTime():.2f}")


main(sys.argv[1:])
