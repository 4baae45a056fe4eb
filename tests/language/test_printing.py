"""Printing a Spec and reading it again gives the same Spec, for any Spec that the schema allows (principle 2)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl.core.diagnostics import Span
from mrdsl.families import SHIPPED, family
from mrdsl.language.block_context import BlockContext
from mrdsl.language.blocks import resolve_block
from mrdsl.language.items import Files
from mrdsl.language.loading import load_file
from mrdsl.language.parsing import parse
from mrdsl.language.printing import print_spec
from mrdsl.language.repeated import resolve_repeated
from mrdsl.language.resolving import resolve
from mrdsl.language.scope import Report, Scope
from mrdsl.language.vocabulary import vocabulary
from mrdsl.spec.schema import Distribution, Item, Node, Range, Source
from mrdsl.spec.spec import Spec

ROOT = Path(__file__).resolve().parents[2]
NAMES = st.sampled_from(["a", "b2", "c_3", "n1-highcpu-2", "m3.medium", "from", 'quote " and \\ slash', "größe"])
SMALL = sorted(path for path in (ROOT / "models").rglob("*.mrspec") if path.stat().st_size < 20_000)


def numbers(item: Item) -> st.SearchStrategy[Any]:
    low = max(x for x in (item.above, item.at_least, 0.0) if x is not None)
    limits = [x for x in (item.below, item.at_most) if x is not None]
    high = min([*limits, 1e6])
    if item.whole:
        start = int(low) + (1 if item.above is not None else 0)
        return st.integers(start, max(start, int(high)))
    return st.floats(
        low, high, exclude_min=item.above is not None, exclude_max=item.below is not None, allow_subnormal=False
    ).filter(lambda x: x == 0 or x > 1e-200)


def values(item: Item) -> st.SearchStrategy[Any]:
    number = numbers(item)
    match item.form:
        case "choice":
            return st.sampled_from(item.choices)
        case "text":
            return st.sampled_from(["", "plain", 'with "quotes"', "two\nlines"])
        case "path":
            return st.just(Source("table", str(ROOT / "README.md"), "README.md"))
        case "name":
            return NAMES
        case "names":
            return st.lists(NAMES, max_size=3).map(tuple)
        case "list":
            return st.lists(number, max_size=3).map(tuple)
        case "moment":
            return number.map(float) | st.sampled_from(["22:00", "2026-11-23T06:00:30"])
        case "moments":
            return st.lists(number.map(float) | st.just("9:30"), max_size=3).map(tuple)
        case "range":
            return st.tuples(number, number).map(lambda pair: Range(float(min(pair)), float(max(pair))))
        case "distribution":
            ordered = st.tuples(number, number).map(sorted)
            return st.one_of(
                number.map(float), ordered.map(lambda p: Distribution("uniform", (float(p[0]), float(p[1]))))
            )
    return number if item.whole else number.map(float)


def nodes(node: type[Node], name: str = "") -> st.SearchStrategy[Node]:
    words = vocabulary(node)
    fields: dict[str, st.SearchStrategy[Any]] = {}
    for field, item in words.items.values():
        strategy = values(item)
        if not item.required:
            strategy = st.one_of(st.just(item.default), strategy)
        fields[field] = strategy
    for field, block in words.singles.values():
        if block.sources:
            continue
        inner = nodes(block.node)
        fields[field] = inner if block.required else st.one_of(st.none(), inner)
    for field, block in words.repeated.values():
        lists = st.lists(NAMES, unique=True, min_size=int(block.required), max_size=2)
        fields[field] = lists.flatmap(lambda names, kind=block.node: st.tuples(*(nodes(kind, n) for n in names)))
    return st.fixed_dictionaries(fields).map(lambda given: node(name=name, **given))


@pytest.mark.parametrize("kind", SHIPPED)
def test_any_facts_read_back_as_they_were(kind: str) -> None:
    found = family(kind)
    assert found is not None

    @settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(nodes(found.facts), st.integers(0, 1000) | st.none(), st.sampled_from(["USD", "EUR"]))
    def check(facts: Node, seed: int | None, currency: str) -> None:
        spec = Spec(problem=kind, facts=facts, title='a "title"', seed=seed, currency=currency)
        text = print_spec(spec)
        document, problems = parse(text, "printed")
        assert not problems, text
        resolved = resolve(document, ROOT, None, {})
        again = resolved.spec
        assert again is not None, f"{text}\n{resolved.diagnostics}"
        assert again.facts == facts
        assert (again.problem, again.title, again.seed) == (kind, spec.title, seed)

    check()


@pytest.mark.parametrize("path", SMALL, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_shipped_models_read_back(path: Path) -> None:
    loaded = load_file(path)
    assert loaded.spec is not None
    document, problems = parse(print_spec(loaded.spec), "printed")
    assert not problems
    again = resolve(document, path.parent, None, {}).spec
    assert again is not None
    assert again.facts == loaded.spec.facts
    assert (again.goal, again.method, again.seed, again.title) == (
        loaded.spec.goal,
        loaded.spec.method,
        loaded.spec.seed,
        loaded.spec.title,
    )
    assert [(c.left, c.comparison, c.right) for c in again.constraints] == [
        (c.left, c.comparison, c.right) for c in loaded.spec.constraints
    ]


def test_a_block_alone_reads_back() -> None:
    """The helpers above reach every field: a block printed and resolved on its own is the block itself."""
    from mrdsl.spec.blocks import MapPhase

    node = MapPhase(tasks=3, avg=0.1, max=1 / 3)
    document, _ = parse("tasks = 3, avg = 0.1 s, max = 0.3333333333333333 s", "x")
    place = BlockContext(Scope(Report(), lambda _: None), Files(ROOT), 0, "", "", resolve_repeated)
    assert resolve_block(MapPhase, document.statements, place, "", Span("x", 1, 1, 1, 1)) == node


def test_a_spec_made_in_python_as_text() -> None:
    reference = mrdsl.load(ROOT / "models" / "capacity" / "reference.mrspec")
    made = replace(reference, facts=replace(reference.facts, period=7200.0), title="made")
    again = mrdsl.loads(mrdsl.dumps(made))
    assert (again.facts, again.goal, again.title) == (made.facts, made.goal, "made")
    wrong = replace(made, facts=replace(made.facts, period=-1.0))
    with pytest.raises(mrdsl.MrdslError, match="period"):
        mrdsl.dumps(wrong)
