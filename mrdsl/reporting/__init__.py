"""Views of a result and of diagnostics: text, tables, JSON, charts and pages."""
