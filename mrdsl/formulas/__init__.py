"""Closed forms of the papers, each theorem once, on numbers and arrays; no spec, no solver."""
