"""Everything that is read from or written for other programs."""
