"""Contracts of families and heuristics, and `subject to`."""
