"""Views of a result: JSON, tables for people."""
