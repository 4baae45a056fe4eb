"""Jobs that run: the engine of stages and machines, the rented fleet, frozen draws, and what was observed."""
