"""Capacity over several periods: what to commit for all of them, and what to rent in each."""
