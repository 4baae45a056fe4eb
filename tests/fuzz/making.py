"""Texts to attack with: specs made from the grammar, and mutants of whatever is sound."""

from __future__ import annotations

import random
from collections.abc import Sequence

PIECES = (
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "=",
    ",",
    "\n",
    "\r\n",
    "\r",
    "..",
    ".",
    '"',
    "#",
    "%",
    "-",
    "+",
    "/",
    "*",
    "\\",
    "<=",
    "==",
    "1e999",
    "1e308",
    "-1e308",
    "0",
    "-1",
    "1__0",
    "0x1F",
    "9" * 400,
    "0.1",
    "2**53",
    "9007199254740993",
    " min ",
    " USD ",
    " GB",
    "\u00e9",
    "\U0001f600",
    "\0",
    "\x1b]52;c;AAAA\x07",
    "\x9b31m",
    "\u202e",
    "\u2028",
    "\ufeff",
    "\f",
    "nan",
    "inf",
    "Infinity",
    " from ",
    " extends ",
    "[1..3]",
    "[1..1e9]",
    "uniform(1, 2)",
    "normal(0, 0)",
    'import "x.mrspec"\n',
    'import "/etc/passwd"\n',
    'import "../x"\n',
    ' from "/dev/zero" ',
    "param p = p\n",
    "solve with scip { }\n",
    "1 / 0",
    "max(1, 2)",
    "minimize cost\n",
    "subject to { cost <= 1 USD }\n",
    "seed = -1\n",
    "=HYPERLINK(1)",
    "ceil(1e308)",
    "{" * 80,
)
WORDS = (
    "class",
    "vm",
    "cluster",
    "job",
    "task",
    "machine",
    "jobs",
    "deadline",
    "penalty",
    "slots",
    "map",
    "reduce",
    "on_demand",
    "spot",
    "price",
    "param",
    "a",
    "b",
    '"two words"',
    "coefficients",
    "profile",
    "policy",
    "billing",
    "energy",
    "tasks",
)
UNITS = ("", "", " s", " min", " h", "%", " USD", " USD/h", " EUR/h", " GB", " W", " J", "/s")
FAMILIES = ("capacity", "bounds", "joint", "energy", "deadline", "makespan", "schedule", "hybrid")


def mutated(draw: random.Random, text: str, others: Sequence[str] = ()) -> str:
    """A text with a few places changed: pieces put in, cut, doubled, or taken from another text."""
    for _ in range(draw.randint(1, 4)):
        at = draw.randint(0, len(text))
        end = min(len(text), at + draw.choice((0, 0, 1, 2, 10, 60)))
        kind = draw.randrange(5)
        if kind < 2:
            new = draw.choice(PIECES)
        elif kind == 2:
            new = text[at:end] * draw.randint(2, 3)
        elif kind == 3 and others:
            other = draw.choice(others)
            start = draw.randint(0, len(other))
            new = other[start : start + draw.randint(1, 80)]
        else:
            new = ""
        text = text[:at] + new + text[end:]
    return text


def renumbered(draw: random.Random, text: str) -> str:
    """The same text with one of its numbers changed, so that most of it still makes sense."""
    places = [i for i in range(len(text)) if text[i].isdigit() and not text[i - 1 : i].isalnum()]
    if not places:
        return text
    at = draw.choice(places)
    end = at
    while end < len(text) and (text[end].isdigit() or text[end] == "."):
        end += 1
    return text[:at] + draw.choice(("0", "1", "2", "1e-9", "1e9", "1e15", "0.5", "-1", "3.5", "100")) + text[end:]


def mutated_bytes(draw: random.Random, data: bytes) -> bytes:
    """Bytes with a few places changed, whatever that makes of the text."""
    for _ in range(draw.randint(1, 4)):
        at = draw.randint(0, len(data))
        data = (
            data[:at]
            + draw.choice((draw.randbytes(draw.randint(0, 6)), draw.choice(PIECES).encode()))
            + data[at + draw.choice((0, 1, 4, 30)) :]
        )
    return data


def made(draw: random.Random) -> str:
    """A spec of the grammar's forms with the language's words; most mean nothing."""
    lines = [f"problem {draw.choice(FAMILIES)}" + draw.choice(("", ' "title"'))]
    lines += [_statement(draw, 0) for _ in range(draw.randint(0, 8))]
    lines.append(draw.choice(("minimize cost", "minimize energy", "maximize profit", "estimate", "")))
    return "\n".join(lines) + draw.choice(("\n", ""))


def _statement(draw: random.Random, depth: int) -> str:
    kind = draw.randrange(6)
    indent, end = "  " * depth, draw.choice(("", "", "  # said"))
    if kind < 3 or depth > 3:
        return f"{indent}{draw.choice(WORDS)} = {_value(draw, 0)}{end}"
    if kind == 3:
        return f"{indent}{draw.choice(WORDS)} {draw.choice(WORDS)} from {_value(draw, 0)}{end}"
    if kind == 4:
        index = draw.choice(("", "", "[1..3]", f"[{_value(draw, 2)}..{_value(draw, 2)}]"))
        body = "\n".join(_statement(draw, depth + 1) for _ in range(draw.randint(0, 4)))
        return f"{indent}{draw.choice(WORDS)} {draw.choice(WORDS)}{index} {{\n{body}\n{indent}}}"
    return f"{indent}subject to {{ {_value(draw, 1)} {draw.choice(('<=', '>=', '=='))} {_value(draw, 1)} }}"


def _value(draw: random.Random, depth: int) -> str:
    kind = draw.randrange(8) if depth < 4 else draw.randrange(3)
    if kind < 2:
        return draw.choice(("0", "1", "2.5", "1_000", "1e3", "1e-9", "60")) + draw.choice(UNITS)
    if kind == 2:
        return draw.choice(WORDS)
    inner = (_value(draw, depth + 1), _value(draw, depth + 1))
    return (
        f"{inner[0]} {draw.choice('+-*/')} {inner[1]}",
        f"({inner[0]})",
        f"{inner[0]} .. {inner[1]}",
        f"{draw.choice(('max', 'min', 'uniform', 'normal', 'sum', 'ceil'))}({inner[0]}, {inner[1]})",
        f"[{inner[0]}, # why\n {inner[1]}]",
    )[kind - 3]
