"""Solution files of external solvers; each module owns one table into the common status vocabulary."""
