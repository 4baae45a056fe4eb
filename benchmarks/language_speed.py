"""Reading specs: text against Lark's bare tree, TOML and JSON; a table against numpy; whole `check` and `fmt` runs.

    python benchmarks/language_speed.py

Medians of three turns, CPU seconds within one process, the cases taking turns; whole processes go through measure.py.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from lark import Lark, Token
from measure import Case, compare, show

from mrdsl.core.resources import resource
from mrdsl.language.loading import load_text

CLASSES, ROWS, TURNS = 10_000, 100_000, 3
HEAD = "problem capacity\nvm m5 { on_demand { price = 0.192 USD/h } }\n"
CLASS = (
    "class c{i} {{ map {{ tasks = {t}, avg = 30 s, max = 42 s }}, shuffle {{ first_avg = 8 s, first_max = 11 s, "
    "avg = 37 s, max = 40 s }}, reduce {{ tasks = 64, avg = 22 s, max = 44 s }}, slots {{ map = 2, reduce = 1 }}, "
    "jobs = 9..10, deadline = 15 min, penalty = 12.50 USD }}\n"
)
COLUMNS = (
    "coefficients.A [s]",
    "coefficients.B [s]",
    "coefficients.C [s]",
    "slots.map",
    "slots.reduce",
    "jobs.low",
    "jobs.high",
    "deadline [min]",
    "penalty [USD]",
)


class Separators:
    """One newline for each run of newlines and commas that ends items; none inside ( ) and [ ]."""

    always_accept = ("_NEWLINE",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        brackets, ended = 0, False
        for token in stream:
            kind = token.type
            if kind == "_NEWLINE" or (kind == "COMMA" and not brackets):
                if not ended and not brackets:
                    token.type, ended = "_NEWLINE", True
                    yield token
                continue
            ended = False
            brackets += (kind in ("LPAREN", "LBRACKET")) - (kind in ("RPAREN", "RBRACKET"))
            yield token


def content(i: int) -> dict[str, object]:
    """The same class as TOML and JSON hold it, numbers only."""
    return {
        "map": {"tasks": 300 + i % 100, "avg": 30.0, "max": 42.0},
        "shuffle": {"first_avg": 8.0, "first_max": 11.0, "avg": 37.0, "max": 40.0},
        "reduce": {"tasks": 64, "avg": 22.0, "max": 44.0},
        "slots": {"map": 2, "reduce": 1},
        "jobs": [9, 10],
        "deadline": 900.0,
        "penalty": 12.5,
    }


def toml_text() -> str:
    lines = []
    for i in range(CLASSES):
        for name, value in content(i).items():
            inner = ", ".join(f"{k} = {v}" for k, v in value.items()) if isinstance(value, dict) else ""
            lines.append(f"c{i}.{name} = {{ {inner} }}" if inner else f"c{i}.{name} = {value}")
    return "\n".join(lines)


def medians(cases: dict[str, Callable[[], object]]) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(TURNS + 1):
        for name, call in cases.items():
            gc.collect()
            started = time.process_time()
            call()
            if turn:
                taken[name].append(time.process_time() - started)
    return {name: statistics.median(values) for name, values in taken.items()}


def report(title: str, found: dict[str, float], base: str, count: int) -> None:
    print(f"\n{title}\n\n| case | CPU s | ratio to {base} | per second |\n|---|---|---|---|")
    for name, value in found.items():
        print(f"| {name} | {value:.3f} | {value / found[base]:.2f} | {count / value:,.0f} |")


def main() -> None:
    text = HEAD + "".join(CLASS.format(i=i, t=300 + i % 100) for i in range(CLASSES))
    document = {f"c{i}": content(i) for i in range(CLASSES)}
    as_json, as_toml = json.dumps(document), toml_text()
    bare = Lark(
        resource("grammar/mrspec.lark").read_text(),
        parser="lalr",
        lexer="basic",
        start="document",
        maybe_placeholders=False,
        postlex=Separators(),
        propagate_positions=True,
    )
    found = medians(
        {
            "Lark's bare tree, positions on": lambda: bare.parse(text),
            "mrdsl: text to Spec": lambda: load_text(text).spec,
            "tomllib": lambda: tomllib.loads(as_toml),
            "json": lambda: json.loads(as_json),
        }
    )
    report(f"Text of {CLASSES:,} classes", found, "Lark's bare tree, positions on", CLASSES)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "classes.csv"
        table.write_text(
            "name,"
            + ",".join(COLUMNS)
            + "\n"
            + "".join(f"c{i},{5000 + i % 997},1250,95,4,2,4,6,10,20\n" for i in range(ROWS))
        )
        spec = HEAD + 'classes from "classes.csv"\n'
        found = medians(
            {
                "numpy.genfromtxt": lambda: np.genfromtxt(table, delimiter=",", skip_header=1, usecols=range(1, 10)),
                "numpy.loadtxt": lambda: np.loadtxt(table, delimiter=",", skiprows=1, usecols=range(1, 10)),
                "mrdsl: CSV to Spec": lambda: load_text(spec, folder=folder).spec,
            }
        )
        report(f"A table of {ROWS:,} classes", found, "numpy.loadtxt", ROWS)
    models = resource("models")
    python = sys.executable
    print("\nWhole processes\n")
    print(
        show(
            compare(
                [
                    Case("import lark", [python, "-c", "import lark"]),
                    Case(
                        "check, quickstart",
                        [python, "-m", "mrdsl", "check", str(models / "capacity/quickstart.mrspec")],
                    ),
                    Case(
                        "check, the largest reference spec",
                        [python, "-m", "mrdsl", "check", str(models / "joint/reference.mrspec")],
                    ),
                    Case(
                        "fmt --check",
                        [python, "-m", "mrdsl", "fmt", "--check", str(models / "capacity/quickstart.mrspec")],
                        codes=(0, 1),
                    ),
                ]
            ),
            against="import lark",
        )
    )


if __name__ == "__main__":
    main()
