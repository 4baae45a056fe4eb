"""Reasons why there is no plan, and the price of each constraint, found by questions to the solvers."""
