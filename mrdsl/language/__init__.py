"""From text to a Spec and back: parsing, names and units, tables and generators, the canonical form."""
