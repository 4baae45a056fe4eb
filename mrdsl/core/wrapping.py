"""Text that fits the width of a terminal: lines are broken at spaces, words never."""

from __future__ import annotations

from unicodedata import combining, east_asian_width


def display_width(text: str) -> int:
    """Return the columns that a text takes: two for a wide character, none for one that joins the one before it."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def broken(line: str, width: int) -> list[str]:
    """Return a line as lines of at most ``width`` columns, broken at spaces; a longer word has a line of its own."""
    lines: list[str] = []
    taken = ""
    for word in line.split(" "):
        if taken and display_width(taken) + 1 + display_width(word) > width:
            lines.append(taken)
            taken = word
        else:
            taken = f"{taken} {word}" if taken else word
    return [*lines, taken]


def wrapped(text: str, width: int | None, hanging: int = 0) -> str:
    """Return a text with long lines broken at spaces; the rest of a line keeps its indent, and ``hanging`` more.

    Args:
        text: Lines of any length.
        width: Columns of the terminal; None leaves the text as it is.
        hanging: Further columns before the rest of a broken line.
    """
    if width is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in _hung(line, width, hanging))


def _hung(line: str, width: int, hanging: int) -> list[str]:
    if display_width(line) <= width:
        return [line]
    text = line.lstrip(" ")
    indent = min(len(line) - len(text), width // 2)
    first, *rest = broken(text, width - indent)
    below = broken(" ".join(rest), max(1, width - indent - hanging)) if rest else []
    return [" " * indent + first, *(" " * (indent + hanging) + part for part in below)]


def unfolded(text: str) -> str:
    """Return Markdown with one line per paragraph and per item of a list; code and tables stay."""
    lines: list[str] = []
    code, joins = False, False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        if joins and line.strip() and not code and not line.startswith(_STARTS):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
        joins = bool(line.strip()) and not code and not line.startswith(_STARTS[2:])
    return "\n".join(lines)


_STARTS = ("- ", "* ", "#", "|", "```", "    ", "> ")
