"""A second program for capacity specs, written from the paper and the docs: it shares no code with mrdsl."""
