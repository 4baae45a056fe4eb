"""The discrete-event engine: jobs that are graphs of stages, on the slots of machines that may be slow, fail or go."""
