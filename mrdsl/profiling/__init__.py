"""From logs to a spec: phases of jobs, classes of jobs, the cluster as it was, and the spec to fill in."""
