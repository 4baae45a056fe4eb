"""Studies that one command repeats: ``mrdsl experiment NAME``."""
