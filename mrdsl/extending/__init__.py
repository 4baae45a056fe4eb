"""Plug-ins: folders to begin with, and the contracts that they and mrdsl's own parts pass."""
