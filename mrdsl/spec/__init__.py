"""The Spec and the words in which families declare their facts: frozen dataclasses in SI units."""

from mrdsl.spec.columns import Columns, Joined, column, names_of, parts_of, words
from mrdsl.spec.spec import Constraint, Goal, Let, Method, Spec

__all__ = [
    "Columns",
    "Constraint",
    "Goal",
    "Joined",
    "Let",
    "Method",
    "Spec",
    "column",
    "names_of",
    "parts_of",
    "words",
]
