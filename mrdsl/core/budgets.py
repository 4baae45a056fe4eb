"""Limits on the size of files, specs and commands; each one is an error with a place.

They are far above the needs of a person or of a cluster's log, and low enough for reading to end in seconds.
"""

from __future__ import annotations

NESTING = 64
"""Brackets, or blocks, inside one another; and within one statement, signs before signs, ``- - 1``."""

DOCUMENT_BYTES = 64 << 20
"""Bytes of one spec or imported file."""

DOCUMENT_LINES = 5_000_000
"""Lines of one spec or imported file."""

DIAGNOSTICS = 1_000
"""Most diagnostics that are printed for one spec; the rest is counted."""

EDITED_BYTES = 1 << 20
"""Bytes of one document that the editor's server looks at."""

EDITED_SECONDS = 30.0
"""Time limit of a check in the editor [s]: it reads tables and imports too."""

TABLE_BYTES = 1 << 30
"""Bytes of one table, trace or recording."""

PLAN_BYTES = 1 << 30
"""Bytes of one saved plan."""

SAVED_BYTES = 64 << 20
"""Bytes of all files of data that a saved plan brings along; of those beyond it has the fingerprints alone."""

IMPORTS = 1_000
"""Files that a spec imports, each counted once."""

IMPORT_DEPTH = 64
"""Imports inside one another."""

COLUMNS = 10_000
"""Columns of a table."""

ROWS = 50_000_000
"""Rows of a table."""

CATALOGUE_TYPES = 100_000
"""VM types of one catalogue of a provider."""

GENERATED = 10_000_000
"""Blocks of one generator."""

CLASSES_ON_TYPES = 5_000_000
"""Classes times VM types, those on spot counted apart: estimates and slots of every pair are held, some 250 bytes."""

EXTENDS_DEPTH = 64
"""Blocks that extend one another in a chain."""

EXPRESSION_PARTS = 100_000
"""Quantities, numbers and operations of one expression over a plan, what ``let`` has named written out."""

EXPRESSION_DEPTH = 100
"""Operations inside one another in such an expression."""

THREADS = 4096
"""Threads of a solver."""

RUNS = 1_000_000
"""Independent runs of a simulation."""

PARAMETER_BYTES = 1 << 20
"""Bytes of one file of params."""

DOT_BYTES = 8 << 20
"""Bytes of one graph in DOT: its parser takes some 120 bytes for each."""

KEY_PARTS = 8
"""Parts of a dotted key in TOML."""

JSON_VALUES = 20_000_000
"""Objects and lists of one JSON file of another program, some 100 bytes each."""

CELLS = 200_000
"""Separators of cells in one line of CSV, those in texts among them."""

SIMULATED_JOBS = 100_000_000
"""Completed jobs per user in one simulated run."""

WAVES = 1_000_000
"""Waves of alike tasks, and with them jobs, of a makespan batch: every order that is tried runs them all."""

SIMULATED_SLOTS = 10_000_000
"""Slots of time in one run of a hybrid cloud."""

SLOTS_OF_A_VM = 10_000
"""Slots of one kind that a simulated VM has: it is known of each when it falls free."""
