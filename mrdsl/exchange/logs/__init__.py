"""History files of clusters: Hadoop job history, Rumen and SLS traces, Spark event logs, read one job at a time."""
