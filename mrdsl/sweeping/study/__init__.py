"""Studies in files: many specs, methods, params, seeds and limits, with a row per run, tables and charts."""
