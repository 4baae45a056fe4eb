"""Blocks that are written alike are read by one expression: the same facts, places and mistakes as one by one."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mrdsl.core.resources import resource
from mrdsl.language import loading, parsing, tree
from mrdsl.language.alike import MOST_SHAPES, Finder
from mrdsl.language.loading import Loaded, load_text
from mrdsl.language.parsing import parse, parse_in_rows
from mrdsl.spec import matching
from mrdsl.spec.schema import Node, declarations
from tests.language.test_fast_parser import places

HEAD = "problem capacity\nparam late = 900 s\nvm m5 { on_demand { price = 0.192 USD/h } }\nminimize cost\n"
MODELS = sorted(resource("models").glob("*/*.mrspec"))
GOOD = 3
COMMON = (
    "{word} {name} {{\n  map {{ tasks = {n}, avg = {x} s, max = 90 s }}, slots {{ map = {n}, reduce = 2 }}\n"
    "  jobs = 9..{n}\n  deadline = {x} min\n  penalty = {x} USD\n  guarantee = lower\n}}"
)
SHAPES = (
    COMMON,
    "{word} {name} {{ coefficients {{ A = {x} s, B = 20 s, C = -{x} s }}\n\n"
    "  slots {{ map = 4, reduce = {n} }}, jobs = {n}, deadline = late, penalty = {x} USD }}",
    "  {word} {name} {{  # {n} jobs\r\n    coefficients {{\n A = {x} s\n B = {n} s, C = 9 s }}\n"
    "    slots {{ map = {n}, reduce = {n} }}\n"
    "    spot = {n}%\n jobs = {n}..{n}\n deadline = 2 * {n} min\n penalty = 2 USD }}",
    "{word} {name} {{ coefficients {{ A = uniform(1 s, {n} s), B = 1 s, C = 0 s }}, slots {{ map = 1, reduce = 1 }}\n"
    "  jobs = 1, deadline = {x} h, penalty = max(1, {n}) * 1 USD }}",
    '{word} "{name} x" {{ coefficients {{ A = {x} s, B = 1 s, C = 0 s }}, slots {{ map = {n}, reduce = 1 }}\n'
    "  jobs = {n}, deadline = {x} s, penalty = {x} EUR }}",
    "{word} {name} {{ map {{ tasks = {n}, avg = {x} s, max = 80 s }}\n"
    "  deadline = 10 min, deadline = {x} s, jobs = {n} }}",
    "{word} {name} extends c1 {{ jobs = {n} }}",
    "vm {name} {{ on_demand {{ price = 0.2 USD/h }} }}",
)
NUMBERS = (
    *map(str, range(1, 60)),
    "1_0",
    "0",
    "10.0",
    "2.5",
    "1e3",
    "1e400",
    "12345678901234567890",
    "0.30000000000000004",
)
NAMES = ("extends", "from", "c1")
GAPS = ("\n", "\n\n", "\r\n", "\n# between\n", " ", "\n  ", "\n,\n", "\f\n")


def made(draw: random.Random) -> str:
    """A spec of a few dozen blocks in a few ways of writing, some of them mistaken."""
    wild = draw.random()
    ways = draw.sample(SHAPES if wild > 0.5 else SHAPES[:GOOD], draw.randint(1, 3))
    parts = [HEAD]
    for i in range(draw.randint(3, 30)):
        name = f"c{i}" if draw.random() < 0.99 else draw.choice(NAMES)
        word = (
            "class" if draw.random() < 0.995 else draw.choice(("task", "vm", "require", "subject", "problem", "import"))
        )
        number = draw.choice(NUMBERS if draw.random() < 0.3 * wild else NUMBERS[8:40])
        seconds = draw.choice(NUMBERS) if draw.random() < 0.1 * wild else f"{draw.uniform(10, 80):.2f}"
        parts.append(draw.choice(ways).format(word=word, name=name, n=number, x=seconds))
        parts.append("\n" if draw.random() < 0.8 else draw.choice(GAPS))
    if draw.random() < 0.1:
        parts.insert(
            draw.randrange(1, len(parts)), draw.choice(("}", "{", "x = 1\n", "$", "seed = 4\n", "class q[1..3] {}\n"))
        )
    return "".join(parts)


def _nodes(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
        for name in declarations(type(value)):
            yield from _nodes(getattr(value, name))
    elif isinstance(value, tuple):
        for part in value:
            yield from _nodes(part)


def said(loaded: Loaded) -> Any:
    """All that reading gives: values with their types, places of nodes and items, diagnostics."""
    spec = loaded.spec
    if spec is None:
        return loaded.diagnostics
    nodes = [(repr(node), node.name, node.span, list(node.spans.items())) for node in _nodes(spec.facts)]
    return loaded.diagnostics, spec, nodes, spec.currency


def one_by_one(text: str, patch: pytest.MonkeyPatch, **options: Any) -> Loaded:
    """The text as it is read where nothing is looked for that is written alike, each node checked by itself."""
    with patch.context() as changed:
        changed.setattr(loading, "parse_in_rows", parse)
        changed.setattr(matching, "MANY", 10**9)
        return load_text(text, **options)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(parsing, "LEAST_ALIKE", 0)
    monkeypatch.setattr(matching, "MANY", 2)
    return monkeypatch


@pytest.mark.parametrize("start", range(0, 120, 30))
def test_drawn_specs_say_the_same(start: int, eager: pytest.MonkeyPatch) -> None:
    in_rows = usable = 0
    for seed in range(start, start + 30):
        text = made(random.Random(seed))
        found = load_text(text)
        assert said(found) == said(one_by_one(text, eager)), f"seed {seed}"
        in_rows += any(isinstance(s, tree.Alike) for s in parse_in_rows(text, "x")[0].statements)
        usable += found.spec is not None
    assert in_rows > 15
    assert 6 < usable < 25


@pytest.mark.parametrize(
    "names", [[f"v{i}" for i in range(9)], [f"v{i}" for i in range(120)]], ids=["one length", "more"]
)
def test_blocks_may_differ_in_their_names_alone(names: list[str], eager: pytest.MonkeyPatch) -> None:
    text = HEAD + "".join(f"vm {name} {{ on_demand {{ price = 0.2 USD/h }} }}\n" for name in names)
    text += SHAPES[1].format(word="class", name="c", n=4, x=20)
    found = load_text(text)
    assert found.spec is not None
    assert [vm.name for vm in found.spec.facts.vms] == ["m5", *names]
    assert said(found) == said(one_by_one(text, eager))


@pytest.mark.parametrize("start", range(0, 100, 50))
def test_trees_are_the_same_when_they_are_asked_for(start: int, eager: pytest.MonkeyPatch) -> None:
    for seed in range(start, start + 50):
        text = made(random.Random(seed))
        (document, mistakes), (plain, expected) = parse_in_rows(text, "x"), parse(text, "x")
        assert mistakes == expected
        blocks = [b for s in document.statements for b in (s.blocks() if isinstance(s, tree.Alike) else (s,))]
        assert places(tuple(blocks)) == places(plain.statements), f"seed {seed}"


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_shipped_models_say_the_same(path: Path, eager: pytest.MonkeyPatch) -> None:
    """As they are, and with each of their named blocks written four times over, its whole numbers a little changed."""
    draw = random.Random(path.name)
    text = path.read_text(encoding="utf-8")
    for spec in (text, _BLOCK.sub(lambda found: _repeated(found, draw), text)):
        assert said(load_text(spec, folder=path.parent)) == said(one_by_one(spec, eager, folder=path.parent))


_BLOCK = re.compile(r"^(\w+) (\w+) \{.*?^\}$", re.MULTILINE | re.DOTALL)


def _repeated(found: re.Match[str], draw: random.Random) -> str:
    head, body = f"{found[1]} {found[2]}", found[0][len(found[1]) + len(found[2]) + 1 :]
    changed = (re.sub(r"(?<== )\d+\b", lambda n: str(int(n[0]) + draw.randrange(3)), body) for _ in range(4))
    return "\n".join(f"{head}{i}{one}" for i, one in enumerate((body, *changed)))


def test_numbers_of_a_kind_are_read_without_trees(eager: pytest.MonkeyPatch) -> None:
    """Of a thousand alike blocks two have trees: the one that the shape is learnt from, and the first that it finds."""
    text = HEAD + "\n".join(COMMON.format(word="class", name=f"c{i}", n=20, x="30.5") for i in range(1000))
    document = parse_in_rows(text, loading.TEXT_NAME)[0]
    assert [type(s).__name__ for s in document.statements[-2:]] == ["Block", "Alike"]
    alike = document.statements[-1]
    assert isinstance(alike, tree.Alike)
    eager.setattr(loading, "parse_in_rows", lambda *_: (document, ()))
    spec = load_text(text).spec
    assert spec is not None
    assert len(spec.facts.classes) == 1000
    assert len(alike._blocks) == 1
    assert spec.facts.classes[700].spans["jobs"] == one_by_one(text, eager).spec.facts.classes[700].spans["jobs"]  # type: ignore[union-attr]
    assert len(alike._blocks) == 2


def test_only_so_many_ways_of_writing_are_learnt(eager: pytest.MonkeyPatch) -> None:
    """Blocks that all differ are held against a few expressions each, however many there are."""
    text = HEAD + "\n".join(f"class c{i} {{ b{i} {{ x = {i} }}\n }}" for i in range(100))
    fast = parsing.fast_parser("document")
    assert fast is not None
    finder = Finder(fast.pattern, fast.terminals)
    fast.parse(text, finder=finder)
    assert len(finder.shapes) == MOST_SHAPES
    assert not finder.found


@pytest.mark.parametrize(("tasks", "learnt"), [(2, 1), (400, 0)])
def test_long_blocks_are_not_learnt(tasks: int, learnt: int) -> None:
    """A DAG would be lexed twice, for an expression that the next one does not match unless it has as many tasks."""
    inside = "".join(f"  task t{i} {{ duration = {i + 1} s }}\n" for i in range(tasks))
    text = "problem deadline\n" + "".join(f"dag d{i} {{\n{inside}}}\n" for i in range(3))
    fast = parsing.fast_parser("document")
    assert fast is not None
    finder = Finder(fast.pattern, fast.terminals)
    fast.parse(text, finder=finder)
    assert len(finder.shapes) == learnt
    assert bool(finder.found) == bool(learnt)


@pytest.mark.parametrize("first", ["1e1", "3", "1_0", "2.5"])
@pytest.mark.parametrize("second", ["3", "3e1", "3.", "3.5", "3__1", "3_1", "3e", "3e+2", "٣", "3..4", "0x3"])
def test_a_slot_takes_what_the_lexer_takes(first: str, second: str, eager: pytest.MonkeyPatch) -> None:
    """A number whose unit stands right behind it may end elsewhere in another block."""
    for behind in ("e5", "s", " e5", "%"):
        blocks = (f"class c{i} {{ deadline = {number}{behind}\n }}" for i, number in enumerate((first, second)))
        text = HEAD + "\n".join(blocks)
        (document, mistakes), (plain, expected) = parse_in_rows(text, "x"), parse(text, "x")
        statements = [b for s in document.statements for b in (s.blocks() if isinstance(s, tree.Alike) else (s,))]
        assert (places(tuple(statements)), mistakes) == (places(plain.statements), expected)
        assert said(load_text(text)) == said(one_by_one(text, eager))
