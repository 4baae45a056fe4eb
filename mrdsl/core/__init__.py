"""What every part of mrdsl may lean on: places, diagnostics, units, results; it knows no other package."""
