"""Reproductions of the papers: each runs by `python -m studies NAME` from a checkout."""
