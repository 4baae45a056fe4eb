"""Writers of files that other programs read."""
