"""A family of somebody else's package: what it takes to be one, and that the rest of mrdsl takes it in."""
