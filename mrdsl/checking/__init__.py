"""Formulas for verification alone, written a second time from the papers: construction does not import them."""
