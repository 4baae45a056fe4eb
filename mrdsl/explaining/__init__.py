"""Why there is no plan, and what each promise costs: questions put to the solvers."""
