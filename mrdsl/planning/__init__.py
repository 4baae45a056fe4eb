"""The way from a spec to a plan: the choice of a solver, the model, the answer and its check; files for other
solvers.
"""
