"""The base of all packages: places, diagnostics, units and results. It imports no other package."""
