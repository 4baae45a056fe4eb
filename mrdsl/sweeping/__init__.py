"""Many runs: sweeps of one spec over axes, studies of many specs and methods; where they run, and their tables."""
