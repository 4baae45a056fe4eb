"""Studies in files: many specs, methods, params, seeds and limits; a row per run, and what the rows say together."""
