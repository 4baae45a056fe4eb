"""The family's problem as Pyomo models."""
