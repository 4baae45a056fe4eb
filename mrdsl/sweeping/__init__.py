"""Many runs: sweeps of one spec over axes, studies of many specs and methods, their executors and tables."""
