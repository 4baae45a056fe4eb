"""How far two numbers may lie apart and still count as agreeing, by what they are.

Constants of algorithms (a step, a regularization) are no tolerances and stay where they are used. What computer
arithmetic leaves beside whole numbers is :mod:`mrdsl.core.whole_numbers`.
"""

from __future__ import annotations

FEASIBILITY = 1e-6
"""How far, relatively, a plan may miss a limit and still keep it: solvers hold rows to 1e-6 to 1e-7."""
ROUNDING = 1e-9
"""The relative difference of one number that is computed in two ways, each of many steps."""
LAST_DIGITS = 2e-15
"""The relative difference that one multiplication or division leaves."""
SAME_SUM = 1e-12
"""The relative difference of two sums that are equal but for the order of their terms."""
PROVEN = 1e-6
"""The relative gap at which a plan counts as optimal where no other was asked for."""
