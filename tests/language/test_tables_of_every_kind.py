"""Semantics 12: every repeated kind at the top level of a spec can stand in a table, and says the same there.

The blocks of a reference spec are taken out of its text and written as a table of SI values; the facts must not change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mrdsl.core.units import KINDS
from mrdsl.families import family, family_names
from mrdsl.language.loading import load_file, load_text
from mrdsl.language.parsing import parse
from mrdsl.language.tree import Block as BlockTree
from mrdsl.language.tree import first_token, last_token
from mrdsl.reporting.diagnostics import as_text
from mrdsl.spec.schema import Block, Distribution, Range, declarations

MODELS = Path(__file__).parents[2] / "models"
NOT_IN_A_TABLE = {("energy", "jobs"): "a job holds `on` blocks", ("deadline", "dags"): "a dag holds tasks"}

OWN = {
    ("timetable", "classes"): "problem timetable\nvm m { on_demand { price = 1 USD/h } }\n"
    "class a { map { tasks = 4, avg = 30 s, max = 40 s }, slots { map = 2 }, "
    "runs { from = 22:00, every = 1 h, times = 3 }, due = 06:00 }\n"
    "class b { map { tasks = 9, avg = 20 s, max = 40 s }, slots { map = 2 }, "
    "runs { from = 23:30:10, every = 2 h, times = 2 }, due = 07:00 }\nminimize cost\n",
    ("timetable", "quotas"): "problem timetable\nvm m { cores = 4, on_demand { price = 1 USD/h } }\n"
    "class a { map { tasks = 4, avg = 30 s, max = 40 s }, slots { map = 2 }, runs { at = [0 s] }, deadline = 1 h }\n"
    "quota a { cores = 8, spot = no }\nquota b { cores = 4.5, spot = yes }\nminimize cost\n",
    ("capacity", "quotas"): "problem capacity\nvm m { cores = 4, on_demand { price = 1 USD/h } }\n"
    "class a { map { tasks = 4, avg = 30 s, max = 40 s }, slots { map = 2 }, "
    "jobs = 1, deadline = 1 h, penalty = 1 USD }\n"
    "quota a { cores = 8, spot = no }\nquota b { cores = 4.5, spot = yes }\nminimize cost\n",
    ("capacity", "never_together"): "problem capacity\nvm m { cores = 4, on_demand { price = 1 USD/h } }\n"
    + "".join(
        f"class {name} {{ map {{ tasks = 4, avg = 30 s, max = 40 s }}, slots {{ map = 2 }}, "
        "jobs = 1, deadline = 1 h, penalty = 1 USD }\n"
        for name in "abcde"
    )
    + "never_together x { classes = [a, c] }\nnever_together y { classes = [b, e, d] }\nminimize cost\n",
    ("capacity", "savings_plans"): "problem capacity\nvm m { on_demand { price = 1 USD/h } }\n"
    "seed = 1\ndemand { periods = 2, day = bimodal }\n"
    "class a { map { tasks = 4, avg = 30 s, max = 40 s }, slots { map = 2 }, "
    "jobs = 1, deadline = 1 h, penalty = 1 USD }\n"
    "savings_plan one { discount = 28%, available = 2.5 USD/h }\nminimize cost\n",
    ("makespan", "classes"): "problem makespan\ncluster { slots { map = 4, reduce = 2 } }\n"
    "class a { map { tasks = 4, time = 30 s }, reduce { tasks = 2, time = 8 s }, jobs = 2 }\n"
    "class b { map { tasks = 9, time = 20 s }, reduce { tasks = 3, time = 4 s } }\nminimize makespan\n",
}


def kinds() -> Iterator[tuple[str, str, Block]]:
    for name in family_names():
        found = family(name)
        assert found is not None
        for field, declared in declarations(found.facts).items():
            if isinstance(declared, Block) and declared.repeated:
                yield name, field, declared


CASES = [(name, field) for name, field, _ in kinds() if (name, field) not in NOT_IN_A_TABLE]


def cells(node: Any, currency: str, before: str = "") -> Iterator[tuple[str, str]]:
    """Heads and cells of one row; a value that was left out has no cell."""
    for field, declared in declarations(type(node)).items():
        value, head = getattr(node, field), before + field.rstrip("_")
        if value is None or value == ():
            continue
        if isinstance(declared, Block):
            yield from cells(value, currency, head + ".")
            continue
        if isinstance(value, tuple):
            yield head, " ".join(value)
            continue
        unit = KINDS[declared.kind].si.replace("{currency}", currency)
        shown = f"{head} [{unit}]" if unit and declared.form in ("quantity", "range", "distribution") else head
        if isinstance(value, Range):
            yield shown.replace(head, head + ".low", 1), repr(float(value.low))
            yield shown.replace(head, head + ".high", 1), repr(float(value.high))
        else:
            yield shown, value if isinstance(value, str) else repr(float(value))


def fixed(node: Any) -> Any:
    """The node with a number for every value that stays random: a table holds numbers."""
    values: dict[str, Any] = {}
    for field, declared in declarations(type(node)).items():
        value = getattr(node, field)
        if isinstance(declared, Block) and value is not None and not declared.repeated:
            values[field] = fixed(value)
        elif isinstance(value, Distribution):
            values[field] = 3.0
    return replace(node, **values) if values else node


def blocks_of(node: Any) -> set[str]:
    """The optional blocks that a node has: the rows of one table have the same."""
    return {f for f, d in declarations(type(node)).items() if isinstance(d, Block) and getattr(node, f) is not None}


def model_with(name: str, field: str) -> tuple[str, Path, Any]:
    if (name, field) in OWN:
        text = OWN[name, field]
        return text, MODELS / name, load_text(text).spec
    for path in sorted((MODELS / name).glob("*.mrspec")):
        spec = load_file(path).spec
        if spec is not None and getattr(spec.facts, field):
            return path.read_text(encoding="utf-8"), path.parent, spec
    raise AssertionError(f"no model of {name} has {field}")


def without(text: str, words: tuple[str, ...]) -> str:
    document, _ = parse(text, "x")
    for statement in reversed(document.statements):
        if isinstance(statement, BlockTree) and str(statement.words[0]) in words:
            text = text[: first_token(statement).start_pos] + text[last_token(statement).end_pos :]
    return text


@pytest.mark.parametrize(("name", "field"), CASES)
def test_a_table_says_what_the_blocks_say(name: str, field: str, tmp_path: Path) -> None:
    declared = next(block for family_name, other, block in kinds() if (family_name, other) == (name, field))
    text, folder, written = model_with(name, field)
    nodes = [fixed(node) for node in getattr(written.facts, field)]
    nodes = [node for node in nodes if blocks_of(node) == blocks_of(nodes[0])]
    rows = [dict(cells(node, written.currency)) for node in nodes]
    heads = list(dict.fromkeys(head for row in rows for head in row))
    lines = [",".join(["name", *heads])]
    for node, row in zip(nodes, rows, strict=True):
        lines.append(",".join([node.name, *(row.get(head, "") for head in heads)]))
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    plural = declared.plural or declared.word + "s"
    text = without(text, (declared.word, plural)) + f'\n{plural} from "t.csv"\n'
    for other in folder.iterdir():
        if other.is_file() and other.suffix != ".mrspec":
            (tmp_path / other.name).write_bytes(other.read_bytes())
    loaded = load_text(text, folder=tmp_path)
    assert loaded.spec is not None, as_text(loaded.diagnostics, loaded.texts)
    assert list(getattr(loaded.spec.facts, field)) == nodes
