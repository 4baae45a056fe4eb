"""Simulation of jobs: the engine of stages and machines, the rented fleet, frozen draws, and observations."""
