"""The ways to call a solver: embedded, as a program, or through Pyomo."""
