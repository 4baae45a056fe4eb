"""A linear model's fingerprint, by which a solution file's model is known to be the spec's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mrdsl.core.diagnostics import MrdslError, Span, error
from mrdsl.core.linear_program import LinearProgram
from mrdsl.core.reading import UnreadableError, read_bytes


def fingerprint(program: LinearProgram, columns: Sequence[str]) -> str:
    """``sha256:…`` over every number of the program, prices included, and the names of its columns."""
    digest = hashlib.sha256("\n".join([*columns, "maximize" if program.maximize else "minimize"]).encode())
    for numbers in (
        program.costs,
        np.array([program.offset]),
        program.lower,
        program.upper,
        program.coefficients,
        program.row_lower,
        program.row_upper,
    ):
        digest.update((np.asarray(numbers, dtype="<f8") + 0.0).tobytes() + b";")
    for places in (program.integer, program.starts, program.columns):
        digest.update(np.asarray(places, dtype="<i8").tobytes() + b";")
    return f"sha256:{digest.hexdigest()}"


def require_match(path: Path, program: LinearProgram, columns: Sequence[str]) -> None:
    """Raises MrdslError: ``unreadable-names``, or ``stale-model`` where the model was compiled from something else."""
    place = Span(str(path), 1, 1, 1, 1)
    try:
        stored = json.loads(read_bytes(path))
        known = stored["fingerprint"]
    except (UnreadableError, ValueError, KeyError, TypeError, RecursionError):
        raise MrdslError(
            [
                error(
                    "unreadable-names",
                    f"{path} is no names.json of a linear model",
                    place,
                    "give the one that mrdsl compile wrote beside the model, or compile and solve again",
                )
            ]
        ) from None
    if known != fingerprint(program, columns):
        raise MrdslError(
            [
                error(
                    "stale-model",
                    f"{path} belongs to another model than this spec has now",
                    place,
                    "compile and solve again, or leave out --names to read the plan without its proof",
                )
            ]
        )
