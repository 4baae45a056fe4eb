"""Studies of the family: ``mrdsl experiment``."""
