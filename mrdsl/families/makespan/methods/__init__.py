"""Heuristics of the family: steps that the pipelines in ``solvers/`` name."""
