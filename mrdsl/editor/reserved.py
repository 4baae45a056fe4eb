"""Words that no name should be: those with which the language says what follows, and words that items may be."""

from __future__ import annotations

from functools import cache
from typing import Any

from mrdsl.contracts.family import Family
from mrdsl.language.block_mistakes import TOP_LEVEL_WORDS
from mrdsl.language.scope import AUTO
from mrdsl.language.vocabulary import vocabulary

_OF_STATEMENTS = frozenset(
    {"problem", "seed", "extends", "from", *(w for words in TOP_LEVEL_WORDS for w in words.split())}
)


def reserved_for(name: str, word: str, family: Family | None) -> str:
    """Why a name cannot be given to what stands behind ``word``, ``class`` or ``param``; "" where it can.

    A class called ``class`` could no longer be told from the word before it, a param called ``upper`` would be
    meant wherever an item is ``upper``, and one called ``cost`` wherever the plan's is.
    """
    facts: Any = family.facts if family is not None else None
    blocks, choices = _words_of(facts) if facts is not None else (frozenset(), frozenset())
    if name in _OF_STATEMENTS or name in blocks:
        return f"`{name}` is a word of the language"
    quantities = family.quantities if family is not None else ()
    if word == "param" and (name == AUTO or name in choices or any(name in each.words for each in quantities)):
        return f"`{name}` is what an item may be: the param would be meant there"
    if word in ("param", "let") and any(name == each.name for each in quantities):
        return f"`{name}` is a quantity of the plan: the {word} would be meant there"
    return ""


@cache
def _words_of(facts: Any) -> tuple[frozenset[str], frozenset[str]]:
    """The words of repeated blocks at every depth, and the choices of all items."""
    blocks: set[str] = set()
    choices: set[str] = set()
    waiting, seen = [facts], {facts}
    while waiting:
        words = vocabulary(waiting.pop())
        blocks.update((*words.repeated, *words.plurals))
        choices.update(choice for _, item in words.items.values() for choice in item.choices)
        inner = {block.node for table in (words.singles, words.repeated) for _, block in table.values()} - seen
        waiting += sorted(inner, key=lambda node: node.__name__)
        seen |= inner
    return frozenset(blocks), frozenset(choices)
