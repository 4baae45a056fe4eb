"""The nearest name: what somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

MOST_NAMES = 500
"""So many known names are compared: looking for what was meant must cost less than saying that it is not there."""
MOST_CHARACTERS = 80


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like the word, or None where none is near."""
    names = list(islice(known, MOST_NAMES))
    lowered = {name.lower(): name for name in reversed(names)}
    matches = get_close_matches(word[:MOST_CHARACTERS].lower(), list(lowered), n=1, cutoff=0.6)
    return lowered[matches[0]] if matches else None


def did_you_mean(word: str, known: Iterable[str], listing: str = "known: ") -> str:
    """A hint: the nearest name, or the whole list where it is short."""
    names = list(known)
    near = nearest(word, names)
    if near is not None:
        return f"did you mean `{near}`?"
    if not names:
        return ""
    shown = ", ".join(f"`{name}`" for name in names[:12])
    return f"{listing}{shown}" + (", ..." if len(names) > 12 else "")
