"""Plug-ins: what `mrdsl new` writes runs, and what a plug-in does wrong is told as its own."""
