"""From a spec to a plan: who solves it, its model, the answer, the check; files for solvers elsewhere."""
